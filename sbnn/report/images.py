"""Tables and figures of Experiments 6 and 7, from their rows, beside what the paper prints."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SCORES
from sbnn.report.style import DASHES, LOOKS, by_score, line, look, panels, plain_ticks

PUBLISHED = pd.read_csv(Path(__file__).with_name("paper") / "images.csv")  # errors in per cent, as printed
# What each method and recipe is called in print.
NAMES = {
    ("sBNN", "tuned"): "sBNN tuned",
    ("sBNN", "paper"): "sBNN as stated",
    ("sBNN", "set_1"): "sBNN set 1",
    ("sBNN", "set_2"): "sBNN set 2",
    ("BbB", "ours"): "BbB",
    ("NN", "ours"): "NN",
}
OWN_SCORE = {method: scores[0] for method, scores in SCORES.items()}
TREATMENTS = {
    "none": "images as they are",
    "crop": "cropped at random",
    "crop_and_flip": "cropped and mirrored at random",
}
NETWORK = ["method", "recipe", "network", "width", "augmentation", "epochs"]
NOT_OF_THE_WHOLE = ("inclusion_below", "kept")  # metrics of some of the weights


def curves(rows: pd.DataFrame, metric: str = "error") -> pd.DataFrame:
    """One line per network, score and droprate: `mean` error, and its standard error over the images measured."""
    found = rows[rows.metric == metric].rename(columns={"value": "mean"})
    spread = np.sqrt(found["mean"] * (1 - found["mean"]) / found["measured"])
    return found.assign(se=spread).sort_values("droprate", kind="stable")


class Curve:
    """One network as it is pruned by one score: errors in per cent, and their standard errors over images."""

    def __init__(self, rows: pd.DataFrame):
        errors, switched = curves(rows), rows[rows.metric == "switched"]
        self.error = {d: round(100 * e, 2) for d, e in zip(errors.droprate, errors["mean"], strict=True)}
        self.spread = dict(zip(errors.droprate, 100 * errors.se, strict=True))
        self.switched = dict(zip(switched.droprate, switched.value, strict=True))
        self.se = self.spread.get(0.0)
        self.epochs, self.images = (None, None) if errors.empty else errors[["epochs", "measured"]].iloc[0]

    def has(self, *droprates: float) -> bool:
        return all(droprate in self.error for droprate in droprates)

    def rise(self, droprate: float) -> float:
        """In points, to the paper's two decimals."""
        return round(self.error[droprate] - self.error[0.0], 2)

    def rise_error(self, droprate: float) -> float:
        """From the images on which pruning changed the answer; without these, as if others had been measured."""
        if droprate not in self.switched:
            return math.hypot(self.spread[droprate], self.spread[0.0])
        return 100 * math.sqrt(max(0.0, self.switched[droprate] - (self.rise(droprate) / 100) ** 2) / self.images)

    def relative_rise(self, droprate: float) -> float:
        return self.rise(droprate) / (self.error[0.0] or math.nan)  # few images may all be labelled rightly

    def relative_error(self, droprate: float) -> float:
        """Standard error of the relative rise, to first order in those of both errors and of their difference."""
        full, rise = self.error[0.0], self.relative_rise(droprate)
        before, after = self.spread[0.0] ** 2, self.spread[droprate] ** 2
        between = (before + after - self.rise_error(droprate) ** 2) / 2
        return math.sqrt(max(0.0, after + (1 + rise) ** 2 * before - 2 * (1 + rise) * between)) / (full or math.nan)

    def change(self, droprate: float) -> str:
        return f"{self.error[0.0]:.2f} % to {self.error[droprate]:.2f} %"


def widest(rows: pd.DataFrame) -> pd.DataFrame:
    """The network that is pruned."""
    return rows[rows.width == rows.width.max()]


def published(rows: pd.DataFrame, method: str, width: int) -> pd.DataFrame:
    p = PUBLISHED
    return p[(p.dataset == rows.dataset.iloc[0]) & (p.method == method) & (p.width == width)]


def named(row: pd.Series) -> str:
    """A method by recipe, with what its numbers depend on: epochs, and augmentation if there is any."""
    treatment = "" if row.augmentation == "none" else f", {row.augmentation}"
    return f"{NAMES[row.method, row.recipe]}{treatment} ({row.epochs} epochs)"


def percent(found: pd.Series) -> str:
    return f"{100 * found['mean']:.2f} ± {100 * found.se:.2f}"


def mnist(rows: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, Figure]]:
    tables = {"error_rates": error_rates(rows), "pruning": pruning(rows), "calibration": calibration(rows)}
    return tables, {"pruning": figure(rows), "inclusion_cdf": inclusion_cdf(rows)}


def cifar(rows: pd.DataFrame) -> tuple[dict[str, pd.DataFrame], dict[str, Figure]]:
    tables = {"pruning": pruning(rows), "calibration": calibration(rows)}
    return tables, {"pruning": figure(rows)}


def error_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's first table: full networks by width, errors in per cent."""
    full = curves(rows).drop_duplicates([column for column in NETWORK if column in rows])
    lines = []
    for width, own in full.groupby("width"):
        paper = published(rows, "sBNN", width)
        cells = {"units": width, "weights": own.weights.iloc[0]}
        cells["sBNN (paper)"] = "" if paper.empty else f"{paper.error.iloc[0]:.2f}"
        lines.append(cells | {named(row): percent(row) for _, row in own.iterrows()})
    return pd.DataFrame(lines).fillna("")


