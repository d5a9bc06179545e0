"""Experiment 1: does the relevance of a feature follow its true influence on the target?"""

import pandas as pd
from omegaconf import DictConfig

from sbnn.compression.relevance import psi
from sbnn.data.simulated import pair
from sbnn.experiments.simulated import crossed, replicas, seeds
from sbnn.model.methods import fit
from sbnn.networks import mlp
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows
from sbnn.runs.settings import check_numbers


def check(cfg: DictConfig) -> None:
    check_numbers(cfg, "vary.alpha", "[0, 1]")


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    settings = crossed(cfg, [{"alpha": alpha} for alpha in cfg.vary.alpha])
    n = cfg.data.observations
    datasets, data, _ = replicas(run, lambda s, seed: pair(n, s["alpha"], seed, *s.values()), settings, n)
    model = fit(run, "sBNN", mlp(2, cfg.network.hidden), data, cfg, seeds(run, "sBNN", settings), "sBNN")
    relevance = psi(model.layout, model.inclusion())

    y = datasets.y.squeeze(-1)  # (R, n)
    without = y - datasets.beta[:, 1:] * datasets.x[..., 1]
    influence = 1 - without.square().sum(1) / y.square().sum(1)

    rows = Rows(cfg.name, "pair")
    rows.add(settings, "influence", influence)
    for j in (1, 2):
        rows.add(settings, f"psi_{j}", relevance[:, j - 1], method="sBNN")
    rows.add(settings, "train_mse", model.errors(data).square(), method="sBNN")
    return rows.table()
