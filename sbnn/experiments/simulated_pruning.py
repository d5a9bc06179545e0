"""Experiment 4: how much of a trained network can be pruned when few, half or most features are active?"""

import pandas as pd
from omegaconf import DictConfig

from sbnn.compression.pruning import Pruning, droprate_curve
from sbnn.data.simulated import ramp
from sbnn.experiments.simulated import crossed, replicas, seeds, train_rows
from sbnn.model.methods import SCORES, fit
from sbnn.networks import mlp
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows


def check(cfg: DictConfig) -> None:
    """It has no keys that the common check does not cover."""


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    d = cfg.data
    settings = crossed(
        cfg, [{"active_share": s, "D": d.features, "alpha": d.alpha, "f": d.function} for s in cfg.vary.active_share]
    )
    _, data, test = replicas(
        run,
        lambda s, seed: ramp(d.observations, d.features, d.alpha, d.function, s["active_share"], seed, *s.values()),
        settings,
        train_rows(cfg),
    )
    rows = Rows(cfg.name, "ramp")
    for method in ("sBNN", "BbB", "NN"):
        network = mlp(d.features, cfg.network.hidden)
        model = fit(run, method, network, data, cfg, seeds(run, method, settings), method)
        for score in SCORES[method]:
            for part, rest in (("train", data), ("test", test)):
                curve = droprate_curve(model, rest, list(cfg.droprates), score, Pruning(**cfg.pruning))
                for droprate, errors in zip(cfg.droprates, curve, strict=True):
                    rows.add(settings, f"{part}_mse", errors.square(), method=method, score=score, droprate=droprate)
    return rows.table()
