"""Experiment 1: does the relevance of a feature follow its true influence on the target?"""

import pandas as pd

from sbnn.compression.relevance import psi
from sbnn.data.simulated import Simulated, pair
from sbnn.errors import ConfigError
from sbnn.experiments.simulated import Cell, crossed, parts, replicas, seeds
from sbnn.model.methods import SBNN
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import SimulatedRun
from sbnn.training.fitting import Start

USES = ("vary.alpha", "network.hidden", "likelihood")
IDENTITY = ("alpha", "replicate")


def check(settings: SimulatedRun) -> None:
    if beyond := [alpha for alpha in settings.vary.alpha if alpha > 1]:
        raise ConfigError(f"vary.alpha={beyond[0]:g} must be a number in [0, 1].")


def run(settings: SimulatedRun, context: Context) -> pd.DataFrame:
    cells, n = crossed(settings, [{"alpha": alpha} for alpha in settings.vary.alpha]), settings.data.observations

    def draw(cell: Cell) -> Simulated:
        return pair(n, cell["alpha"], settings.seed, *parts(cell, *IDENTITY))

    datasets, data, _ = replicas(context, draw, cells, n)
    start = Start(SBNN, mlp(2, settings.network.hidden), settings.model)
    model = context.fit(start, data, settings, seeds(settings, SBNN.name, cells, *IDENTITY), SBNN.name)
    relevance = psi(model.layout, model.inclusion())

    y = datasets.y.squeeze(-1)  # (R, n)
    without = y - datasets.beta[:, 1:] * datasets.x[..., 1]
    influence = 1 - without.square().sum(1) / y.square().sum(1)

    rows = Rows(settings.name, "pair")
    rows.add(cells, "influence", influence)
    for j in (1, 2):
        rows.add(cells, f"psi_{j}", relevance[:, j - 1], method=SBNN.name)
    rows.add(cells, "train_mse", model.errors(data).square(), method=SBNN.name)
    return rows.table()
