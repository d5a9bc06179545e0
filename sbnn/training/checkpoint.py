"""A fit's state on disk: written whole or not at all, and read back without executing code."""

import math
import os
import time
from pathlib import Path

import torch

from sbnn.errors import CheckpointError


class Checkpoint:
    """Where one fit keeps its state. `path=None` keeps nothing; a process that does not lead only reads."""

    def __init__(self, path: Path | None = None, every: float = 60.0, fingerprint: str = "", leads: bool = True):
        self.path, self.every, self.fingerprint, self.leads = path, every, fingerprint, leads
        self._began = self._saved = time.monotonic()

    @property
    def seconds(self) -> float:
        """Spent on the fit, before it was resumed too; not a number if a state does not say how long it took."""
        return time.monotonic() - self._began

    def due(self) -> bool:
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
                f"The checkpoint {self.path} comes from another configuration; run with resume=false to start anew."
            )
        self._began -= state.pop("seconds", math.nan)
        return state
