"""What the reports of Experiments 6 and 7 share: two hidden layers, pruned next to the paper's numbers."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import BBB, METHODS, NN, SBNN, Method
from sbnn.report import interactive
from sbnn.report.base import Report
from sbnn.report.cells import Percent, Published
from sbnn.report.image_curves import LABEL, Curve, cell, curves, in_order, named, own_curves
from sbnn.report.names import by_own_score, called
from sbnn.report.statistics import times
from sbnn.report.style import PRINTED, left, line, look, name_lines, panels, plain_ticks, weights_left

PUBLISHED = pd.read_csv(Path(__file__).with_name("paper") / "images.csv")  # errors in per cent, as printed
TREATMENTS = {
    "none": "images as they are",
    "crop": "cropped at random",
    "crop_and_flip": "cropped and mirrored at random",
}
DRAWN = (SBNN, BBB, NN)  # in the figure
PRUNED = 1200  # units of the network that the paper prunes


class PerceptronReport(Report):
    """A report on networks by width, recipe and treatment of the training images."""

    def headline(self, rows: pd.DataFrame) -> float:
        """The error of the full sBNN networks, averaged over widths; of the tuned ones if both recipes ran."""
        full = own_curves(rows[rows.method == SBNN.name])
        full = full[full.droprate == 0]
        tuned = full[full.recipe == "tuned"]
        return float((full if tuned.empty else tuned)["mean"].mean()) / 100

    def trained(self, rows: pd.DataFrame) -> str:
        """Of the widest networks, by those that are alike."""
        alike: dict[str, list[str]] = {}
        for (method, recipe), curve in own_curves(widest(rows)).groupby(["method", "recipe"], sort=False):
            alike.setdefault(times(curve), []).append(called(method, recipe))
        said = (f"{numbers} ({', '.join(names)})" for numbers, names in alike.items())
        return f"Sizes: {'; '.join(said)}."

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame:
        return pruning(by_own_score(widest(rows)))


def widest(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of the widest network, which is the one that is pruned."""
    return rows[rows.width == rows.width.max()]


def network(
    rows: pd.DataFrame,
    method: Method,
    recipe: str,
    width: int = PRUNED,
    augmentation: str = "none",
    score: str | None = None,
) -> Curve:
    """The curve of one network, ranked by the method's own score or another."""
    wanted = [method.name, score or method.score, recipe, width, augmentation]
    return Curve(rows[(rows[["method", "score", "recipe", "width", "augmentation"]] == wanted).all(axis=1)])


def published(dataset: str, method: Method, width: int) -> dict[float, Published]:
    """The paper's errors by droprate."""
    p = PUBLISHED[(PUBLISHED.dataset == dataset) & (PUBLISHED.method == method.name) & (PUBLISHED.width == width)]
    return {droprate: Published(f"{error:.2f}") for droprate, error in zip(p.droprate, p.error, strict=True)}


def papers_curves(panel: pd.Series) -> Iterator[dict]:
    """What the paper prints for the network of a panel in the interactive plot."""
    for method in (SBNN, BBB):
        if theirs := published(panel.dataset, method, panel.width):
            yield interactive.printed(f"{method.label} (paper)", theirs, [figure.value for figure in theirs.values()])


def pruning(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's pruning table: errors in per cent by droprate, theirs and ours under every score."""
    own = widest(curves(rows))
    theirs = {m.name: published(own.dataset.iloc[0], m, own.width.iloc[0]) for m in (SBNN, BBB)}
    lines = []
    for droprate, found in own.groupby("droprate"):
        printed = {name: figures.get(droprate) for name, figures in theirs.items()}
        line = {"removed": Percent(droprate), "weights left": round(found.weights.iloc[0] * (1 - droprate))}
        line |= {f"{METHODS[name].label} (paper)": figure for name, figure in printed.items()}
        ours = in_order(found).iterrows()
        lines.append(line | {f"{named(c)}, {c.score}": cell(c, printed.get(c.method)) for _, c in ours})
    return pd.DataFrame(lines)


def figure(rows: pd.DataFrame) -> Figure:
    """Error by weights left: a panel for each kind of training images, and one for the paper's settings if they ran."""
    own = own_curves(widest(rows))
    own = own[own.method.isin([method.name for method in DRAWN])]
    shown = [(own[(own.recipe != "paper") & (own.augmentation == a)], TREATMENTS[a]) for a in own.augmentation.unique()]
    shown += [(own[own.recipe == "paper"], "the paper's prior and schedule")]
    shown = [(part, title) for part, title in shown if len(part)]
    drawn, axes = panels(len(shown), width=4.8, height=3.4, sharey=True)
    for ax, (part, title) in zip(axes, shown, strict=True):
        for method, marker in ((SBNN, "x"), (BBB, "+")):
            theirs = published(own.dataset.iloc[0], method, own.width.iloc[0])
            errors, at = [figure.value for figure in theirs.values()], [100 * (1 - d) for d in theirs]
            ax.plot(at, errors, label=f"{method.label} (paper)", **PRINTED | {"marker": marker})
        for (method, recipe), curve in part.groupby(["method", "recipe"], sort=False):
            line(ax, left(curve), "left", look(method, recipe), called(method, recipe), markersize=3)
        ax.set(title=title, yscale="log")
        weights_left(ax, own.droprate)
        plain_ticks(ax)
    axes[0].set_ylabel(LABEL)
    for ax in axes:
        name_lines(ax)
    return drawn
