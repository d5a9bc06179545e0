"""Experiment 3: features selected by relevance, at a fixed threshold and at one chosen by cross-validation."""

from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sbnn.model.methods import LM, NN_DR_IN, SBNN
from sbnn.report.base import Report
from sbnn.report.cells import Measured
from sbnn.report.claims import Judge
from sbnn.report.simulated import LABELS, mean_test_error, wide
from sbnn.report.simulated_selection_claims import (
    BEFORE,
    CHOSEN,
    FIXED,
    JUDGES,
    RIVALS,
    SETTINGS,
    TRUE_COUNT,
    accuracies,
    along,
)
from sbnn.report.statistics import mean_and_error, paired
from sbnn.report.style import GREY, line, look, name_lines, panels

# What as many features as are active are ranked by, and whose rows have it.
AT_TRUE_COUNT = {"true count": CHOSEN, "true count, by a Wald test": LM.name}


def compared(rows: pd.DataFrame, method: str) -> list[str]:
    """What a selected network is compared with, and that itself; results older than some of it lack them."""
    there = set(rows.method)
    return [name for name in (SBNN.name, *RIVALS, NN_DR_IN.name) if name in there] + [method]


class SimulatedSelection(Report):
    claims: ClassVar[dict[str, Judge]] = JUDGES
    claims_before: ClassVar[dict[str, Judge]] = BEFORE

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Accuracy and errors in every setting; then by active share what cross-validation finds, and differences."""
        measured, shares = rows[rows.metric.isin(["train_mse", "test_mse"])], along(rows, "active_share")
        found = {
            "accuracy": mean_and_error(rows[rows.metric == "accuracy"], [*SETTINGS, "method"]),
            "errors": mean_and_error(measured, [*SETTINGS, "method", "metric"]),
            "detected_share": wide(shares[shares.metric.str.endswith("_share")], ["active_share"], "metric"),
            "paired": paired_errors(shares),
        }
        return found | ({"ranking": ranking(shares)} if (rows.metric == TRUE_COUNT).any() else {})

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        """Accuracy and errors along D, alpha and the active share; then with the threshold chosen."""
        drawn = {}
        for key in SETTINGS:
            drawn[f"by_{key}"], (left, middle, right) = panels(3)
            draw_accuracy(left, along(rows, key), key, FIXED)
            draw_errors(middle, right, along(rows, key), key, [*RIVALS, FIXED])
        shares = along(rows, "active_share")
        drawn["cross_validation"] = cross_validation(shares)
        drawn["errors_cv"], (left, right) = panels(2)
        draw_errors(left, right, shares, "active_share", [*RIVALS, CHOSEN])
        return drawn

    def headline(self, rows: pd.DataFrame) -> float:
        return mean_test_error(rows[rows.method == FIXED])


def paired_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Test error of both selected networks less that of the full one and of every rival, on the same data sets."""
    lines = []
    for share, own in rows[rows.metric == "test_mse"].groupby("active_share"):
        errors = own.pivot_table(index="replicate", columns="method", values="value")
        line = {"active_share": share, "datasets": len(errors)}
        for method in (FIXED, CHOSEN):
            line |= {f"{method} − {r}": paired(errors[method], errors[r]) for r in compared(own, method)[:-1]}
        lines.append(line)
    return pd.DataFrame(lines)


def ranking(shares: pd.DataFrame) -> pd.DataFrame:
    """Accuracy by active share: is it the threshold that misses features, or their ranking?"""
    columns = {"detected count": ("accuracy", CHOSEN), **{name: (TRUE_COUNT, m) for name, m in AT_TRUE_COUNT.items()}}
    found = {name: accuracies(shares, method, "active_share", metric) for name, (metric, method) in columns.items()}
    cells = {name: [Measured(c["mean"], c.se, 3) for _, c in table.iterrows()] for name, table in found.items()}
    return pd.DataFrame({"active_share": found["detected count"].active_share, **cells})


def draw_accuracy(axes: Axes, rows: pd.DataFrame, key: str, method: str) -> None:
    line(axes, accuracies(rows, method, key), key, look(method), method)
    axes.set(xlabel=LABELS[key], ylabel="selection accuracy", ylim=(0, 1.02))


def draw_errors(left: Axes, right: Axes, rows: pd.DataFrame, key: str, methods: list[str]) -> None:
    for axes, part in ((left, "train"), (right, "test")):
        for method in methods:
            chosen = rows[(rows.method == method) & (rows.metric == f"{part}_mse")]
            line(axes, mean_and_error(chosen, [key]), key, look(method), method)
        axes.set(xlabel=LABELS[key], ylabel=f"{part} MSE / variance of y", ylim=(0, None))
    name_lines(right)


def cross_validation(shares: pd.DataFrame) -> Figure:
    """The share of features that it keeps against the share that is active, and how many of them are right."""
    figure, (left, right) = panels(2)
    found = shares.pivot_table(index=["active_share", "replicate"], columns="metric", values="value")
    left.plot([0, 1], [0, 1], color=GREY, lw=0.8, label="y = x")
    colour, _ = look(CHOSEN)
    left.scatter(found["actual_share"], found["detected_share"], s=14, alpha=0.6, color=colour, label="one dataset")
    left.set(xlabel="actual share of active features", ylabel="share chosen by cross-validation")
    left.set(xlim=(0, 1.02), ylim=(0, 1.02))
    left.legend()
    for (name, method), dash in zip(AT_TRUE_COUNT.items(), ("--", ":"), strict=True):
        found = accuracies(shares, method, "active_share", TRUE_COUNT)
        if len(found):
            line(right, found, "active_share", look(method), name, ls=dash, fillstyle="none")
    right.axhline(0.8, color=GREY, lw=0.8, ls="--", label="the paper's 80 %")
    draw_accuracy(right, shares, "active_share", CHOSEN)
    right.legend(loc="lower right")
    return figure


REPORT = SimulatedSelection()
