"""Experiment 2: the correlation between relevance phi and effect size beta, and typical values of phi."""

import pandas as pd
import torch
from omegaconf import DictConfig

from sbnn.compression.relevance import phi, psi
from sbnn.data.simulated import ramp
from sbnn.experiments.simulated import crossed, replicas, seeds
from sbnn.model.methods import fit
from sbnn.networks import mlp
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows
from sbnn.runs.settings import check_numbers


def check(cfg: DictConfig) -> None:
    check_numbers(cfg, "vary.alpha", "(0, inf)")


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    """Both recipes train on the same datasets; only the scale of the target that the network sees differs."""
    n, features, active = cfg.data.observations, cfg.data.features, cfg.data.active_share
    cells = [{"alpha": a, "f": f} for f in cfg.vary.function for a in cfg.vary.alpha]
    rows = Rows(cfg.name, "ramp")
    for target in cfg.vary.target:
        settings = crossed(cfg, [{"recipe": target, **cell} for cell in cells])
        datasets, data, _ = replicas(
            run,
            lambda s, seed: ramp(n, features, s["alpha"], s["f"], active, seed, s["alpha"], s["f"], s["replicate"]),
            settings,
            n,
            standardise=target == "standardised",
        )
        network = mlp(features, cfg.network.hidden)
        model = fit(run, "sBNN", network, data, cfg, seeds(run, "sBNN", settings), f"sBNN, {target} y")
        relevance = phi(psi(model.layout, model.inclusion()))  # (R, D)
        rows.add(settings, "correlation", correlation(relevance, datasets.beta), method="sBNN")
        rows.add(settings, "train_mse", model.errors(data).square(), method="sBNN")
        for j in range(features):
            rows.add([{**s, "feature": j + 1} for s in settings], "phi", relevance[:, j], method="sBNN")
    return rows.table()


def correlation(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """Pearson's, row by row, (R,)."""
    a, b = a - a.mean(1, keepdim=True), b - b.mean(1, keepdim=True)
    return (a * b).sum(1) / (a.norm(dim=1) * b.norm(dim=1))