def pruning(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's pruning table: errors in per cent by droprate, theirs and ours under every score."""
    own = widest(curves(rows))
    lines = []
    for droprate, cells in own.groupby("droprate"):
        removed = {"removed": f"{100 * droprate:g} %", "weights left": round(cells.weights.iloc[0] * (1 - droprate))}
        for method in ("sBNN", "BbB"):
            paper = published(rows, method, own.width.iloc[0])
            paper = paper[paper.droprate == droprate]
            removed[f"{method} (paper)"] = "" if paper.empty else f"{paper.error.iloc[0]:.2f}"
        lines.append(removed | {f"{named(c)}, {c.score}": percent(c) for _, c in in_order(cells)})
    return pd.DataFrame(lines).fillna("")


def in_order(cells: pd.DataFrame):
    """Method by method as in NAMES, plain images first, the method's own score first."""
    order = {name: place for place, name in enumerate(NAMES)}
    key = [
        (c.augmentation != "none", order[c.method, c.recipe], list(DASHES).index(c.score)) for c in cells.itertuples()
    ]
    return cells.iloc[sorted(range(len(cells)), key=key.__getitem__)].iterrows()


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Error, likelihood and calibration along every curve; `sampled_` is the posterior predictive's."""
    index = [c for c in (*NETWORK, "weights", "images", "measured", "score", "droprate") if c in rows]
    metrics = [m for m in rows.metric.unique() if m not in NOT_OF_THE_WHOLE]
    table = rows[rows.metric.isin(metrics)].pivot_table(index=index, columns="metric", values="value", sort=True)
    return table[metrics].reset_index()


def closing(rows: pd.DataFrame) -> pd.DataFrame:
    """The table a run ends with."""
    return by_own_score(pruning(rows))


def by_own_score(table: pd.DataFrame) -> pd.DataFrame:
    """The paper's columns, and each method under its own score."""
    printed = [column for column in table.columns if not column.endswith(tuple(DASHES))]
    own = [c for name, score in OWN_SCORE.items() for c in table.columns if c.startswith(name) and c.endswith(score)]
    return table[[*printed, *own]]


def figure(rows: pd.DataFrame) -> Figure:
    """Error by droprate: a panel for each kind of training images, and one for the paper's settings if they ran."""
    own = widest(curves(rows))
    shown = [(own[(own.recipe != "paper") & (own.augmentation == a)], TREATMENTS[a]) for a in own.augmentation.unique()]
    shown += [(own[own.recipe == "paper"], "the paper's prior and schedule")]
    shown = [(part, title) for part, title in shown if len(part)]
    droprates = sorted(own.droprate.unique())
    drawn, axes = panels(len(shown), width=4.6, height=3.9, sharey=True)
    for ax, (part, title) in zip(axes, shown, strict=True):
        for method, dash in (("sBNN", (0, (1, 2))), ("BbB", (0, (1, 1)))):
            p = published(rows, method, own.width.iloc[0])
            p = p[p.droprate.isin(droprates)]
            places = [droprates.index(d) for d in p.droprate]
            ax.plot(
                places,
                p.error,
                color="black",
                marker="x" if method == "sBNN" else "+",
                ls=dash,
                label=f"{method} (paper)",
            )
        for (method, recipe, epochs), ranked in part.groupby(["method", "recipe", "epochs"], sort=False):
            for score, curve in ranked.groupby("score", sort=False):
                percent = curve.assign(mean=100 * curve["mean"], se=100 * curve.se)
                percent["place"] = [droprates.index(d) for d in curve.droprate]
                label = f"{NAMES[method, recipe]}, {epochs} epochs, by {score}"
                line(ax, percent, "place", look(method, recipe), label, **by_score(score), markersize=3, lw=1.1)
        ax.set(title=title, yscale="log", xlabel="weights pruned, %")
        ax.set_xticks(range(len(droprates)), [f"{100 * d:g}" for d in droprates])
        plain_ticks(ax)
        ax.legend(fontsize=6.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    axes[0].set_ylabel("error, % of images (± s.e.)")
    return drawn


def inclusion_cdf(rows: pd.DataFrame) -> Figure:
    """The paper's figure: the share of weights with an inclusion probability below p, and its line at 95 %."""
    below = widest(rows[rows.metric == "inclusion_below"])
    drawn, (ax,) = panels(1, width=4.2, height=3.0)
    for (_, recipe, epochs), curve in below.groupby(["method", "recipe", "epochs"], sort=False):
        colour, _ = LOOKS[look("sBNN", recipe)]
        ax.plot(curve.threshold, curve.value, color=colour, label=f"{NAMES['sBNN', recipe]}, {epochs} epochs")
    ax.axhline(0.95, color="#D55E00", ls="--", lw=1, label="95 %")
    ax.set(xlabel="posterior inclusion probability p", ylabel="share of weights below p", ylim=(-0.02, 1.02))
    ax.legend(loc="center", fontsize=7)
    return drawn
