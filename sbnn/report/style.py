"""One look for all figures: print sizes, colour-blind safe colours by method, error bars."""

import io
from itertools import cycle
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from PIL import Image

from sbnn.compression.scores import SCORES
from sbnn.model.methods import METHODS

# Okabe and Ito's palette, and a marker each, so that grey prints can be read too: by the order of the methods' table.
# Seven colours and eight markers: 56 methods before two look alike. Black is for what others printed.
BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#666666"
PALETTE = ("#E69F00", "#56B4E9", BLUE, "#CC79A7", "#009E73", GREY, VERMILLION)
MARKERS = "hP^vsxoD"
LOOKS = dict(zip(METHODS, zip(cycle(PALETTE), cycle(MARKERS), strict=False), strict=False))
# Recipes other than the tuned one: colours of methods that are never pruned next to them, markers of their own.
RECIPE_LOOKS = {"gradual": ("#009E73", "*"), "paper": (BLUE, "<"), "set_1": (BLUE, ">"), "set_2": (VERMILLION, "d")}
# By the score that weights are ranked by: the line, and which half of its markers is filled.
DASHES = dict(zip(SCORES, cycle(["-", "--", ":", "-."]), strict=False))
FILLS = dict(zip(SCORES, cycle(["full", "none", "left", "top", "bottom"]), strict=False))
plt.rcParams |= {
    "figure.dpi": 100,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.titlesize": 9,
    "grid.color": "#DDDDDD",
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


def save(figure: Figure, path: Path) -> None:
    """Write a figure with a palette of 128 colours, which no line drawing misses: a third of the bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
