"""A fit's state on disk: written whole or not at all, and read back without executing code."""

import math
import os
import sys
import time
from pathlib import Path

import torch
from torch import Tensor

from sbnn.errors import CheckpointError
from sbnn.files import written_whole
from sbnn.model.fit import Fit
from sbnn.streams import Streams
from sbnn.training.history import History
from sbnn.training.optimizers import Optimizer
from sbnn.training.schedule import Plan


class TrainingState:
    """All that a fit needs in order to go on where it was: it is saved and restored as one."""

    def __init__(self, fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams):
        self.movable, self.buffers, self.keep = optimizer.parameters, fit.buffers, fit.posterior.keep
        self.optimizer, self.plan, self.streams = optimizer, plan, streams
        self.step = 0  # made so far
        self.order: Tensor | None = None  # (R, n): in which this epoch takes the rows
        self.history = History(len(self.movable[0]))

    def next_rows(self) -> Tensor:
        """Positions (R, B) of the next minibatch; every epoch shuffles the rows."""
        batch, position = self.plan.training.batch, self.step % self.plan.batches
        if position == 0 or self.order is None:
            self.order = self.streams.permutations(self.plan.n)
        return self.order[:, position * batch :][:, :batch]

    def saved(self) -> dict:
        """As plain tensors; a fit that is over keeps only what it found."""
        found = {"step": self.step, "movable": self.movable, "buffers": self.buffers, "keep": self.keep}
        found["history"] = vars(self.history)
        if self.step == self.plan.steps:
            return found
        states = [list(state) for state in self.optimizer.states]
        return found | {"order": self.order, "optimizer": states, "streams": self.streams.state()}

    def restore(self, saved: dict) -> None:
        """Take over a saved state; one that does not fit raises an error and leaves everything as it was."""
        step, order = int(saved["step"]), saved.get("order")
        movable, buffers = list(saved["movable"]), dict(saved["buffers"])
        # A state older than histories has none, and its own begins where the fit goes on.
        history = History(**saved["history"]) if "history" in saved else self.history
        is_over = step == self.plan.steps
        moments = [] if is_over else [value for state in saved["optimizer"] for value in state]
        own = [*self.movable, *self.buffers.values(), *([] if is_over else self.optimizer.tensors())]
        given = [*movable, *(buffers[name] for name in self.buffers), *moments]
        if self.keep is not None:
            own, given = [*own, self.keep], [*given, saved["keep"]]
        if [value.shape for value in own] != [value.shape for value in given] or not 0 <= step <= self.plan.steps:
            raise ValueError("It is of another fit.")
        if not is_over:
            before = self.streams.state()
            try:
                self.streams.load_state(saved["streams"])
            except Exception:
                self.streams.load_state(before)
                raise
        for tensor, value in zip(own, given, strict=True):
            tensor.data.copy_(value)
        self.step, self.order, self.history = step, order, history


class Checkpoint:
    """Where one fit keeps its state. `path=None` keeps nothing; a process that does not lead only reads.

    A state is continued from if it has the same fingerprint; one that cannot be is an error. Where it is `optional`, it
    has to be made by the same `code` too, and one that cannot be continued from is set aside with a word.
    """

    def __init__(
        self,
        path: Path | None = None,
        every: float = 60.0,
        fingerprint: str = "",
        leads: bool = True,
        code: str | None = None,
        optional: bool = False,
    ):
        self.path, self.every, self.fingerprint, self.leads = path, every, fingerprint, leads
        self.code, self.optional, self.was_resumed = code, optional, False
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
        known = {"fingerprint": self.fingerprint, "code": self.code, "seconds": self.seconds}
        with written_whole(self.path) as temporary:
            torch.save(known | state, temporary)
        self._saved = time.monotonic()

    def restore(self, state: TrainingState, device: torch.device) -> None:
        """Bring a fit to where it was saved, if it was."""
        if self.path is None or not self.path.exists():
            return
        try:
            saved = self._read(self.path, device)
            try:
                state.restore(saved)
            except Exception as error:  # of the right fingerprint, but not what a fit saves
                raise CheckpointError(
                    f"The checkpoint {self.path} does not hold the state of a fit; run with resume=false."
                ) from error
        except CheckpointError as error:
            if not self.optional:
                raise
            if self.leads:
                aside = self.path.with_suffix(".pt.old")
                os.replace(self.path, aside)
                reason = str(error).partition(";")[0]
                print(f"sbnn: a fit starts again: {reason}; it is kept as {aside.name}.", file=sys.stderr)
            return
        self._began -= saved.get("seconds", math.nan)
        self.was_resumed = True

    def _read(self, path: Path, device: torch.device) -> dict:
        try:
            saved = torch.load(path, map_location=device, weights_only=True)
            kept, code = saved.get("fingerprint"), saved.get("code")
        except Exception as error:
            raise CheckpointError(
                f"The checkpoint {path} cannot be read ({type(error).__name__}); run with resume=false."
            ) from error
        if kept != self.fingerprint:
            raise CheckpointError(
                f"The checkpoint {path} comes from another configuration; run with resume=false to start again."
            )
        if self.optional and code != self.code:
            raise CheckpointError(f"The checkpoint {path} was made by other code, which resume=true overlooks.")
        return saved
