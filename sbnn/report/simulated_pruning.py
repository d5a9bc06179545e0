"""Experiment 4: how many weights a simulated regression can do without."""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report import interactive
from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.simulated import mean_test_error
from sbnn.report.statistics import largest_droprate, mean_and_error, paired
from sbnn.report.style import by_score, left, legend_below, line, look, panels, weights_left

UNIT = "test MSE / variance of y"


def largest_droprates(rows: pd.DataFrame) -> pd.DataFrame:
    """Per active share: the droprate up to which the test error stays within 5 % of the full model's."""
    chosen = rows[(rows.metric == "test_mse") & (rows.method == SBNN.name) & (rows.score == SBNN.score)]
    curves = chosen.pivot_table(index=["active_share", "replicate"], columns="droprate", values="value")
    return largest_droprate(curves).groupby("active_share").agg(["mean", "sem"])


def prunable(share: float, low: float, high: float) -> Judge:
    """The paper prunes `low` to `high` of the weights at this active share, and less at larger ones."""

    def find(rows: pd.DataFrame) -> Finding:
        largest = largest_droprates(rows)
        if share not in largest.index or len(largest) < 2:
            return LEFT_OUT
        mean, here = largest["mean"], largest.loc[share]
        noise = (largest["sem"].iloc[0] ** 2 + largest["sem"].iloc[-1] ** 2) ** 0.5
        falls = bool((mean.diff().dropna() < 0).all()) and mean.iloc[0] - mean.iloc[-1] > 2 * noise
        ours = f"{here['mean']:.0%} ({', '.join(f'{m:.0%} at {s:.0%}' for s, m in mean.items())} active)"
        return Finding(ours, 100 * here["sem"], [low - 0.10 <= here["mean"] <= high + 0.10, falls], " points")

    return find


class SimulatedPruning(Report):
    claims: ClassVar[dict[str, Judge]] = {
        "4a": prunable(0.2, 0.5, 0.6),
        "4b": prunable(0.5, 0.4, 0.4),
        "4c": prunable(0.9, 0.2, 0.2),
    }

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        tests = rows[rows.metric == "test_mse"]
        return {"pruning": pruning(tests), "paired": paired_pruned(tests)}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {"pruning": figure(pruning(rows[rows.metric == "test_mse"]))}

    def headline(self, rows: pd.DataFrame) -> float:
        """The share of the weights that has to stay."""
        return float(1 - largest_droprates(rows)["mean"].mean())

    def error(self, rows: pd.DataFrame) -> float:
        return mean_test_error(rows)

    def curve(self, rows: pd.DataFrame) -> dict:
        by = ["active_share"]
        summary = mean_and_error(rows[rows.metric == "test_mse"], [*by, "method", "recipe", "score", "droprate"])
        title = "{:.0%} of the features active".format
        return interactive.plot(summary, by, UNIT, lambda panel: title(panel.active_share), of="data set")


def pruning(tests: pd.DataFrame) -> pd.DataFrame:
    return mean_and_error(tests, ["active_share", "method", "score", "droprate"])


def paired_pruned(tests: pd.DataFrame) -> pd.DataFrame:
    """Test error of sBNN pruned by inclusion less that of all else at the same droprate, and less its own in full."""
    own = (SBNN.name, SBNN.score)
    name = ", ".join(own)
    lines = []
    for share, found in tests.groupby("active_share"):
        curves = found.pivot_table(index="replicate", columns=["method", "score", "droprate"], values="value")
        ours = curves[own]
        others = [key for key in curves.columns.droplevel("droprate").unique() if key != own]
        for droprate in ours:
            line = {"active_share": share, "droprate": droprate, "datasets": len(ours)}
            line[f"{name} − full"] = paired(ours[droprate], ours[0.0]) if droprate else None
            line |= {f"{name} − {m}, {s}": paired(ours[droprate], curves[m, s, droprate]) for m, s in others}
            lines.append(line)
    return pd.DataFrame(lines)


def figure(table: pd.DataFrame) -> Figure:
    """Test error by weights left, one panel per active share."""
    shares = sorted(table.active_share.unique())
    drawn, axes = panels(len(shares), sharey=True)
    for ax, share in zip(axes, shares, strict=True):
        for (method, score), curve in table[table.active_share == share].groupby(["method", "score"], sort=False):
            line(ax, left(curve), "left", look(method), f"{method} by {score}", **by_score(score), markersize=3)
        ax.set(title=f"{share:.0%} of the features active")
        weights_left(ax, table.droprate)
    axes[0].set(ylabel=UNIT, ylim=(0, None))
    legend_below(drawn, axes, columns=5)
    return drawn


REPORT = SimulatedPruning()
