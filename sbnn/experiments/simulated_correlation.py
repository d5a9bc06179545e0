"""Experiment 2: the correlation between relevance phi and effect size beta, and typical values of phi."""

import pandas as pd
import torch

from sbnn.compression.relevance import phi, psi
from sbnn.data.simulated import Simulated, ramp
from sbnn.experiments.simulated import Cell, check_alphas, crossed, parts, replicas, seeds
from sbnn.model.methods import SBNN
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import SimulatedRun
from sbnn.training.fitting import Start

USES = (
    "vary.alpha", "vary.function", "vary.target", "data.features", "data.active_share", "network.hidden", "likelihood",
)  # fmt: skip
IDENTITY = ("alpha", "f", "replicate")


def check(settings: SimulatedRun) -> None:
    check_alphas(settings)


def run(settings: SimulatedRun, context: Context) -> pd.DataFrame:
    """Both recipes train on the same datasets; only the scale of the target that the network sees differs."""
    n, features, active = settings.data.observations, settings.data.features, settings.data.active_share
    cells = [{"alpha": a, "f": f} for f in settings.vary.function for a in settings.vary.alpha]
    rows = Rows(settings.name, "ramp")

    def draw(cell: Cell) -> Simulated:
        return ramp(n, features, cell["alpha"], cell["f"], active, settings.seed, *parts(cell, *IDENTITY))

    for target in settings.vary.target:
        own = crossed(settings, [{"recipe": target, **cell} for cell in cells])
        datasets, data, _ = replicas(context, draw, own, n, standardise=target == "standardised")
        start = Start(SBNN, mlp(features, settings.network.hidden), settings.model)
        streams = seeds(settings, SBNN.name, own, "recipe", *IDENTITY)
        model = context.fit(start, data, settings, streams, f"{SBNN.name}, {target} y")
        relevance = phi(psi(model.layout, model.inclusion()))  # (R, D)
        rows.add(own, "correlation", correlation(relevance, datasets.beta), method=SBNN.name)
        rows.add(own, "train_mse", model.errors(data).square(), method=SBNN.name)
        for j in range(features):
            rows.add([{**cell, "feature": j + 1} for cell in own], "phi", relevance[:, j], method=SBNN.name)
    return rows.table()


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pearson's, row by row, (R,)."""
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
