"""How far what can be pruned hangs on where means start and on the width of the spike: a grid of both."""

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report.cells import Measured
from sbnn.report.heat_map import draw
from sbnn.report.statistics import largest_droprate
from sbnn.report.style import panels

GRID = ["mean_scale", "log_tau0"]
NAMES = {"mean_scale": "sd of initial means × √inputs", "log_tau0": "log $\\tau_0$ (spike)"}
ERROR, SLAB = "grid_test_mse", "grid_slab"  # metrics: the error by droprate, the share of weights with p > 1/2


def measures(rows: pd.DataFrame) -> pd.DataFrame:
    """By cell of the grid and data set: what can be pruned, the full network's error, and the share in the slab."""
    by = [*GRID, "replicate"]
    curves = rows[rows.metric == ERROR].pivot_table(index=by, columns="droprate", values="value")
    slab = rows[rows.metric == SLAB].set_index(by)["value"]
    return pd.DataFrame({"prunable": largest_droprate(curves), "full error": curves[0.0], "in the slab": slab})


def has_grid(rows: pd.DataFrame) -> bool:
    return bool((rows.metric == ERROR).any())


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """A line per cell, means over data sets; none where the run left the grid out."""
    if not has_grid(rows):
        return {}
    groups = measures(rows).groupby(GRID)
    mean, se = groups.mean(), groups.sem()
    cells = {name: [Measured(*pair, digits=2) for pair in zip(mean[name], se[name], strict=True)] for name in mean}
    return {"sensitivity": pd.DataFrame(cells, index=mean.index).reset_index()}


def figures(rows: pd.DataFrame, unit: str) -> dict[str, Figure]:
    """A heat map per measure."""
    if not has_grid(rows):
        return {}
    mean = measures(rows).groupby(GRID).mean()
    titles = {
        "prunable": ("weights that can go, %", 100),
        "full error": (f"{SBNN.label}, nothing pruned: {unit}", 1),
        "in the slab": ("weights with p > 1/2, %", 100),
    }
    height, width = (mean.index.get_level_values(name).nunique() for name in GRID)
    drawn, axes = panels(len(titles), width=1.4 + 0.5 * width, height=1.1 + 0.3 * height)
    for ax, (name, (title, times)) in zip(axes, titles.items(), strict=True):
        cells = (times * mean[name]).reset_index().pivot_table(index=GRID[0], columns=GRID[1], values=name)
        named = cells.rename(index="{:g}".format, columns="{:g}".format)
        draw(
            ax, named.rename_axis(index=NAMES[GRID[0]], columns=NAMES[GRID[1]]), "{:.0f}" if times == 100 else "{:.2f}"
        )
        ax.set_title(title)
    return {"sensitivity": drawn}
