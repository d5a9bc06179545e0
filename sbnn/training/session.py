"""Where fits are made: the device, its precision, who else takes part, and where progress is shown and kept."""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from tqdm import tqdm

from sbnn.training.checkpoint import Checkpoint
from sbnn.training.distributed import World
from sbnn.training.history import History


@dataclass(frozen=True)
class Session:
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    dtype: torch.dtype = torch.float32
    progress: bool = False  # show bars
    chunk: int = 100  # replicas trained at once
    checkpoints: Path | None = None  # a folder; None keeps none
    checkpoint_seconds: float = 60.0  # between two
    world: World = World()  # noqa: RUF009
    code: str = "unknown"  # a hash of the code that runs
    insists: bool = True  # a checkpoint that cannot be continued from is an error; else the fit starts again
    fit_seconds: dict[str, float] = field(default_factory=dict)  # by name of the fit, with earlier sittings
    histories: dict[str, History] = field(default_factory=dict)  # by name of the fit, all its chunks together
    resumed: list[str] = field(default_factory=list)  # names of the fits that were continued

    def checkpoint(self, name: str, fingerprint: str = "") -> Checkpoint:
        """Where a fit of that name keeps its state, which only a fit of the same fingerprint continues from."""
        path = self.checkpoints / f"{name}.pt" if self.checkpoints else None
        return Checkpoint(path, self.checkpoint_seconds, fingerprint, self.world.leads, self.code, not self.insists)

    def note(self, name: str, checkpoint: Checkpoint) -> None:
        """Keep what a fit that is over says of itself."""
        self.fit_seconds[name] = checkpoint.seconds
        if checkpoint.was_resumed:
            self.resumed.append(name)

    def bar(self, name: str, steps: int) -> tqdm:
        return tqdm(total=steps, desc=name, unit="step", disable=not self.progress, leave=True)
