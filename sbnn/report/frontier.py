"""Error against what is left of the weights: our strongest curves, the rivals', and others' networks as points."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath

from sbnn.model.methods import METHODS, SBNN
from sbnn.report.compression import GRADUAL, PAPER, PUBLISHED, TITLES, every_curve
from sbnn.report.image_curves import LABEL, in_order
from sbnn.report.names import called
from sbnn.report.statistics import times
from sbnn.report.style import GREY, INK, WHITE, left, line, look, panels, plain_ticks
from sbnn.report.style import weights_left as axis

OURS = ("gradual", "tuned", "paper")  # recipes
DEFAULT = "snr"  # the library's score
NARROW = 0.985  # where rivals are ranked
SERIES = 5  # at most
NAME, GAP = 7.5, 3.0  # points: the size of a name, and at least so much between two
ABOVE = 0.62  # of the panel's height, where the paper's name stands: over all curves but those of lost networks
HEADROOM = 12  # the highest error shown, in units of the lowest: beyond it a network is lost


def strongest(rows: pd.DataFrame) -> pd.DataFrame:
    """Our networks by the library's score, and as many rivals as there is place for, by their error where most are.

    The best rival that is pruned in training comes first, and the best that is pruned at the end.
    """
    found = in_order(every_curve(rows))
    ours, own = found.method == SBNN.name, found.score == found.method.map(lambda name: METHODS[name].score)
    found = found[(ours & found.recipe.isin(OURS) & (found.score == DEFAULT)) | (~ours & own)]
    ours = found.method == SBNN.name
    rivals = found[~ours].drop_duplicates(["method", "droprate"])
    shared = rivals.droprate.mode()  # those pruned in training are trained for a few droprates only
    ranked = rivals[rivals.droprate == min(shared, key=lambda d: abs(d - NARROW), default=None)].sort_values("mean")
    ranked = pd.concat([ranked.drop_duplicates("metric"), ranked]).drop_duplicates("method")
    return found[ours | found.method.isin(ranked.method[: SERIES - found[ours].recipe.nunique()])]


def trade_off(ax: Axes, rows: pd.DataFrame, network: str) -> None:
    """Our curves and rivals', and others' networks as points with their names."""
    found = strongest(rows)
    for (method, recipe, _, metric), curve in found.groupby(["method", "recipe", "epochs", "metric"], sort=False):
        dash = "--" if metric == GRADUAL else "-"
        label = f"{called(method, recipe)}, {times(curve)}"
        seen = {"markersize": 3} if len(curve) > 1 else {"markersize": 9, "zorder": 6}  # a point alone, among others'
        line(ax, left(curve), "left", look(method, recipe), label, ls=dash, **seen)
    crowded = PUBLISHED.kind.fillna("").str.startswith("groups; not in")  # next to such a network of the paper's table
    points = PUBLISHED[(PUBLISHED.network == network) & PUBLISHED.sparsity.notna() & ~crowded].sort_values("sparsity")
    ax.set(yscale="log", title=TITLES[network], ylabel=LABEL)
    axis(ax, [*found.droprate, *points.sparsity / 100])
    names, low = Names(ax, points), pd.concat([found["mean"], points.error]).min()
    high = min(100, HEADROOM * low)
    ax.set_ylim(low * (low / high) ** (names.share / (1 - names.share)), high)
    plain_ticks(ax)
    names.draw()


class Names:
    """Others' networks, hollow where groups of weights were pruned, and a name straight below each method's first.

    No line crosses a name: those to the left of the middle end at their point, the others begin there, and the nearer
    to the middle a point is, the lower stands its name. The paper's name stands above all.
    """

    def __init__(self, ax: Axes, points: pd.DataFrame):
        self.ax, self.points = ax, points
        self.named = points[points.method != PAPER].drop_duplicates("method").reset_index(drop=True)
        ax.figure.draw_without_rendering()  # it is as large as it will be only then
        wide, high = (size * 72 / ax.figure.dpi for size in ax.bbox.size)  # in points, as names are
        places = [
            ax.transAxes.inverted().transform(ax.transData.transform((100 - s, 1)))[0] for s in self.named.sparsity
        ]
        ends = [place + length(name) / wide for place, name in zip(places, self.named.method, strict=True)]
        beyond = [number for number, end in enumerate(ends, start=1) if end > 1]
        self.middle = max([len(ends) // 2, *beyond])
        self.step = 1.3 * NAME / high

    @property
    def lines(self) -> int:
        return max(self.middle, len(self.named) - self.middle)

    @property
    def share(self) -> float:
        """Of the panel's height, below all points."""
        return self.step * (self.lines + 1)

    def draw(self) -> None:
        for point in self.points.itertuples():
            face = WHITE if point.kind.startswith("groups") else INK
            mark, size = ("X", 9) if point.method == PAPER else ("o", 4.5)
            here = 100 - point.sparsity, point.error
            self.ax.plot(*here, color=INK, ls="none", zorder=5, marker=mark, ms=size, mfc=face)
        for point in self.points[self.points.method == PAPER].itertuples():
            is_last = point.sparsity == self.points.sparsity.max()  # its name goes to where no other point is
            self._name(point, ABOVE, is_last, size=NAME + 1, weight="bold", zorder=7)
        for number, point in enumerate(self.named.itertuples()):
            ends_here = number < self.middle
            line = number if ends_here else len(self.named) - 1 - number
            self._name(point, self.step * (self.lines - line - 0.8), not ends_here, size=NAME)

    def _name(self, point: Any, height: float, begins: bool, **style: Any) -> None:
        """A name at a share of the panel's height, which begins or ends above or below its point."""
        corner = {"relpos": (0 if begins else 1, 1 if height < ABOVE else 0), "shrinkA": 0, "shrinkB": 3}
        x, style["ha"] = 100 - point.sparsity, "left" if begins else "right"
        arrow = {"arrowstyle": "-", "color": GREY, "lw": 0.6, **corner}
        across = self.ax.get_xaxis_transform()
        self.ax.annotate(point.method, (x, point.error), (x, height), textcoords=across, arrowprops=arrow, **style)


def length(name: str) -> float:
    """In points, with what is to be free around it."""
    return TextPath((0, 0), name, prop=FontProperties(size=NAME)).get_extents().width + GAP


def frontier(rows: pd.DataFrame) -> Figure:
    """A panel for each network."""
    names = [name for name in TITLES if name in set(rows.network)]
    drawn, axes = panels(len(names), width=4.9, height=3.6)
    for ax, name in zip(axes, names, strict=True):
        trade_off(ax, rows[rows.network == name], name)
        legend_of(ax, 7.5)
    return drawn


def picture(rows: pd.DataFrame, network: str) -> Figure:
    """One network, to be read at a glance."""
    drawn, (ax,) = panels(1, width=6.6, height=3.9)
    trade_off(ax, rows[rows.network == network], network)
    legend_of(ax, 8.5)
    return drawn


def legend_of(ax: Axes, size: float) -> None:
    """Below a panel, where it hides no curve."""
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=2, fontsize=size, handlelength=3)
