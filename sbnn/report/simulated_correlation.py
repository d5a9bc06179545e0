"""Experiment 2: does relevance rank features by the size of their effect?"""

import itertools
from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.simulated import LABELS
from sbnn.report.statistics import mean_and_error
from sbnn.report.style import BLUE, VERMILLION, panels

GRID = np.linspace(0, 1, 200)
FUNCTIONS = {"linear": "f(x) = x", "nonlinear": "f(x) = exp|x| − 2x + sin 2πx"}
COLOURS = (VERMILLION, BLUE)  # of the two functions, and of the two ends of alpha


def correlations(rows: pd.DataFrame) -> pd.DataFrame:
    """The correlations that claims 2a and 2b are about."""
    return rows[(rows.metric == "correlation") & (rows.recipe == "standardised")]


def every_cell_correlates(rows: pd.DataFrame) -> Finding:
    cells = mean_and_error(correlations(rows), ["f", "alpha"])
    if set(cells.f) != set(FUNCTIONS):
        return LEFT_OUT
    worst = cells.loc[cells["mean"].idxmin()]
    ours = f"{cells['mean'].min():.3f} to {cells['mean'].max():.3f}; lowest for {worst.f} f, alpha = {worst.alpha:g}"
    holds = [bool((g["mean"] >= 0.90).all()) for _, g in cells.groupby("f")]
    return Finding(ours, worst.se, holds, margin=worst["mean"] - 0.90)


def linear_is_steadier(rows: pd.DataFrame) -> Finding:
    by_f = correlations(rows).groupby("f")["value"]
    if set(by_f.groups) != set(FUNCTIONS):
        return LEFT_OUT
    mean = by_f.mean()
    sd = correlations(rows).groupby(["f", "alpha"])["value"].std().groupby("f").mean()  # over datasets, within a cell
    ours = f"mean {mean.linear:.3f} vs {mean.nonlinear:.3f}; sd {sd.linear:.3f} vs {sd.nonlinear:.3f}"
    se = float((by_f.sem() ** 2).sum() ** 0.5)  # of the difference of the means
    return Finding(ours, se, [mean.linear > mean.nonlinear, sd.linear < sd.nonlinear])


def skewness_flips(rows: pd.DataFrame) -> Finding:
    """Judged on the raw target: standardising y removes what alpha does, for the noise is negligible throughout."""
    phis = rows[(rows.metric == "phi") & (rows.f == "nonlinear")]
    skews = phis.groupby(["recipe", "alpha", "replicate"])["value"].skew().groupby(["recipe", "alpha"])
    ends = {recipe: g.droplevel("recipe").iloc[[0, -1]] for recipe, g in skews.agg(["mean", "sem"]).groupby("recipe")}
    ours = "; ".join(
        f"{recipe} y: skewness {' to '.join(f'{m:+.2f}' for m in g['mean'])}" for recipe, g in sorted(ends.items())
    )
    if "raw" not in ends or ends["raw"].index.nunique() < 2:
        return LEFT_OUT
    small, large = ends["raw"].iloc[0], ends["raw"].iloc[1]
    holds = [small["mean"] + 2 * small["sem"] < 0, large["mean"] - 2 * large["sem"] > 0]
    return Finding(ours, max(small["sem"], large["sem"]), holds)


class SimulatedCorrelation(Report):
    claims: ClassVar[dict[str, Judge]] = {"2a": every_cell_correlates, "2b": linear_is_steadier, "2c": skewness_flips}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        found, by = rows[rows.metric == "correlation"], ["recipe", "f", "alpha"]
        return {"correlation": mean_and_error(found, by).assign(sd=found.groupby(by)["value"].std().to_numpy())}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {"correlation": boxes(rows), "phi_density": densities(rows)}

    def headline(self, rows: pd.DataFrame) -> float:
        """What correlations lack to 1."""
        return float(1 - correlations(rows)["value"].mean())


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
        ax.axhspan(0.90, 0.95, color="#999999", alpha=0.25, lw=0, label="the paper's range")
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
