"""Errors on images as weights are pruned: what the reports of all image experiments share."""

import math

import numpy as np
import pandas as pd

from sbnn.report.cells import Measured, Published
from sbnn.report.names import by_own_score, called, order
from sbnn.report.statistics import in_deviations, times
from sbnn.report.style import DASHES

NETWORK = ["method", "recipe", "network", "width", "augmentation", "epochs"]
# metrics of some of the weights, and of networks that were pruned by units
NOT_OF_THE_WHOLE = ("inclusion_below", "kept", "gradual_kept", "units", "unit_error", "unit_kept")
LABEL = UNIT = "test error, %"  # of figures, of the interactive plot


def curves(rows: pd.DataFrame, metric: str = "error") -> pd.DataFrame:
    """One line per network, score and droprate: `mean` error in per cent over seeds, and its standard error.

    That is over seeds where there are several, else over images.
    """
    found = rows[rows.metric == metric]
    alike = [column for column in found if column not in ("replicate", "value")]
    groups = found.groupby(alike, sort=False, dropna=False)["value"]
    found = groups.agg(mean="mean", over_seeds="sem", seeds="size").reset_index()
    over_images = np.sqrt(found["mean"] * (1 - found["mean"]) / found["measured"])
    se = found.over_seeds.where(found.seeds > 1, over_images)
    return found.assign(mean=100 * found["mean"], se=100 * se).sort_values("droprate", kind="stable")


class Curve:
    """One network as it is pruned by one score: errors in per cent, and their standard errors over images."""

    def __init__(self, rows: pd.DataFrame):
        errors, switched = curves(rows), rows[rows.metric == "switched"]
        self.error = {d: round(e, 2) for d, e in zip(errors.droprate, errors["mean"], strict=True)}
        self.spread = dict(zip(errors.droprate, errors.se, strict=True))
        self.switched = switched.groupby("droprate").value.mean().to_dict()
        self.se = self.spread.get(0.0)
        self.epochs, self.images = (None, None) if errors.empty else errors[["epochs", "measured"]].iloc[0]
        found = rows[rows.metric == "error"].assign(replicate=rows.get("replicate", 0))  # a line a seed
        self.seeds = 100 * found.pivot_table(index="replicate", columns="droprate", values="value")
        self.trained = "" if errors.empty else times(errors)

    def has(self, *droprates: float) -> bool:
        return all(droprate in self.error for droprate in droprates)

    def rise(self, droprate: float) -> float:
        """In points, to the paper's two decimals."""
        return round(self.error[droprate] - self.error[0.0], 2)

    def rise_error(self, droprate: float) -> float:
        """From the images on which pruning changed the answer; without these, as if others had been measured."""
        if droprate not in self.switched:
            return math.hypot(self.spread[droprate], self.spread[0.0])
        return 100 * math.sqrt(max(0.0, self.switched[droprate] - (self.rise(droprate) / 100) ** 2) / self.images)

    def relative_rise(self, droprate: float) -> float:
        return self.rise(droprate) / (self.error[0.0] or math.nan)  # few images may all be labelled rightly

    def relative_error(self, droprate: float) -> float:
        """Standard error of the relative rise, to first order in those of both errors and of their difference."""
        full, rise = self.error[0.0], self.relative_rise(droprate)
        before, after = self.spread[0.0] ** 2, self.spread[droprate] ** 2
        between = (before + after - self.rise_error(droprate) ** 2) / 2
        return math.sqrt(max(0.0, after + (1 + rise) ** 2 * before - 2 * (1 + rise) * between)) / (full or math.nan)

    def below(self, limit: float, droprate: float) -> float:
        """How far the error is below a limit, in standard deviations over seeds."""
        return in_deviations(limit - self.seeds[droprate])

    def rise_below(self, limit: float, droprate: float) -> float:
        """The same of the rise above the full network's error."""
        return in_deviations(limit - (self.seeds[droprate] - self.seeds[0.0]))

    def relative_rises(self, droprate: float) -> pd.Series:
        """Of every seed."""
        return self.seeds[droprate] / self.seeds[0.0] - 1

    def change(self, droprate: float) -> str:
        return f"{self.error[0.0]:.2f} % to {self.error[droprate]:.2f} %"


def in_order(found: pd.DataFrame) -> pd.DataFrame:
    """Plain images first, then method by method and recipe by recipe, the method's own score first."""
    augmented = found.augmentation != "none" if "augmentation" in found else np.zeros(len(found), bool)
    lines = zip(augmented, found.method, found.recipe, found.score, strict=True)
    keys = [(more, order(method, recipe), list(DASHES).index(score)) for more, method, recipe, score in lines]
    return found.iloc[sorted(range(len(found)), key=keys.__getitem__)]


def own_curves(rows: pd.DataFrame, metric: str = "error") -> pd.DataFrame:
    """The curves of methods ranked by their own score."""
    return in_order(by_own_score(curves(rows, metric)))


def named(row: pd.Series) -> str:
    """A method by recipe, with what its numbers depend on: epochs, and augmentation if there is any."""
    treatment = "" if row.augmentation == "none" else f", {row.augmentation}"
    return f"{called(row.method, row.recipe)}{treatment} ({row.epochs} epochs)"


def cell(row: pd.Series, published: Published | None = None) -> Measured:
    return Measured(row["mean"], row.se, published=published)


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Error, likelihood and calibration along every curve; `sampled_` is the posterior predictive's."""
    index = [c for c in (*NETWORK, "weights", "images", "measured", "score", "droprate") if c in rows]
    metrics = [m for m in rows[rows.droprate.notna()].metric.unique() if m not in NOT_OF_THE_WHOLE]
    table = rows[rows.metric.isin(metrics)].pivot_table(index=index, columns="metric", values="value", sort=True)
    return table[metrics].reset_index()
