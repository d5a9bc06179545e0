"""What the four simulated experiments share: draw datasets, make replicas of them, check their keys."""

from collections.abc import Callable, Sequence

import torch
from omegaconf import DictConfig

from sbnn.data.replicas import ReplicaData
from sbnn.data.simulated import Simulated
from sbnn.runs.context import Run
from sbnn.streams import seed_of

Settings = dict[str, object]  # one dataset's setting columns, replicate included


def crossed(cfg: DictConfig, settings: Sequence[Settings]) -> list[Settings]:
    """Every setting with every replicate."""
    return [{**s, "replicate": r} for s in settings for r in range(cfg.data.replicates)]


def replicas(
    run: Run,
    draw: Callable[[Settings, int], Simulated],
    settings: list[Settings],
    train_rows: int,
    standardise: bool = True,
) -> tuple[Simulated, ReplicaData, ReplicaData]:
    """One replica per setting: the datasets, the training rows (target standardised) and the other rows."""
    datasets = Simulated.stack([draw(s, run.seed) for s in settings]).to(run.device, run.dtype)
    index = torch.arange(datasets.x.shape[1], device=run.device).expand(len(settings), -1)
    source = torch.arange(len(settings), device=run.device)
    data = ReplicaData(datasets.x, datasets.y, source, index[:, :train_rows])
    data = data.standardised(inputs=False, target=standardise)
    return datasets, data, data.at(index[:, train_rows:])


def train_rows(cfg: DictConfig) -> int:
    """How many of a dataset's rows train; at least one is left to test on."""
    return min(round(cfg.data.observations * cfg.data.train_share), cfg.data.observations - 1)


def seeds(run: Run, method: str, settings: list[Settings]) -> list[int]:
    """A replica's stream is named by what it is, so no number depends on what it is trained beside."""
    return [seed_of(run.seed, method, *(part for pair in s.items() for part in pair)) for s in settings]
