"""The headline number over two settings that were swept."""

import math
import textwrap

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from sbnn.report.heat_map import draw
from sbnn.report.style import panels


def numbers(column: pd.Series) -> pd.Series:
    """A column as numbers, if all of it are numbers."""
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError):
        return column


def heat_map(table: pd.DataFrame, keys: list[str], title: str) -> Figure | None:
    """A cell for every job; none where jobs do not make a grid of two settings of one experiment, or none succeeded."""
    if len(keys) != 2 or "experiment" in keys or table["headline"].isna().all():
        return None
    jobs, axes = table.apply(numbers), {"index": keys[0], "columns": keys[1]}
    run = jobs.pivot_table(**axes, aggfunc="size")
    cells = jobs.pivot_table(**axes, values="headline").reindex(index=run.index, columns=run.columns)
    if min(cells.shape) < 2 or run.notna().to_numpy().mean() < 0.5:
        return None
    height, width = cells.shape
    drawn, (ax,) = panels(1, width=2.2 + 0.75 * width, height=1.5 + 0.45 * height)
    image = draw(ax, cells)
    ax.tick_params(axis="x", rotation=90 if width > 8 else 0)
    ax.set_title("\n".join(textwrap.wrap(title.replace(",", ", "), 12 + 12 * width)))
    for (i, j), value in np.ndenumerate(cells.to_numpy()):
        if math.isnan(value) and not math.isnan(run.iloc[i, j]):
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch="///", edgecolor="#666666", linewidth=0))
            ax.text(j, i, "failed", ha="center", va="center", backgroundcolor="white")
    drawn.colorbar(image, ax=ax, label="headline (lower is better)")
    return drawn
