"""One look for all figures: print sizes, colour-blind safe colours by method, error bars, the axis of weights left."""

import io
from collections.abc import Iterable
from itertools import cycle
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, NullLocator
from PIL import Image

from sbnn.compression.scores import SCORES
from sbnn.files import write_text, written_whole
from sbnn.model.methods import METHODS
from sbnn.report.svg import slimmed

# Colours by the order of the methods' table, Okabe and Ito's first; those that repeat are of methods that never stand
# next to each other. A marker each, so that grey prints can be read too. Ink is for what others printed.
BLUE, VERMILLION, GREY, INK, LINE, WHITE = "#0072B2", "#D55E00", "#666666", "#1b1b1b", "#dddddd", "#ffffff"
OKABE_ITO = ("#E69F00", "#56B4E9", BLUE, "#CC79A7", "#009E73", GREY, VERMILLION)
RIVALS = ("#8F6FD0", "#8A8A00", "#C2185B", "#00A6A6", GREY, VERMILLION, "#9A5B2E", "#5B8F3A", "#4A62D8")  # from MAP on
PALETTE = (*OKABE_ITO, "#E69F00", *RIVALS)
MARKERS = "hP^vsxoD"
LOOKS = dict(zip(METHODS, zip(cycle(PALETTE), cycle(MARKERS), strict=False), strict=False))
# Recipes other than the tuned one: colours of methods that are never pruned next to them, markers of their own.
RECIPE_LOOKS = {"gradual": ("#009E73", "*"), "paper": (BLUE, "<"), "set_1": (BLUE, ">"), "set_2": (VERMILLION, "d")}
# By the score that weights are ranked by: the line, and which half of its markers is filled.
DASHES = dict(zip(SCORES, cycle(["-", "--", ":", "-."]), strict=False))
FILLS = dict(zip(SCORES, cycle(["full", "none", "left", "top", "bottom"]), strict=False))
PRINTED = {"color": INK, "marker": "x", "ls": (0, (1, 2)), "lw": 1.2}  # the paper's own numbers, in every figure
# Colours that follow the reader's light or dark screen; the page has variables of the same names.
THEMED = {INK: "currentColor", LINE: "var(--line)", WHITE: "var(--paper)", GREY: "var(--faint)"}
LIGHT = "svg { color: #1b1b1b; --paper: #fff; --line: #ddd; --faint: #666; }"
DARK = "svg { color: #e8e6e1; --paper: #16181a; --line: #3a3d40; --faint: #a0a0a0; }"
BOTH = f"{LIGHT} @media (prefers-color-scheme: dark) {{ {DARK} }}"
LEFT = (100, 50, 20, 10, 5, 2, 1, 0.5, 0.2, 0.1)  # per cent, marked on the axis of weights left
plt.rcParams |= {
    "svg.fonttype": "none",
    "svg.hashsalt": "sbnn",  # the same file for the same figure
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 9,
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), INK),
    **{f"boxplot.{part}props.color": INK for part in ("box", "whisker", "cap", "median")},
    "boxplot.flierprops.markeredgecolor": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.markersize": 4.5,
    "lines.linewidth": 1.4,
}


def panels(
    columns: int, rows: int = 1, width: float = 3.3, height: float = 2.7, **options
) -> tuple[Figure, list[Axes]]:
    """A figure and its equal panels as a flat list."""
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained", **options
    )
    return figure, list(axes.flat)


def look(method: str, recipe: str | None = None) -> tuple[str, str]:
    """Colour and marker of a method by a recipe; both as rows have them."""
    return RECIPE_LOOKS.get(recipe, LOOKS[method])


def by_score(score: str) -> dict:
    """The line and markers of a curve whose weights are ranked by a score."""
    return {"ls": DASHES[score], "fillstyle": FILLS[score]}


def line(axes: Axes, summary: pd.DataFrame, x: str, look: tuple[str, str], label: str, **options) -> None:
    """Draw means with standard errors along x, in the look of a method."""
    colour, marker = look
    style = {"color": colour, "marker": marker, "capsize": 2, "elinewidth": 0.8} | options
    axes.errorbar(summary[x], summary["mean"], yerr=summary["se"].fillna(0), label=label, **style)


def plain_ticks(axes: Axes) -> None:
    """Put a handful of plain numbers on a logarithmic y axis, whether it spans a tenth or three decades."""
    low, high = axes.get_ylim()
    subs = (1,) if high / low > 1000 else (1, 2, 5) if high / low > 10 else (1, 1.5, 2, 3, 5, 7)
    axes.yaxis.set_major_locator(LogLocator(subs=subs) if high / low > 2 else MaxNLocator(5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def weights_left(ax: Axes, droprates: Iterable[float], label: str = "weights left, %", most: float = 100) -> None:
    """Make the x axis that of what is left of the weights, all of them at its left end, every decade as wide."""
    least = 100 * (1 - max((d for d in droprates if d < 1), default=0.0))
    marks = [mark for mark in LEFT if 0.99 * least <= mark <= most]
    few = marks[::3] if len(marks) > 7 else marks
    ax.set(xscale="log", xlabel=label, xlim=(1.15 * most, 0.87 * least))
    ax.set_xticks(few, [f"{mark:g}" for mark in few])
    ax.xaxis.set_minor_locator(NullLocator())


def left(curve: pd.DataFrame) -> pd.DataFrame:
    """A curve with what is left of the weights, in per cent; a network without any has no place on the axis."""
    return curve[curve.droprate < 1].assign(left=lambda c: 100 * (1 - c.droprate))


def name_lines(ax: Axes, gap: float = 15.0) -> None:
    """Name every line at its right end instead of in a legend; names that would touch are moved apart, in pixels."""
    ax.figure.canvas.draw()
    ends, below = [], -float("inf")
    for handle, name in zip(*ax.get_legend_handles_labels(), strict=True):
        line = handle[0] if isinstance(handle, ErrorbarContainer) else handle
        ends += [(ax.transData.transform(place)[1], line, name) for place in line.get_xydata()[-1:]]
    for end, line, name in sorted(ends, key=lambda entry: entry[0]):
        below = max(end, below + gap)
        at = (1.01, ax.transAxes.inverted().transform((0, below))[1])
        ax.annotate(name, at, xycoords="axes fraction", va="center", color=line.get_color(), fontsize=8)


def legend_below(figure: Figure, axes: list[Axes], columns: int = 3, place: str = "outside lower center") -> None:
    """One legend for all panels, below them."""
    entries = {name: handle for ax in axes for handle, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    lines = [handle[0] if isinstance(handle, ErrorbarContainer) else handle for handle in entries.values()]
    figure.legend(lines, entries.keys(), loc=place, ncols=min(columns, len(entries)), fontsize=8, handlelength=3)


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG, for print, and next to it as SVG, for screens.

    A palette of 128 colours, which no line drawing misses, makes a PNG of a third of the bytes.
    """
    drawn = io.BytesIO()
    figure.savefig(drawn, dpi=150)
    with written_whole(path) as temporary:
        few = Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE)
        few.save(temporary, format="PNG", optimize=True)
    save_svg(figure, path.with_suffix(".svg"))


def save_svg(figure: Figure, path: Path, style: str = BOTH) -> None:
    """With the reader's own fonts, and colours that follow a light or a dark screen."""
    drawn = io.StringIO()
    figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    plt.close(figure)
    text = slimmed(drawn.getvalue())
    for colour, variable in THEMED.items():
        text = text.replace(colour, variable)
    write_text(path, text.replace('<style type="text/css">', f'<style type="text/css">{style} ', 1))
