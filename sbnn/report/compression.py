"""What the reports of Experiments 8 and 9 share: networks compressed, next to what others have published."""

from pathlib import Path

import pandas as pd

from sbnn.model.methods import SBNN
from sbnn.report import interactive
from sbnn.report.base import Report
from sbnn.report.cells import Published
from sbnn.report.image_curves import Curve, cell, curves, in_order, own_curves
from sbnn.report.names import called

PUBLISHED = pd.read_csv(Path(__file__).with_name("paper") / "compression.csv")  # error and sparsity in per cent
PAPER = f"{SBNN.label} (paper)"
TITLES = {"lenet_300_100": "LeNet-300-100", "lenet_5": "LeNet-5", "vgg_like": "VGG-like"}
# The sparsities, near those of others, at which our networks stand in the comparison; fixed before any was trained.
COMPARED = {
    "lenet_300_100": (0.0, 0.95, 0.98, 0.985),
    "lenet_5": (0.0, 0.96, 0.99, 0.992, 0.995),
    "vgg_like": (0.0, 0.95, 0.98, 0.985),
}
GRADUAL = "gradual_error"  # of networks that were pruned while they were trained
KINDS = {
    "error": "weights, not retrained",
    "finetuned_error": "weights, retrained",
    GRADUAL: "weights, pruned in training",
}


class CompressionReport(Report):
    """A report on networks that their rows name."""

    def headline(self, rows: pd.DataFrame) -> float:
        """The mean error of the sBNN networks that were trained, along their whole curves; else pruned in training."""
        ours = rows[rows.method == SBNN.name]
        whole = own_curves(ours)
        return float((curves(ours, GRADUAL) if whole.empty else whole)["mean"].mean()) / 100

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame:
        return comparison(rows)


def network(rows: pd.DataFrame, name: str, recipe: str) -> Curve:
    """The curve of sBNN, ranked by inclusion, on one network."""
    wanted = [name, SBNN.name, recipe, SBNN.score]
    return Curve(rows[(rows[["network", "method", "recipe", "score"]] == wanted).all(axis=1)])


def with_epochs(recipe: str, curve: Curve) -> str:
    """A recipe of sBNN by name, and how long it trained."""
    return f"{called(SBNN.name, recipe)} ({curve.epochs} epochs)"


def errors(curve: Curve, *droprates: float) -> str:
    """Errors at some droprates, in words."""
    return ", ".join(
        f"{curve.error[d]:.2f} % at {100 * d:g} %" if d else f"error {curve.error[d]:.2f} % full" for d in droprates
    )


def width_of(row: pd.Series) -> str:
    """The end of a network's name, where networks come in widths."""
    return f", width {row.width:g}" if "width" in row else ""


def comparison(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's table: others' networks as published, then ours at sparsities like theirs."""
    lines = []
    for network in [n for n in TITLES if n in set(rows.network)]:
        theirs = {}
        for p in PUBLISHED[PUBLISHED.network == network].itertuples():
            figure = Published(f"{p.error:.2f}")
            lines.append([TITLES[network], p.method, figure, p.sparsity, p.kind, None])
            if p.method == PAPER:
                theirs[p.sparsity] = figure
        mine = rows[rows.network == network]
        shown = mine[mine.droprate.isin(COMPARED[network]) | (mine.metric == GRADUAL)]
        for metric, kind in KINDS.items():
            for _, row in measured_curves(shown, metric).iterrows():
                sparsity = round(100 * row.droprate, 4) or None
                printed = theirs.get(sparsity) if row.method == SBNN.name else None
                what = (kind if row.droprate else "full") + width_of(row)
                name = f"{called(row.method, row.recipe)} (ours)"
                lines.append([TITLES[network], name, cell(row, printed), sparsity, what, row.epochs])
    columns = ["network", "method", "error %", "sparsity %", "kind", "epochs"]
    return pd.DataFrame(lines, columns=columns).astype({"epochs": "Int64"})


def by_sparsity(rows: pd.DataFrame, network: str) -> pd.DataFrame:
    """The comparison of one network with a column a sparsity, so that many methods can be read at once."""
    lines, places = {}, set()
    for name, error, sparsity, kind, epochs in comparison(rows[rows.network == network]).iloc[:, 1:].to_numpy():
        if isinstance(error, Published):
            at = "" if pd.isna(sparsity) else f" at {sparsity:g} %"
            lines[name, sparsity] = {"method": name, "what goes": kind, "published, %": f"{error}{at}"}
            continue
        kind = KINDS["error"] if kind == "full" else kind
        line = lines.setdefault((name, kind), {"method": name, "what goes": kind, "epochs": epochs})
        place = 0.0 if pd.isna(sparsity) else sparsity
        places.add(place)
        line[place] = error
    ordered = ["method", "what goes", "epochs", "published, %", *sorted(places)]
    table = pd.DataFrame(lines.values()).reindex(columns=ordered).astype({"epochs": "Int64"})
    return table.rename(columns={place: f"{place:g} % pruned" if place else "full" for place in places})


def measured_curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Methods ranked by their own score; pruned while they were trained, by the one that they were pruned by."""
    return in_order(curves(rows, metric)) if metric == GRADUAL else own_curves(rows, metric)


def every_curve(rows: pd.DataFrame) -> pd.DataFrame:
    """Networks that were pruned at the end, and those that were pruned while they were trained."""
    return pd.concat([curves(rows), curves(rows, GRADUAL)])


def layers(rows: pd.DataFrame) -> pd.DataFrame:
    """What is left of every layer, each method ranked by its own score: where a layer is lost, so is the network."""
    kept = rows[rows.metric == "kept"].astype({"value": int, "layer_weights": int})
    index = [c for c in ("network", "method", "recipe", "width", "epochs", "score", "droprate", "layer") if c in kept]
    table = kept[[*index, "layer_weights", "value"]].rename(columns={"layer_weights": "weights", "value": "kept"})
    return table.assign(kept_percent=100 * table.kept / table.weights)


def papers_curve(network: str, name: str = PAPER) -> dict:
    """The paper's point in the interactive plot."""
    p = PUBLISHED[(PUBLISHED.network == network) & (PUBLISHED.method == PAPER)]
    return interactive.printed(name, p.sparsity / 100, p.error)
