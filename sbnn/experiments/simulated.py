"""What the four simulated experiments share: draw datasets, make replicas of them, name their seeds."""

from collections.abc import Callable, Sequence

import torch

from sbnn.data.replicas import ReplicaData
from sbnn.data.simulated import Simulated
from sbnn.errors import ConfigError
from sbnn.runs.context import Context
from sbnn.runs.settings import SimulatedRun
from sbnn.streams import seed_of

Cell = dict[str, object]  # one dataset's setting columns, replicate included
DATA = ("data.train_share", "data.features", "data.alpha", "data.function", "data.active_share")


def check_alphas(settings: SimulatedRun) -> None:
    """An effect of beta_j = j / alpha asks for more than nothing."""
    if 0 in settings.vary.alpha:
        raise ConfigError("vary.alpha=0 must be a number in (0, inf).")


def crossed(settings: SimulatedRun, cells: Sequence[Cell]) -> list[Cell]:
    """Every cell with every replicate."""
    return [{**cell, "replicate": r} for cell in cells for r in range(settings.data.replicates)]


def parts(cell: Cell, *names: str) -> list[object]:
    """The parts of a cell that name its seed, in an order of their own: another column changes nothing."""
    return [cell[name] for name in names]


def replicas(
    context: Context, draw: Callable[[Cell], Simulated], cells: list[Cell], train_rows: int, standardise: bool = True
) -> tuple[Simulated, ReplicaData, ReplicaData]:
    """One replica per cell: the datasets, the training rows (target standardised) and the other rows."""
    datasets = Simulated.stack([draw(cell) for cell in cells]).to(context.device, context.dtype)
    index = torch.arange(datasets.x.shape[1], device=context.device).expand(len(cells), -1)
    source = torch.arange(len(cells), device=context.device)
    data = ReplicaData(datasets.x, datasets.y, source, index[:, :train_rows])
    data = data.standardised(inputs=False, target=standardise)
    return datasets, data, data.at(index[:, train_rows:])


def seeds(settings: SimulatedRun, label: str, cells: list[Cell], *names: str) -> list[int]:
    """A replica's stream is named by what it is, so that no number depends on what it is trained with."""
    named = ([part for name in names for part in (name, cell[name])] for cell in cells)
    return [seed_of(settings.seed, label, *own) for own in named]
