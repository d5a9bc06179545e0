"""One look for all figures: print sizes, colour-blind safe colours, error bars."""

import io
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter
from PIL import Image

# Okabe and Ito's palette, and a marker each, so that grey prints can be read too.
LOOKS = {
    "BNN_VS": ("#D55E00", "o"),
    "BNN_VS_CV": ("#D55E00", "D"),
    "sBNN": ("#E69F00", "h"),
    "NN_Dr": ("#009E73", "s"),
    "BNN": ("#0072B2", "^"),
    "NN": ("#CC79A7", "v"),
    "LM": ("#666666", "x"),
    "BbB": ("#56B4E9", "P"),
    "sBNN_paper": ("#0072B2", "^"),
    "sBNN_set_1": ("#0072B2", "^"),
    "sBNN_set_2": ("#D55E00", "o"),
}
# By the score that weights are ranked by: the line, and which half of its markers is filled.
DASHES = {"inclusion": "-", "snr": "--", "magnitude": ":"}
FILLS = {"inclusion": "full", "snr": "none", "magnitude": "left"}
COLOURS = [colour for colour, _ in LOOKS.values()]
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
    """A figure of equal panels as a flat list."""
    figure, axes = plt.subplots(
        rows, columns, figsize=(width * columns, height * rows), squeeze=False, layout="constrained", **options
    )
    return figure, list(axes.flat)


def look(method: str, recipe: str) -> str:
    """The entry of LOOKS for a method by a recipe."""
    return f"{method}_{recipe}" if f"{method}_{recipe}" in LOOKS else method


def by_score(score: str) -> dict:
    return {"ls": DASHES[score], "fillstyle": FILLS[score]}


def line(axes: Axes, summary: pd.DataFrame, x: str, look: str, label: str, **options) -> None:
    """Mean with standard error along x, in the look of a method."""
    colour, marker = LOOKS[look]
    style = {"color": colour, "marker": marker, "capsize": 2, "elinewidth": 0.8} | options
    axes.errorbar(summary[x], summary["mean"], yerr=summary["se"].fillna(0), label=label, **style)


def plain_ticks(axes: Axes) -> None:
    """Plain numbers, a handful of them, on a logarithmic y axis, whether it spans a tenth or three decades."""
    low, high = axes.get_ylim()
    subs = (1,) if high / low > 1000 else (1, 2, 5) if high / low > 10 else (1, 1.5, 2, 3, 5, 7)
    axes.yaxis.set_major_locator(LogLocator(subs=subs) if high / low > 2 else MaxNLocator(5))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def save(figure: Figure, path: Path) -> None:
    """With a palette of 128 colours, which no line drawing misses: a third of the bytes."""
    drawn = io.BytesIO()
    figure.savefig(drawn)
    plt.close(figure)
    Image.open(drawn).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)
