"""Experiment 4: how much of a trained network can be pruned when few, half or most features are active?"""

import pandas as pd

from sbnn.compression.pruning import droprate_curve
from sbnn.data.simulated import Simulated, ramp
from sbnn.experiments.simulated import DATA, Cell, crossed, parts, replicas, seeds
from sbnn.model.methods import BBB, NN, SBNN
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import SimulatedRun
from sbnn.training.fitting import Start

USES = (
    *(key for key in DATA if key != "data.active_share"), "vary.active_share", "network.hidden", "network.leave_out",
    "prior.log_decay", "likelihood", "droprates", "scores", "pruning",
)  # fmt: skip
IDENTITY = ("active_share", "D", "alpha", "f", "replicate")


def check(settings: SimulatedRun) -> None:
    """It has no keys that the common checks do not cover."""


def run(settings: SimulatedRun, context: Context) -> pd.DataFrame:
    d = settings.data
    fixed = {"D": d.features, "alpha": d.alpha, "f": d.function}
    cells = crossed(settings, [{"active_share": share, **fixed} for share in settings.vary.active_share])

    def draw(cell: Cell) -> Simulated:
        own = cell["active_share"], settings.seed, *parts(cell, *IDENTITY)
        return ramp(d.observations, d.features, d.alpha, d.function, *own)

    _, data, test = replicas(context, draw, cells, d.train_rows)
    rows = Rows(settings.name, "ramp")
    for method in (SBNN, BBB, NN):
        start = Start(method, mlp(d.features, settings.network.hidden), settings.model)
        model = context.fit(start, data, settings, seeds(settings, method.name, cells, *IDENTITY), method.name)
        for score in method.offered(settings.scores):
            for part, rest in (("train", data), ("test", test)):
                curve = droprate_curve(model, rest, settings.droprates, score, settings.pruning)
                for droprate, errors in zip(settings.droprates, curve, strict=True):
                    where = {"method": method.name, "score": score, "droprate": droprate}
                    rows.add(cells, f"{part}_mse", errors.square(), **where)
    return rows.table()
