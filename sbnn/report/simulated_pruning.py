"""Experiment 4: how many weights a simulated regression can do without."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report import interactive, sensitivity
from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.names import RECIPES, by_own_score, called
from sbnn.report.simulated import mean_test_error
from sbnn.report.statistics import in_deviations, largest_droprate, mean_and_error, paired
from sbnn.report.style import by_score, left, legend_below, line, look, panels, weights_left

UNIT = "test MSE / variance of y"
STATED, TUNED = "paper", "tuned"
CURVE = ["active_share", "method", "recipe", "score", "droprate"]
SIZE = 0.10  # how far from the paper's share counts as the same


def curves(rows: pd.DataFrame) -> pd.DataFrame:
    """Test errors by droprate. Rows older than recipes are of the tuned one, and of rivals as we train them."""
    tests = rows[rows.metric == "test_mse"]
    older = np.where(tests.method == SBNN.name, TUNED, "ours")
    return tests.assign(recipe=tests.recipe.where(tests.recipe.notna(), older))


def prunable_shares(rows: pd.DataFrame, recipe: str) -> pd.DataFrame:
    """Up to which droprate the test error stays within 5 % of the full model's: data sets by active share."""
    tests = curves(rows)
    own = tests[(tests.method == SBNN.name) & (tests.score == SBNN.score) & (tests.recipe == recipe)]
    found = own.pivot_table(index=["active_share", "replicate"], columns="droprate", values="value")
    if found.empty:
        return pd.DataFrame()
    found = largest_droprate(found).rename("value").reset_index()
    return found.pivot_table(index="replicate", columns="active_share", values="value")


def by_active_share(shares: pd.DataFrame) -> str:
    """What can be pruned, in words."""
    return ", ".join(f"{mean:.1%} at {share:.0%}" for share, mean in shares.mean().items()) + " active"


def falls_throughout(shares: pd.DataFrame) -> bool:
    return bool((shares.mean().diff().dropna() < 0).all())


def falls(shares: pd.DataFrame) -> bool:
    """From end to end by Student's bound, over data sets that are paired by their number."""
    fall = paired(shares.iloc[:, -1], shares.iloc[:, 0])
    return falls_throughout(shares) and fall is not None and fall.is_lower


def falls_by_two_errors(shares: pd.DataFrame) -> bool:
    """As it was judged before: by 2 s.e., unpaired."""
    mean, sem = shares.mean(), shares.sem()
    return falls_throughout(shares) and mean.iloc[0] - mean.iloc[-1] > 2 * np.hypot(sem.iloc[0], sem.iloc[-1])


def prunable(share: float, low: float, high: float) -> Judge:
    """The paper prunes `low` to `high` of the weights at this active share, and less at larger ones."""

    def find(rows: pd.DataFrame) -> Finding:
        shares, tuned = prunable_shares(rows, STATED), prunable_shares(rows, TUNED)
        if share not in shares or shares.shape[1] < 2:
            return LEFT_OUT
        here = shares[share].dropna()
        nearest = min((here - (low - SIZE), high + SIZE - here), key=lambda distance: distance.mean())
        ours = f"{here.mean():.1%} ({by_active_share(shares)})"
        holds = [nearest.mean() >= 0, falls(shares)]
        margins = [in_deviations(nearest), in_deviations(shares.iloc[:, 0] - shares.iloc[:, -1], beyond_noise=True)]
        found = Finding(ours, 100 * here.sem(), holds, " points", 100 * nearest.mean(), len(here), margins)
        beside = f"; {RECIPES[TUNED]} {by_active_share(tuned)}" if len(tuned) else ""
        return replace(found, ours=found.text + beside, margin=None)

    return find


def prunable_before(share: float, low: float, high: float) -> Judge:
    """By our own recipe."""

    def find(rows: pd.DataFrame) -> Finding:
        shares = prunable_shares(rows, TUNED)
        if share not in shares or shares.shape[1] < 2:
            return LEFT_OUT
        is_near = low - SIZE <= shares[share].mean() <= high + SIZE
        return Finding(by_active_share(shares), None, [is_near, falls_by_two_errors(shares)])

    return find


