"""Tables and figures of Experiments 8 and 9, beside what other methods of compression have published."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sbnn.report import images
from sbnn.report.images import NAMES, OWN_SCORE, Curve, curves, in_order, named, percent
from sbnn.report.style import LOOKS, line, look, panels, plain_ticks

PUBLISHED = pd.read_csv(Path(__file__).with_name("paper") / "compression.csv")  # error and sparsity in per cent
SETS = pd.read_csv(Path(__file__).with_name("paper") / "lenet5.csv")  # errors in per cent of the paper's two priors
TITLES = {"lenet_300_100": "LeNet-300-100", "lenet_5": "LeNet-5", "vgg_like": "VGG-like"}
# The sparsities, near those of others, at which our networks stand in the comparison; fixed before any was trained.
COMPARED = {
    "lenet_300_100": (0.0, 0.95, 0.98, 0.985),
    "lenet_5": (0.0, 0.96, 0.99, 0.992, 0.995),
    "vgg_like": (0.0, 0.95, 0.98, 0.985),
}
KINDS = {"error": "weights, not retrained", "finetuned_error": "weights, retrained"}


def lenet(rows: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, Figure]]:
    tables = {"comparison": comparison(rows), "layers": layers(rows), "calibration": images.calibration(rows)}
    figures = {"frontier": frontier(rows)}
    if "lenet_5" in set(rows.network):
        tables["lenet5_droprates"] = droprates(rows)
        figures["proportional_increase"] = proportional_increase(rows)
    return tables, figures


def vgg(rows: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, Figure]]:
    rows = of_vgg(rows)
    tables = {"comparison": comparison(rows), "pruning": pruning(rows), "layers": layers(rows)}
    return tables | {"calibration": images.calibration(rows)}, {"pruning": with_statistics(rows)}


def of_vgg(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(network="vgg_like")


def own_scores(found: pd.DataFrame) -> pd.DataFrame:
    """Each method ranked by its own score, methods in the order of NAMES."""
    found = found[found.score == found.method.map(OWN_SCORE)]
    order = {name: place for place, name in enumerate(NAMES)}
    place = [order[pair] for pair in zip(found.method, found.recipe, strict=True)]
    return found.assign(place=place).sort_values(["place", "droprate"], kind="stable")


def width_of(row: pd.Series) -> str:
    return f", width {row.width:g}" if "width" in row else ""


def comparison(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's table: others' networks as published, then ours at sparsities like theirs."""
    lines = []
    for network in [n for n in TITLES if n in set(rows.network)]:
        for p in PUBLISHED[PUBLISHED.network == network].itertuples():
            sparsity = "" if pd.isna(p.sparsity) else f"{p.sparsity:g}"
            kind = "" if pd.isna(p.kind) else p.kind
            lines.append([TITLES[network], p.method, f"{p.error:.2f}", sparsity, kind, ""])
        own = rows[(rows.network == network) & rows.droprate.isin(COMPARED[network])]
        for metric, kind in KINDS.items():
            for _, row in own_scores(curves(own, metric)).iterrows():
                sparsity = f"{100 * row.droprate:g}" if row.droprate else ""
                name = f"{NAMES[row.method, row.recipe]} (ours)"
                what = (kind if row.droprate else "full") + width_of(row)
                lines.append([TITLES[network], name, percent(row), sparsity, what, f"{row.epochs}"])
    return pd.DataFrame(lines, columns=["network", "method", "error %", "sparsity %", "kind", "epochs"])


