"""What tables and judges of Experiment 5 start from: our means over the splits, and what others published."""

import math
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sbnn.model.methods import SBNN
from sbnn.report.cells import Published
from sbnn.report.statistics import mean_and_error

PAPER = Path(__file__).with_name("paper")
# The paper's two tables, and the dropout authors' own re-run of 2018. `spread` is as published: the standard error,
# except for SVBNN and HS-BNN, where it seems to be the standard deviation. On protein the rivals have 100 units, the
# paper 50.
PUBLISHED = pd.read_csv(PAPER / "uci.csv", dtype={"rmse": str, "spread": str}).fillna({"spread": ""})
FIGURES = {(p.dataset, p.method, p.droprate): Published(p.rmse, p.spread) for p in PUBLISHED.itertuples()}
RIVALS = pd.read_csv(PAPER / "uci_rivals.csv").set_index("method")
OVERLAP = 1 / 9  # of the benchmark's splits: rows tested on over rows trained on
DECIMALS = {"kin8nm": 3, "naval": 4}  # where two would hide all there is to see
CURVE = ["dataset", "hidden", "method", "recipe", "score", "droprate"]


class Network(NamedTuple):
    """A dataset of the benchmark and the units of the network trained on it; None if it was not run."""

    dataset: str
    hidden: int | None


class Estimate(NamedTuple):
    """A mean over the splits, its standard error, and how many there are."""

    mean: float
    se: float
    splits: int

    def below(self, limit: float) -> float:
        """How far it is below a limit, in standard deviations over the splits."""
        deviation = self.se * math.sqrt(self.splits)
        return (limit - self.mean) / deviation if deviation > 0 else math.nan


def papers_width(dataset: str) -> int:
    """Hidden units of the paper's network."""
    return 100 if dataset == "year" else 50


def summary(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean and standard error over the splits, along every pruning curve."""
    return mean_and_error(rows[rows.metric == metric], CURVE)


def estimates(rows: pd.DataFrame) -> dict[tuple, Estimate]:
    """Mean RMSE and its standard error by the values of CURVE."""
    found = summary(rows, "rmse")
    keys = found[CURVE].itertuples(index=False, name=None)
    return {
        key: Estimate(*line) for key, *line in zip(keys, found["mean"], found["se"], found["replicates"], strict=True)
    }


def published(dataset: str, method: str, droprate: float = 0.0) -> Published | None:
    return FIGURES.get((dataset, method, droprate))


def papers(network: Network, droprate: float) -> Published | None:
    """The paper's RMSE, for networks as wide as its own, and for those that were not run."""
    as_wide = network.hidden in (None, papers_width(network.dataset))
    return published(network.dataset, SBNN.name, droprate) if as_wide else None


def papers_curve(network: Network) -> dict[float, float]:
    """The paper's RMSE by droprate; empty for networks of another width."""
    found = {droprate: papers(network, droprate) for droprate in PUBLISHED.droprate.unique()}
    return {droprate: figure.value for droprate, figure in found.items() if figure is not None}
