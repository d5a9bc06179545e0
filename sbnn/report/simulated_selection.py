"""Experiment 3: features selected by relevance, at a fixed threshold and at one chosen by cross-validation."""

from typing import ClassVar

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sbnn.model.methods import BNN, BNN_VS, BNN_VS_CV, LM, NN, NN_DR
from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.simulated import LABELS, mean_test_error, wide
from sbnn.report.statistics import mean_and_error, paired
from sbnn.report.style import GREY, line, look, panels

RIVALS = [method.name for method in (LM, NN, BNN, NN_DR)]
FIXED, CHOSEN = BNN_VS.name, BNN_VS_CV.name  # by how the threshold is set
SETTINGS = ["D", "alpha", "active_share"]


def along(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows where only `key` varies: the other settings at their most common value."""
    for other in SETTINGS:
        if other != key:
            rows = rows[rows[other] == rows[other].mode()[0]]
    return rows


def accuracies(rows: pd.DataFrame, method: str, key: str) -> pd.DataFrame:
    return mean_and_error(rows[(rows.metric == "accuracy") & (rows.method == method)], [key])


def accuracy_along(key: str) -> Judge:
    def find(rows: pd.DataFrame) -> Finding:
        cells = accuracies(along(rows[(rows.method == FIXED) & (rows.metric == "accuracy")], key), FIXED, key)
        worst = cells.loc[cells["mean"].idxmin()]
        ours = f"{cells['mean'].min():.3f} to {cells['mean'].max():.3f}; lowest at {key} = {worst[key]:g}"
        margin = worst["mean"] - 0.88
        return Finding(ours, worst.se, [margin >= 0], margin=margin)

    return find


def errors_by_method(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """One line per dataset, one column per method."""
    chosen = rows[rows.metric == f"{part}_mse"]
    return chosen.pivot_table(index=[*SETTINGS, "replicate"], columns="method", values="value")


def proportion_error(held: pd.Series) -> float:
    """Standard error, in per cent, of the share of cases in which something held."""
    return float(100 * (held.mean() * (1 - held.mean()) / len(held)) ** 0.5)


def orderings_hold(rows: pd.DataFrame) -> Finding:
    sweeps = pd.concat([along(rows, "D"), along(rows, "alpha")])  # the cell they share is averaged with itself
    train, test = (errors_by_method(sweeps, part)[[*RIVALS, FIXED]] for part in ("train", "test"))
    unshrunk = test[[NN.name, BNN.name, LM.name]].min(axis=1)
    parts = {
        f"{FIXED} below {NN.name}, {BNN.name}, {LM.name}": test[FIXED] < unshrunk,
        f"{NN_DR.name} below them": test[NN_DR.name] < unshrunk,
        f"{NN.name} least train": train.idxmin(axis=1) == NN.name,
        f"{NN.name} worst test": test.idxmax(axis=1) == NN.name,
        f"{LM.name} highest train": train.idxmax(axis=1) == LM.name,
    }
    ours = ", ".join(f"{name} in {held.mean():.0%}" for name, held in parts.items())
    se = max(proportion_error(held) for held in parts.values())
    return Finding(ours, se, [held.mean() > 0.5 for held in parts.values()], " points")


def fixed_threshold_fails(rows: pd.DataFrame) -> Finding:
    shares = along(rows, "active_share")
    cells = accuracies(shares, FIXED, "active_share")
    beyond = cells[cells.active_share >= 0.2]
    tests = errors_by_method(shares, "test")[[*RIVALS, FIXED]].groupby("active_share").mean()
    if len(beyond) < 2 or not (tests.index < 0.5).any():
        return LEFT_OUT
    best = tests[tests.index < 0.5].idxmin(axis=1) == FIXED
    ours = (
        f"accuracy {beyond['mean'].iloc[0]:.2f} at {beyond.active_share.iloc[0]:.0%} active, "
        f"{beyond['mean'].iloc[-1]:.2f} at {beyond.active_share.iloc[-1]:.0%}; "
        f"{FIXED} best at {best.sum()} of {len(best)} shares below 50 %"
    )
    return Finding(ours, cells.se.max(), [bool((beyond["mean"].diff().dropna() < 0).all()), bool(best.all())])


def finds_the_share(rows: pd.DataFrame) -> Finding:
    chosen = along(rows[rows.method == CHOSEN], "active_share")
    pairs = chosen.pivot_table(index=["active_share", "replicate"], columns="metric", values="value")
    gap = (pairs["detected_share"] - pairs["actual_share"]).abs()
    r = pairs["detected_share"].corr(pairs["actual_share"])
    margin = 0.10 - gap.mean()
    return Finding(f"mean gap {gap.mean():.3f}, r = {r:.3f}", gap.sem(), [margin >= 0, r >= 0.9], margin=margin)


def stays_accurate(rows: pd.DataFrame) -> Finding:
    chosen = along(rows[(rows.method == CHOSEN) & (rows.metric == "accuracy")], "active_share")
    cells = accuracies(chosen, CHOSEN, "active_share")
    worst = cells.loc[cells["mean"].idxmin()]
    ours, margin = f"lowest {worst['mean']:.3f}, at {worst.active_share:.0%} active", worst["mean"] - 0.80
    return Finding(ours, worst.se, [margin >= 0], margin=margin)


def best_with_cv(rows: pd.DataFrame) -> Finding:
    tests = errors_by_method(along(rows, "active_share"), "test")[[*RIVALS, CHOSEN]]
    best = tests.groupby("active_share").mean().idxmin(axis=1) == CHOSEN
    against = [[paired(own[CHOSEN], own[rival]) for rival in RIVALS] for _, own in tests.groupby("active_share")]
    clearly = sum(all(d is not None and d.is_lower for d in differences) for differences in against)
    ours = f"best at {best.sum()} of {len(best)} shares, at {clearly} of them beyond noise against every rival"
    return Finding(ours, None, [best.mean() >= 0.8])


class SimulatedSelection(Report):
    claims: ClassVar[dict[str, Judge]] = {
        "3a": accuracy_along("D"),
        "3b": accuracy_along("alpha"),
        "3c": orderings_hold,
        "3d": fixed_threshold_fails,
        "3e": finds_the_share,
        "3f": stays_accurate,
        "3g": best_with_cv,
    }

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Accuracy and errors in every setting; then by active share what cross-validation finds, and differences."""
        measured, shares = rows[rows.metric.isin(["train_mse", "test_mse"])], along(rows, "active_share")
        return {
            "accuracy": mean_and_error(rows[rows.metric == "accuracy"], [*SETTINGS, "method"]),
            "errors": mean_and_error(measured, [*SETTINGS, "method", "metric"]),
            "detected_share": wide(shares[shares.metric.str.endswith("_share")], ["active_share"], "metric"),
            "paired": paired_errors(shares),
        }

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
    """Test error of both selected networks less that of every rival, on the same data sets, by active share."""
    lines = []
    for share, own in rows[rows.metric == "test_mse"].groupby("active_share"):
        errors = own.pivot_table(index="replicate", columns="method", values="value")
        line = {"active_share": share, "datasets": len(errors)}
        for method in (FIXED, CHOSEN):
            line |= {f"{method} − {r}": paired(errors[method], errors[r]) for r in RIVALS if r in errors}
        lines.append(line)
    return pd.DataFrame(lines)


def draw_accuracy(axes: Axes, rows: pd.DataFrame, key: str, method: str) -> None:
    line(axes, accuracies(rows, method, key), key, look(method), method)
    axes.set(xlabel=LABELS[key], ylabel="selection accuracy", ylim=(0, 1.02))


def draw_errors(left: Axes, right: Axes, rows: pd.DataFrame, key: str, methods: list[str]) -> None:
    for axes, part in ((left, "train"), (right, "test")):
        for method in methods:
            chosen = rows[(rows.method == method) & (rows.metric == f"{part}_mse")]
            line(axes, mean_and_error(chosen, [key]), key, look(method), method)
        axes.set(xlabel=LABELS[key], ylabel=f"{part} MSE / variance of y", ylim=(0, None))
    right.legend(loc="center left", bbox_to_anchor=(1, 0.5))


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
    right.axhline(0.8, color=GREY, lw=0.8, ls="--", label="the paper's 80 %")
    draw_accuracy(right, shares, "active_share", CHOSEN)
    right.legend(loc="lower right")
    return figure


REPORT = SimulatedSelection()
