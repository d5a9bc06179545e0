"""A fit's state on disk: written whole or not at all, and read back without executing code."""

import math
import os
import time
from pathlib import Path

import torch
from torch import Tensor

from sbnn.errors import CheckpointError
from sbnn.model.fit import Fit
from sbnn.streams import Streams
from sbnn.training.optimizers import Optimizer
from sbnn.training.schedule import Plan


class TrainingState:
    """All that a fit needs in order to go on where it was: it is saved and restored as one."""

    def __init__(self, fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams):
        self.movable, self.buffers = optimizer.parameters, fit.buffers
        self.optimizer, self.plan, self.streams = optimizer, plan, streams
        self.step = 0  # made so far
        self.order: Tensor | None = None  # (R, n): in which this epoch takes the rows

    def next_rows(self) -> Tensor:
        """Positions (R, B) of the next minibatch; every epoch shuffles the rows."""
        batch, position = self.plan.training.batch, self.step % self.plan.batches
        if position == 0 or self.order is None:
            self.order = self.streams.permutations(self.plan.n)
        return self.order[:, position * batch :][:, :batch]

    def saved(self) -> dict:
        """As plain tensors; a fit that is over keeps only what it found."""
        found = {"step": self.step, "movable": self.movable, "buffers": self.buffers}
        if self.step == self.plan.steps:
            return found
        states = [list(state) for state in self.optimizer.states]
        return found | {"order": self.order, "optimizer": states, "streams": self.streams.state()}

    def restore(self, saved: dict) -> None:
        self.step, self.order = saved["step"], saved.get("order")
        for tensor, value in zip(self.movable, saved["movable"], strict=True):
            tensor.data.copy_(value)
        for name, value in saved["buffers"].items():
            self.buffers[name].copy_(value)
        if self.step < self.plan.steps:
            self.optimizer.load_states(saved["optimizer"])
            self.streams.load_state(saved["streams"])


class Checkpoint:
    """Where one fit keeps its state. `path=None` keeps nothing; a process that does not lead only reads."""

    def __init__(self, path: Path | None = None, every: float = 60.0, fingerprint: str = "", leads: bool = True):
        self.path, self.every, self.fingerprint, self.leads = path, every, fingerprint, leads
        self._began = self._saved = time.monotonic()

    @property
    def seconds(self) -> float:
        """Spent on the fit, before it was resumed too; not a number if a state does not say how long it took."""
        return time.monotonic() - self._began

    def is_due(self) -> bool:
        return self.path is not None and self.leads and time.monotonic() - self._saved >= self.every

    def save(self, state: dict) -> None:
        if self.path is None or not self.leads:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_suffix(".tmp")
        torch.save({"fingerprint": self.fingerprint, "seconds": self.seconds, **state}, temporary)
        os.replace(temporary, self.path)
        self._saved = time.monotonic()

    def load(self, device: torch.device) -> dict | None:
        """The saved state, or None when there is none."""
        if self.path is None or not self.path.exists():
            return None
        try:
            state = torch.load(self.path, map_location=device, weights_only=True)
        except Exception as error:
            raise CheckpointError(
                f"The checkpoint {self.path} cannot be read ({type(error).__name__}); run with resume=false."
            ) from error
        if state.pop("fingerprint", None) != self.fingerprint:
            raise CheckpointError(
                f"The checkpoint {self.path} comes from another configuration; run with resume=false to start again."
            )
        self._began -= state.pop("seconds", math.nan)
        return state
