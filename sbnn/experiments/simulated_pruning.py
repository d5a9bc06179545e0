"""Experiment 4: how much of a trained network can be pruned when few, half or most features are active?

And how far that hangs on where the weights start and on how narrow the spike is.
"""

from collections.abc import Iterator, Sequence
from itertools import product

import pandas as pd

from sbnn.compression.pruning import droprate_curve
from sbnn.data.replicas import ReplicaData
from sbnn.data.simulated import Simulated, ramp
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import OF_THE_PAPER, OURS, changed, check_recipes, recipes
from sbnn.experiments.simulated import DATA, Cell, crossed, parts, replicas, seeds
from sbnn.model.fit import Fit
from sbnn.model.methods import BBB, NN, SBNN, Method
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import SimulatedRun
from sbnn.training.fitting import Start
from sbnn.training.schedule import Plan

USES = (
    *DATA, "vary.active_share", "vary.mean_scale", "vary.log_tau0", "network.hidden", "network.leave_out",
    "prior.log_decay", "likelihood", "recipe", "recipes", "rivals", "droprates", "scores", "pruning",
)  # fmt: skip
IDENTITY = ("active_share", "D", "alpha", "f", "replicate")
RIVALS = [BBB.name, NN.name]
STATED = OF_THE_PAPER[0]  # the recipe that the grid varies


def check(settings: SimulatedRun) -> None:
    if unknown := [name for name in settings.rivals if name not in RIVALS]:
        raise ConfigError(f"rivals={unknown[0]} is not of this experiment; choose one of {', '.join(RIVALS)}.")
    check_recipes(settings, check_plan)
    scales, spikes = settings.vary.mean_scale, settings.vary.log_tau0
    if bool(scales) != bool(spikes):
        there, missing = ("mean_scale", "log_tau0") if scales else ("log_tau0", "mean_scale")
        raise ConfigError(f"vary.{there} needs vary.{missing} too: the grid is made of both; or leave both empty.")
    for _, own in grid(settings):
        check_plan(SBNN, own)


def check_plan(method: Method, settings: SimulatedRun) -> None:
    """A recipe's steps can be made."""
    Plan(settings.trainer, method.prior(settings.prior), settings.data.train_rows)


def grid(settings: SimulatedRun) -> Iterator[tuple[Cell, SimulatedRun]]:
    """The recipe of the paper with other initial means and other spikes; sigma starts as wide as the spike."""
    stated = changed(settings, STATED)
    for mean_scale, log_tau0 in product(settings.vary.mean_scale, settings.vary.log_tau0):
        changes = {"init": {"mean_scale": mean_scale, "sigma": None}, "prior": {"log_tau0": log_tau0}}
        yield {"mean_scale": mean_scale, "log_tau0": log_tau0}, stated.changed(changes)


def run(settings: SimulatedRun, context: Context) -> pd.DataFrame:
    rows = Rows(settings.name, "ramp")
    data = Datasets(settings, context, settings.vary.active_share)
    for method, recipe, own in recipes(settings):
        label = f"{method.name} {recipe}" if method is SBNN else method.name
        model = data.fit(method, own, label)
        where = {"method": method.name, "recipe": recipe if method is SBNN else OURS}
        for score in method.offered(settings.scores):
            data.measure(rows, model, score, {"train_mse": data.train, "test_mse": data.test}, where)
    if cells := list(grid(settings)):
        data = Datasets(settings, context, [settings.data.active_share])
        for cell, own in cells:
            model = data.fit(SBNN, own, " ".join(["grid", *map(str, cell.values())]))
            where = {"method": SBNN.name, "recipe": STATED, **cell}
            data.measure(rows, model, SBNN.score, {"grid_test_mse": data.test}, where)
            rows.add(data.cells, "grid_slab", (model.inclusion() > 0.5).double().mean(1), **where)
    return rows.table()


class Datasets:
    """Those with some shares of active features, on which every method is trained."""

    def __init__(self, settings: SimulatedRun, context: Context, shares: Sequence[float]):
        self.settings, self.context, d = settings, context, settings.data
        fixed = {"D": d.features, "alpha": d.alpha, "f": d.function}
        self.cells = crossed(settings, [{"active_share": share, **fixed} for share in shares])

        def draw(cell: Cell) -> Simulated:
            own = cell["active_share"], settings.seed, *parts(cell, *IDENTITY)
            return ramp(d.observations, d.features, d.alpha, d.function, *own)

        _, self.train, self.test = replicas(context, draw, self.cells, d.train_rows)

    def fit(self, method: Method, settings: SimulatedRun, label: str) -> Fit:
        start = Start(method, mlp(settings.data.features, settings.network.hidden), settings.model)
        streams = seeds(settings, method.name, self.cells, *IDENTITY)
        return self.context.fit(start, self.train, settings, streams, label)

    def measure(self, rows: Rows, model: Fit, score: str, on: dict[str, ReplicaData], where: Cell) -> None:
        """The error at every droprate, by metric on the rows that it is of."""
        droprates, pruning = self.settings.droprates, self.settings.pruning
        for metric, measured in on.items():
            curve = droprate_curve(model, measured, droprates, score, pruning)
            for droprate, errors in zip(droprates, curve, strict=True):
                rows.add(self.cells, metric, errors.square(), score=score, droprate=droprate, **where)