PAPERS = {"4a": (0.2, 0.5, 0.6), "4b": (0.5, 0.4, 0.4), "4c": (0.9, 0.2, 0.2)}


class SimulatedPruning(Report):
    claims: ClassVar[dict[str, Judge]] = {name: prunable(*printed) for name, printed in PAPERS.items()}
    claims_before: ClassVar[dict[str, Judge]] = {name: prunable_before(*printed) for name, printed in PAPERS.items()}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        tests = curves(rows)
        found = {"pruning": mean_and_error(tests, CURVE), "paired": paired_pruned(tests)}
        return found | sensitivity.tables(rows)

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {"pruning": figure(mean_and_error(curves(rows), CURVE))} | sensitivity.figures(rows, UNIT)

    def headline(self, rows: pd.DataFrame) -> float:
        """The share of the weights that has to stay; in the tuned networks if both recipes ran."""
        shares = next(found for r in (TUNED, STATED) if len(found := prunable_shares(rows, r)))
        return float(1 - shares.mean().mean())

    def error(self, rows: pd.DataFrame) -> float:
        """Of the tuned networks if both recipes ran."""
        tests = curves(rows)
        return mean_test_error(tests[tests.recipe == TUNED] if (tests.recipe == TUNED).any() else tests)

    def curve(self, rows: pd.DataFrame) -> dict:
        def title(panel: pd.Series) -> str:
            return f"{panel.active_share:.0%} of the features active"

        return interactive.plot(mean_and_error(curves(rows), CURVE), ["active_share"], UNIT, title, of="data set")


def paired_pruned(tests: pd.DataFrame) -> pd.DataFrame:
    """Test error of sBNN pruned by inclusion less that of all else at the same droprate, and less its own in full."""
    lines = []
    recipes = tests[tests.method == SBNN.name]["recipe"].unique()
    for (share, here), recipe in ((group, r) for group in tests.groupby("active_share") for r in recipes):
        found = here[(here.method != SBNN.name) | (here.recipe == recipe)]
        curves = found.pivot_table(index="replicate", columns=["method", "recipe", "score", "droprate"], values="value")
        own = (SBNN.name, recipe, SBNN.score)
        ours = curves[own]
        others = [key for key in curves.columns.droplevel("droprate").unique() if key != own]
        for droprate in ours:
            line = {"active_share": share, "recipe": recipe, "droprate": droprate, "datasets": len(ours)}
            line["less full"] = paired(ours[droprate], ours[0.0]) if droprate else None
            line |= {
                f"less {called(m, '')}, {s}": paired(ours[droprate], curves[m, r, s, droprate]) for m, r, s in others
            }
            lines.append(line)
    return pd.DataFrame(lines)


def figure(table: pd.DataFrame) -> Figure:
    """Test error by weights left: a column of panels per active share, a row per recipe; rivals by their own score."""
    tenths = (10 * table.droprate % 1).round(6).isin([0, 1])
    table = table[tenths | (table.droprate >= 0.9)]  # all of them would hide each other
    shares = sorted(table.active_share.unique())
    recipes = [r for r in RECIPES if r in set(table.recipe)]
    drawn, axes = panels(len(shares), len(recipes), sharey=True, sharex=True)
    for number, ax in enumerate(axes):
        recipe, share = recipes[number // len(shares)], shares[number % len(shares)]
        here = table[table.active_share == share]
        here = pd.concat([here[here.recipe == recipe], by_own_score(here[here.method != SBNN.name])])
        for (method, score), curve in here.groupby(["method", "score"], sort=False):
            line(ax, left(curve), "left", look(method), f"{method} by {score}", **by_score(score), markersize=3)
        ax.set(title=f"{called(SBNN.name, recipe)}, {share:.0%} of features active")
        weights_left(ax, table.droprate, label="weights left, %" if recipe == recipes[-1] else "")
    for ax in axes[:: len(shares)]:
        ax.set(ylabel=UNIT, ylim=(0, None))
    legend_below(drawn, axes, columns=5)
    return drawn


REPORT = SimulatedPruning()
