"""Where fits are made: the device, its precision, who else takes part, and where progress is shown and kept."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from tqdm import tqdm

from sbnn.training.checkpoint import Checkpoint
from sbnn.training.distributed import World


@dataclass(frozen=True)
class Session:
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32
    progress: bool = False  # show bars
    chunk: int = 100  # replicas trained at once
    checkpoints: Path | None = None  # a folder; None keeps none
    checkpoint_seconds: float = 60.0  # between two
    world: World = World()  # noqa: RUF009
    fit_seconds: list[float] = field(default_factory=list)  # of every fit, of earlier sittings too

    def checkpoint(self, name: str, fingerprint: str = "") -> Checkpoint:
        """Where a fit of that name keeps its state, which only a fit of the same fingerprint continues from."""
        path = self.checkpoints / f"{name}.pt" if self.checkpoints else None
        return Checkpoint(path, self.checkpoint_seconds, fingerprint, self.world.leads)

    def bar(self, name: str, steps: int) -> tqdm:
        return tqdm(total=steps, desc=name, unit="step", disable=not self.progress, leave=True)
