"""Experiment 2: does relevance rank features by the size of their effect?"""

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.simulated import LABELS
from sbnn.report.statistics import in_deviations, mean_and_error, student
from sbnn.report.style import BLUE, VERMILLION, panels

LOW, HIGH = 0.90, 0.95  # the paper's range
GRID = np.linspace(0, 1, 200)
FUNCTIONS = {"linear": "f(x) = x", "nonlinear": "f(x) = exp|x| − 2x + sin 2πx"}
COLOURS = (VERMILLION, BLUE)  # of the two functions, and of the two ends of alpha


def of_scale(rows: pd.DataFrame, scale: str) -> pd.DataFrame:
    """The rows of networks that saw y on one scale."""
    return rows[rows.recipe == scale]


def both_scales(judge: Judge) -> Judge:
    """Judged by raw y: the paper standardises nothing. What y standardised says stands beside it."""

    def find(rows: pd.DataFrame) -> Finding:
        raw, other = (judge(of_scale(rows, scale)) for scale in ("raw", "standardised"))
        if not raw.holds:
            return raw
        beside = f"; standardised y: {other.text} ({other.verdict})" if other.holds else ""
        return replace(raw, ours=f"raw y: {raw.text}{beside}", margin=None)

    return find


def standardised(judge: Judge) -> Judge:
    return lambda rows: judge(of_scale(rows, "standardised"))


def every_cell_correlates(rows: pd.DataFrame, high: float = HIGH) -> Finding:
    found = rows[rows.metric == "correlation"]
    cells, by = mean_and_error(found, ["f", "alpha"]), found.groupby(["f", "alpha"])["value"]
    if set(cells.f) != set(FUNCTIONS):
        return LEFT_OUT
    worst, best = (cells.loc[i] for i in (cells["mean"].idxmin(), cells["mean"].idxmax()))
    above = int((cells["mean"] > high).sum())
    ours = f"{worst['mean']:.3f} to {best['mean']:.3f}; lowest for {worst.f} f, alpha = {worst.alpha:g}"
    ours += f"; above the range in {above} of {len(cells)} cells" if above else ""
    margins = [
        in_deviations(by.get_group((worst.f, worst.alpha)) - LOW),
        in_deviations(high - by.get_group((best.f, best.alpha))),
    ]
    holds = [bool((g["mean"] >= LOW).all()) for _, g in cells.groupby("f")]
    if high < 1:  # what falls short of the range is not within it either
        holds += [bool(g["mean"].between(LOW, high).all()) for _, g in cells.groupby("f")]
    return Finding(ours, worst.se, holds, "", worst["mean"] - LOW, int(worst.replicates), margins)


def linear_is_steadier(rows: pd.DataFrame) -> Finding:
    found = rows[rows.metric == "correlation"]
    by_f = found.groupby("f")["value"]
    if set(by_f.groups) != set(FUNCTIONS):
        return LEFT_OUT
    mean = by_f.mean()
    sd = found.groupby(["f", "alpha"])["value"].std().groupby("f").mean()  # over datasets, within a cell
    ours = f"mean {mean.linear:.3f} vs {mean.nonlinear:.3f}; sd {sd.linear:.3f} vs {sd.nonlinear:.3f}"
    se = float((by_f.sem() ** 2).sum() ** 0.5)  # of the difference of the means
    means = found.pivot_table(index="replicate", columns="f", values="value")  # over alphas
    holds = [mean.linear > mean.nonlinear, sd.linear < sd.nonlinear]
    return Finding(ours, se, holds, margins=[in_deviations(means.linear - means.nonlinear)])


def skewness_flips(rows: pd.DataFrame, bound: Callable[[int], float] = student) -> Finding:
    """Standardising y removes what alpha does, for the noise is negligible throughout."""
    phis = rows[(rows.metric == "phi") & (rows.f == "nonlinear")]
    found = phis.groupby(["alpha", "replicate"])["value"].skew().reset_index()
    skews = found.pivot_table(index="replicate", columns="alpha", values="value")
    if skews.shape[1] < 2:
        return LEFT_OUT
    small, large = skews.iloc[:, 0].dropna(), skews.iloc[:, -1].dropna()
    holds = [
        small.mean() + bound(len(small)) * small.sem() < 0,
        large.mean() - bound(len(large)) * large.sem() > 0,
    ]
    margins = [in_deviations(-small, beyond_noise=True), in_deviations(large, beyond_noise=True)]
    ours = f"skewness {small.mean():+.2f} to {large.mean():+.2f}"
    return Finding(ours, max(small.sem(), large.sem()), holds, margins=margins)