def droprates(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's second table: LeNet-5 under its two priors, ranked by inclusion, with our recipe beside them."""
    own = own_scores(curves(rows[(rows.network == "lenet_5") & (rows.method == "sBNN")]))
    lines = []
    for droprate, cells in own.groupby("droprate"):
        removed = {"removed": f"{100 * droprate:g} %", "weights left": round(cells.weights.iloc[0] * (1 - droprate))}
        for recipe in ("set_1", "set_2", "tuned"):
            if recipe in SETS:
                printed = SETS[SETS.droprate == droprate][recipe]
                removed[f"{NAMES['sBNN', recipe]} (paper)"] = "" if printed.empty else f"{printed.iloc[0]:.2f}"
            for _, row in cells[cells.recipe == recipe].iterrows():
                removed[f"{NAMES['sBNN', recipe]} ({row.epochs} epochs)"] = percent(row)
        lines.append(removed)
    return pd.DataFrame(lines).fillna("")


def layers(rows: pd.DataFrame) -> pd.DataFrame:
    """What is left of every layer, each method ranked by its own score: where a layer is lost, so is the network."""
    kept = rows[rows.metric == "kept"].astype({"value": int, "layer_weights": int})
    index = [c for c in ("network", *images.NETWORK[:2], "width", "epochs", "score", "droprate", "layer") if c in kept]
    table = kept[[*index, "layer_weights", "value"]].rename(columns={"layer_weights": "weights", "value": "kept"})
    return table.assign(kept_percent=100 * table.kept / table.weights)


def pruning(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in per cent by droprate under every score; `old statistics` is without taking batch norm's anew."""
    own, stale = curves(rows), curves(rows, "stale_error")
    lines = []
    for droprate, cells in own.groupby("droprate"):
        removed = {"removed": f"{100 * droprate:g} %", "weights left": round(cells.weights.iloc[0] * (1 - droprate))}
        for _, cell in in_order(cells):
            removed[f"{named(cell)}{width_of(cell)}, {cell.score}"] = percent(cell)
        for _, cell in in_order(stale[stale.droprate == droprate]):
            removed[f"{named(cell)}{width_of(cell)}, {cell.score}, old statistics"] = percent(cell)
        lines.append(removed)
    return pd.DataFrame(lines).fillna("")


def closing(rows: pd.DataFrame) -> pd.DataFrame:
    """The table a run ends with."""
    return comparison(rows if "network" in rows else of_vgg(rows))


def frontier(rows: pd.DataFrame) -> Figure:
    """Error against what is left, a panel for each network."""
    networks = [n for n in TITLES if n in set(rows.network)]
    drawn, axes = panels(len(networks), width=4.8, height=3.9)
    for ax, network in zip(axes, networks, strict=True):
        trade_off(ax, rows[rows.network == network], network)
    return drawn


def trade_off(ax: Axes, rows: pd.DataFrame, network: str) -> None:
    """Our curves and others' points; with a logarithmic axis of weights left, each decade of sparsity is as wide."""
    for metric, style in (("error", {}), ("finetuned_error", {"ls": ":", "markerfacecolor": "white"})):
        found = own_scores(curves(rows, metric))
        found = found.assign(left=100 * (1 - found.droprate), mean=100 * found["mean"], se=100 * found.se)
        for (method, recipe, epochs), curve in found.groupby(["method", "recipe", "epochs"], sort=False):
            extra = ", retrained" if metric == "finetuned_error" else f", {epochs} epochs"
            label = f"{NAMES[method, recipe]}{extra}"
            line(ax, curve, "left", look(method, recipe), label, markersize=3, lw=1.1, **style)
    points = PUBLISHED[(PUBLISHED.network == network) & PUBLISHED.sparsity.notna()]
    for marker, point in zip("*XPDdps", points.itertuples(), strict=False):
        face = "white" if point.kind.startswith("groups") else "black"
        style = {"color": "black", "markerfacecolor": face, "ls": "none", "markersize": 6}
        ax.plot(100 - point.sparsity, point.error, marker=marker, label=point.method, **style)
    ax.set(xscale="log", yscale="log", xlabel="weights left, %", title=TITLES[network])
    ax.set_xlim(130, 0.08)
    ax.set_ylim(top=min(100, ax.get_ylim()[1]))
    ax.xaxis.set_major_formatter("{x:g}")
    plain_ticks(ax)
    ax.set_ylabel("error, % of images (± s.e.)")
    ax.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)


def proportional_increase(rows: pd.DataFrame) -> Figure:
    """The paper's figure: error over the full network's, from 96 % pruned, theirs and ours."""
    ours = rows[(rows.network == "lenet_5") & (rows.method == "sBNN") & (rows.score == OWN_SCORE["sBNN"])]
    places = sorted(d for d in ours.droprate.unique() if d >= 0.96)
    drawn, (ax,) = panels(1, width=5.2, height=3.6)
    for recipe in ("set_1", "set_2"):
        colour, marker = LOOKS[f"sBNN_{recipe}"]
        printed = SETS[SETS.droprate.isin(places)]
        at = [places.index(d) for d in printed.droprate]
        ratio = printed[recipe] / SETS[recipe].iloc[0]
        ax.plot(at, ratio, color=colour, marker=marker, ls=":", mfc="white", label=f"{NAMES['sBNN', recipe]} (paper)")
    for recipe in [recipe for method, recipe in NAMES if method == "sBNN" and recipe in set(ours.recipe)]:
        curve = Curve(ours[ours.recipe == recipe])
        lines = [(place, 1 + curve.relative_rise(d), curve.relative_error(d)) for place, d in enumerate(places)]
        ratios = pd.DataFrame(lines, columns=["place", "mean", "se"])
        line(ax, ratios, "place", look("sBNN", recipe), f"{NAMES['sBNN', recipe]}, {curve.epochs} epochs")
    ax.set_xticks(range(len(places)), [f"{100 * d:g}" for d in places])
    ax.set(yscale="log", xlabel="weights pruned, %", ylabel="error / error of the full network (± s.e.)")
    ax.set_title("LeNet-5")
    plain_ticks(ax)
    ax.legend(fontsize=7)
    return drawn


def with_statistics(rows: pd.DataFrame) -> Figure:
    """Error against what is left, and what taking the statistics of batch norm anew does to it."""
    drawn, (left, right) = panels(2, width=4.8, height=3.9)
    trade_off(left, rows, "vgg_like")
    left.set_title(f"VGG-like, width {rows.width.iloc[0]:g} (published: 1)")
    for metric, dash, what in (("error", "-", "taken anew"), ("stale_error", "--", "of training")):
        found = own_scores(curves(rows, metric))
        found = found.assign(left=100 * (1 - found.droprate), mean=100 * found["mean"], se=100 * found.se)
        for (method, recipe), curve in found.groupby(["method", "recipe"], sort=False):
            line(right, curve, "left", look(method, recipe), f"{NAMES[method, recipe]}, {what}", ls=dash, markersize=3)
    right.set(xscale="log", yscale="log", xlabel="weights left, %", title="batch norm's statistics", xlim=(130, 0.08))
    right.xaxis.set_major_formatter("{x:g}")
    plain_ticks(right)
    right.set_ylabel("error, % of images (± s.e.)")
    right.legend(fontsize=6.5, handlelength=3.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    return drawn
