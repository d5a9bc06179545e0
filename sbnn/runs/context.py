"""Where a run of the suite happens: a session for its fits, and the folder that its results replace."""

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch

from sbnn.data.source import ReplicaSource
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.runs.identity import code_commit, code_hash, fingerprint
from sbnn.runs.settings import RunSettings
from sbnn.training.distributed import World, on_this_machine
from sbnn.training.fitting import Start, fit
from sbnn.training.session import Session


@dataclass(frozen=True)
class Context(Session):
    output: Path | None = None  # the folder that the results replace
    commit: str = "unknown"
    data_hashes: dict[str, str] = field(default_factory=dict)  # sha256 of each dataset as it was read
    networks: dict[str, Fit] = field(default_factory=dict)  # by name, those that the run is to leave
    # By name, how to write what a run leaves besides its rows. A report that is drawn again takes over folders.TRAINED.
    files: dict[str, Callable[[Path], None]] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: RunSettings, output: Path) -> "Context":
        if settings.threads is not None:
            torch.set_num_threads(settings.threads)
        # Bit for bit the same on the same device.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # a pass over memory for what is never read
        device = device_named(settings.device)
        world = World.joined(device)
        checkpoints = output.parent / ".checkpoints" / output.name
        starts_again = settings.resume is False or settings.force
        if starts_again and world.leads:
            shutil.rmtree(checkpoints, ignore_errors=True)
        world.wait()
        return cls(
            device=device,
            dtype=getattr(torch, settings.dtype),
            progress=settings.progress and world.leads,
            chunk=settings.chunk,
            checkpoints=checkpoints,
            checkpoint_seconds=settings.checkpoint_seconds,
            world=world,
            code=code_hash(settings.name),
            insists=settings.resume is True,
            output=output,
            commit=code_commit(),
        )

    def fit(self, start: Start, data: ReplicaSource, settings: RunSettings, seeds: Sequence[int], name: str) -> Fit:
        """Train as the settings say, under a name that no other fit of the run has."""
        agreed = fingerprint(settings, name, seeds, self.device, [*start.tensors(), *data.chosen()])
        model = fit(start, data, settings.trainer, seeds, name, self, agreed)
        if settings.keep_network:
            self.networks[name] = model
        return model

    def forget_checkpoints(self) -> None:
        """The run is over and its results are written."""
        if self.checkpoints:
            shutil.rmtree(self.checkpoints, ignore_errors=True)


def device_named(name: str) -> torch.device:
    """`auto` is CUDA where there is one, else the CPU; of several GPUs every process of torchrun's gets its own."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    own, processes = on_this_machine()
    if name == "cuda" and processes > 1:
        if processes > torch.cuda.device_count():
            raise ConfigError(f"{processes} processes need a GPU each; this machine has {torch.cuda.device_count()}.")
        name = f"cuda:{own}"
    if name != "cpu" and int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device={name} was asked for but this machine does not have it; use device=auto.")
    return torch.device(name)
