"""Error against what is left of the weights: our strongest curves, the rivals', and others' networks as points."""

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
NARROW = 0.98  # where rivals are ranked
SERIES = 5  # at most
NAME, GAP = 7.5, 3.0  # points: the size of a name, and at least so much between two
HEADROOM = 12  # the highest error shown, in units of the lowest: beyond it a network is lost


def strongest(rows: pd.DataFrame) -> pd.DataFrame:
    """Our networks by the library's score, and as many rivals as there is place for, by their error at 98 % pruned."""
    found = in_order(every_curve(rows))
    ours, own = found.method == SBNN.name, found.score == found.method.map(lambda name: METHODS[name].score)
    found = found[(ours & found.recipe.isin(OURS) & (found.score == DEFAULT)) | (~ours & own)]
    ours = found.method == SBNN.name
    at = found[~ours & (found.droprate == NARROW)].sort_values("mean").method.unique()
    return found[ours | found.method.isin(at[: SERIES - found[ours].recipe.nunique()])]


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
    low = pd.concat([found["mean"], points.error]).min()
    ax.set(yscale="log", title=TITLES[network], ylabel=LABEL, ylim=(0.55 * low, min(100, HEADROOM * low)))
    axis(ax, [*found.droprate, *points.sparsity / 100])
    plain_ticks(ax)
    name_points(ax, points)


def name_points(ax: Axes, points: pd.DataFrame) -> None:
    """Others' networks, hollow where groups of weights were pruned; each method's first point has its name."""
    for point in points.itertuples():
        face = WHITE if point.kind.startswith("groups") else INK
        style = {"marker": "X", "ms": 9} if point.method == PAPER else {"marker": "o", "ms": 4.5, "mfc": face}
        ax.plot(100 - point.sparsity, point.error, color=INK, ls="none", zorder=5, **style)
    named = points.drop_duplicates("method")
    for point, place in zip(named.itertuples(), below(ax, named), strict=True):
        arrow = {"arrowstyle": "-", "color": GREY, "lw": 0.6, "shrinkB": 3}
        weight = "bold" if point.method == PAPER else "normal"
        style = {"ha": "center", "fontsize": NAME, "weight": weight, "arrowprops": arrow}
        ax.annotate(point.method, (100 - point.sparsity, point.error), place, textcoords="axes fraction", **style)


def below(ax: Axes, points: pd.DataFrame) -> list[tuple[float, float]]:
    """Where the names stand, as shares of the panel: in two lines, as near their points as their lengths allow."""
    ax.figure.draw_without_rendering()  # it is as wide as it will be only then
    wide = ax.bbox.width * 72 / ax.figure.dpi  # in points, as names are
    bold = FontProperties(weight="bold", size=NAME)
    halves = [(TextPath((0, 0), name, prop=bold).get_extents().width + GAP) / 2 / wide for name in points.method]
    places = [ax.transAxes.inverted().transform(ax.transData.transform((100 - s, 1)))[0] for s in points.sparsity]
    numbers, ends = range(len(places)), [0.0, 0.0]
    for number in numbers:  # to the right of the one before it
        places[number] = max(places[number], ends[number % 2] + halves[number])
        ends[number % 2] = places[number] + halves[number]
    ends = [1.0, 1.0]
    for number in reversed(numbers):  # and within the panel
        places[number] = min(places[number], ends[number % 2] - halves[number])
        ends[number % 2] = places[number] - halves[number]
    return [(place, 0.03 + 0.07 * (number % 2)) for number, place in enumerate(places)]


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