class SimulatedCorrelation(Report):
    claims: ClassVar[dict[str, Judge]] = {
        "2a": both_scales(every_cell_correlates),
        "2b": both_scales(linear_is_steadier),
        "2c": both_scales(skewness_flips),
    }
    claims_before: ClassVar[dict[str, Judge]] = {
        "2a": standardised(partial(every_cell_correlates, high=1.0)),
        "2b": standardised(linear_is_steadier),
        "2c": lambda rows: skewness_flips(of_scale(rows, "raw"), lambda replicates: 2.0),
    }

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        found, by = rows[rows.metric == "correlation"], ["recipe", "f", "alpha"]
        return {"correlation": mean_and_error(found, by).assign(sd=found.groupby(by)["value"].std().to_numpy())}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {"correlation": boxes(rows), "phi_density": densities(rows)}

    def headline(self, rows: pd.DataFrame) -> float:
        """What correlations lack to 1."""
        found = rows[rows.metric == "correlation"]
        return float(1 - of_scale(found, "standardised")["value"].mean())


def shown(rows: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Functions, in the columns of both figures, and recipes, in their rows."""
    found = rows[rows.metric == "correlation"]
    return [f for f in FUNCTIONS if f in set(found.f)], sorted(found.recipe.unique(), reverse=True)


def boxes(rows: pd.DataFrame) -> Figure:
    """Correlation of phi and beta by alpha."""
    functions, recipes = shown(rows)
    figure, axes = panels(len(functions), len(recipes), sharey=True, sharex=True)
    for ax, (recipe, f) in zip(axes, itertools.product(recipes, functions), strict=True):
        found = rows[(rows.metric == "correlation") & (rows.f == f) & (rows.recipe == recipe)]
        groups = [(alpha, g["value"]) for alpha, g in found.groupby("alpha")]
        ax.boxplot(
            [values for _, values in groups], manage_ticks=False, patch_artist=True,
            boxprops={"facecolor": COLOURS[functions.index(f)], "alpha": 0.5},
        )  # fmt: skip
        ax.set_xticks(range(1, len(groups) + 1), [f"{alpha:g}" for alpha, _ in groups])
        ax.axhspan(LOW, HIGH, color="#999999", alpha=0.25, lw=0, label="the paper's range")
        ax.set_title(f"{FUNCTIONS[f]}, {recipe} y")
    for ax in axes[-len(functions) :]:
        ax.set_xlabel(LABELS["alpha"])
    for ax in axes[:: len(functions)]:
        ax.set_ylabel(r"correlation of $\phi$ and $\beta$")
    axes[0].legend(loc="lower left")
    return figure


def densities(rows: pd.DataFrame) -> Figure:
    """Densities of phi at the two ends of alpha."""
    functions, recipes = shown(rows)
    figure, axes = panels(len(functions), len(recipes), sharey="row", sharex=True)
    for ax, (recipe, f) in zip(axes, itertools.product(recipes, functions), strict=True):
        phis = rows[(rows.metric == "phi") & (rows.f == f) & (rows.recipe == recipe)]
        for alpha, colour, dash in zip((phis.alpha.min(), phis.alpha.max()), COLOURS, ("-", "--"), strict=True):
            values = phis[phis.alpha == alpha]["value"].to_numpy()
            ax.plot(GRID, density(values, GRID), dash, color=colour, label=rf"$\alpha$ = {alpha:g}")
        ax.set_title(f"{FUNCTIONS[f]}, {recipe} y")
    for ax in axes:
        ax.set_ylim(0, None)  # after all are drawn: rows share it
    for ax in axes[-len(functions) :]:
        ax.set_xlabel(r"relevance $\phi$")
    for ax in axes[:: len(functions)]:
        ax.set_ylabel("density")
    axes[0].legend()
    return figure


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density on [0, 1], mirrored at the ends so that no mass leaks out; Scott's bandwidth."""
    width = max(values.std() * len(values) ** -0.2, 1e-3)
    mirrored = np.concatenate([values, -values, 2 - values])
    kernels = np.exp(-0.5 * ((grid[:, None] - mirrored) / width) ** 2)
    return kernels.sum(1) / (len(values) * width * np.sqrt(2 * np.pi))


REPORT = SimulatedCorrelation()
