"""Experiment 2: the correlation between relevance phi and effect size beta, and typical values of phi."""

import pandas as pd
import torch
from omegaconf import DictConfig

from sbnn.config import check_positive
from sbnn.data.simulated import ramp
from sbnn.experiments.simulated import crossed, replicas, seeds
from sbnn.methods import fit
from sbnn.networks import mlp
from sbnn.relevance import phi, psi
from sbnn.report.rows import Rows
from sbnn.run import Run


def check(cfg: DictConfig) -> None:
    check_positive(cfg, "vary.alpha")


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    features = cfg.data.features
    settings = crossed(cfg, [{"alpha": a, "f": f} for f in cfg.vary.function for a in cfg.vary.alpha])
    datasets, data, _ = replicas(
        run,
        cfg,
        lambda s, seed: ramp(cfg.data.observations, features, s["alpha"], s["f"], 1.0, seed, *s.values()),
        settings,
        train_share=1.0,
    )
    model = fit(run, "sBNN", mlp(features, cfg.network.hidden), data, cfg, seeds(run, "sBNN", settings), "sBNN")
    relevance = phi(psi(model.layout, model.inclusion()))  # (R, D)

    rows = Rows(cfg.name, "ramp")
    rows.add(settings, "correlation", correlation(relevance, datasets.beta), method="sBNN")
    rows.add(settings, "train_mse", model.errors(data).square(), method="sBNN")
    for j in range(features):
        rows.add([{**s, "feature": j + 1} for s in settings], "phi", relevance[:, j], method="sBNN")
    return rows.table()


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pearson's, row by row, (R,)."""
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
