"""Means, standard errors and paired differences of tidy rows."""

import math

import numpy as np
import pandas as pd
from scipy import stats

from sbnn.report.cells import Difference


def mean_and_error(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and number of replicates of `value`, per group."""
    groups = rows.groupby(by, sort=True, dropna=False)["value"]
    return groups.agg(mean="mean", se="sem", replicates="size").reset_index()


def times(curve: pd.DataFrame, of: str = "seed") -> str:
    """Over how many seeds, splits or data sets a curve is the mean, and how long they trained if it says so."""
    least, most = (int(f(curve["seeds" if "seeds" in curve else "replicates"])) for f in (min, max))
    number = f"{most}" if least == most else f"{least} to {most}"
    epochs = f", {curve.epochs.iloc[0]} epochs" if "epochs" in curve else ""
    return f"{number} {of}{'' if most == 1 else 's'}{epochs}"


def largest_droprate(curves: pd.DataFrame) -> pd.Series:
    """Up to where each line of a table with one column a droprate stays within 5 % of its full network's error."""
    within = curves.le(1.05 * curves[0.0], axis=0).cumprod(axis=1).astype(bool)
    return within.apply(lambda line: line.index[line].max(), axis=1)


def paired(ours: pd.Series, other: pd.Series, test_over_train: float = 0.0) -> Difference | None:
    """The mean difference between two series indexed by data set; None where fewer than two are in both.

    It is beyond noise by Student's two-sided 95 % bound. Random splits of one data set share most of their training
    rows: Nadeau and Bengio's standard error allows for that.
    """
    difference = (ours - other).dropna()
    if len(difference) < 2:
        return None
    mean, se = difference.mean(), difference.std() * math.sqrt(1 / len(difference) + test_over_train)
    return Difference(mean, se, bool(abs(mean) > student(len(difference)) * se))


def student(replicates: int | None) -> float:
    """Student's two-sided 95 % bound, in standard errors over so many replicates; 2 where these are not counted."""
    return 2.0 if replicates is None else float(stats.t.ppf(0.975, replicates - 1))


def in_deviations(distances: pd.Series | np.ndarray, beyond_noise: bool = False) -> float:
    """The mean distance to a limit, positive if it is met, in standard deviations over replicates.

    A limit that is to be met `beyond_noise` is Student's bound away.
    """
    values = np.asarray(distances, dtype=float)
    if len(values) < 2:
        return math.nan
    deviation, mean = values.std(ddof=1), values.mean()
    if deviation <= 1e-12 * (1 + abs(mean)):  # no more than rounding
        return math.copysign(math.inf, mean)
    return float(mean / deviation - beyond_noise * student(len(values)) / math.sqrt(len(values)))
