"""How far networks on images can be believed as their weights leave: calibration and likelihood, in one figure."""

from collections.abc import Iterable

import pandas as pd
from matplotlib.figure import Figure

from sbnn.report.image_curves import in_order
from sbnn.report.names import by_own_score, called
from sbnn.report.statistics import mean_and_error
from sbnn.report.style import left, legend_below, look, panels, plain_ticks, weights_left

# Of predictions by the network that would be used: in the rows, in the figure, and by what numbers are multiplied.
MEASURES = {"ece": ("calibration error, %", 100), "nll": ("negative log-likelihood", 1)}


def reliability(parts: Iterable[tuple[pd.DataFrame, str]]) -> Figure:
    """A column for each part of the rows, by its title; methods are ranked by their own score."""
    shown = [(rows, title) for rows, title in parts if rows.metric.isin(MEASURES).any()]
    drawn, axes = panels(len(shown), len(MEASURES), width=4.2, height=2.6, sharex="col")
    for row, (metric, (label, times)) in enumerate(MEASURES.items()):
        for column, (rows, title) in enumerate(shown):
            ax = axes[row * len(shown) + column]
            found = curves(rows.assign(value=times * rows.value), metric)
            for (method, recipe), curve in found.groupby(["method", "recipe"], sort=False):
                own, (colour, marker) = left(curve), look(method, recipe)
                ax.plot(own.left, own["mean"], color=colour, marker=marker, label=called(method, recipe), markersize=3)
            ax.set(yscale="log")
            weights_left(ax, rows.droprate.dropna(), label="" if row == 0 else "weights left, %")
            plain_ticks(ax)
            if row == 0:
                ax.set_title(title)
            if column == 0:
                ax.set_ylabel(label)
    legend_below(drawn, axes, columns=min(4, 2 * len(shown)))
    return drawn


def curves(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over seeds by droprate."""
    found = rows[(rows.metric == metric) & rows.score.notna()]
    alike = [column for column in found if column not in ("replicate", "value")]
    return in_order(by_own_score(mean_and_error(found, alike)))
