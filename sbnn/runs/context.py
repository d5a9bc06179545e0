"""Where a run happens: device, precision, seed, progress bar and checkpoints."""

import hashlib
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf
from tqdm import tqdm

from sbnn.errors import ConfigError
from sbnn.runs.identity import code_hash
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.distributed import World, on_this_machine

# What may change between a run and its resumption without changing how a network is trained: what is measured of it,
# and which others are trained beside it (a recipe's changes are already in its own configuration).
BESIDE_THE_POINT = (
    "resume", "force", "keep_checkpoints", "budget", "minutes", "progress", "checkpoint_seconds", "results_dir",
    "threads", "droprates", "pruning", "predictive", "recipe", "recipes", "rivals", "finetune", "by_network",
)  # fmt: skip


@dataclass(frozen=True)
class Run:
    device: torch.device
    dtype: torch.dtype = torch.float32
    seed: int = 0
    progress: bool = False
    checkpoints: Path | None = None
    every: float = 60.0
    output: Path | None = None  # the folder that the results replace
    commit: str = "unknown"
    code: str = "unknown"  # of the files themselves, see sbnn.runs.identity
    world: World = World()  # noqa: RUF009
    trained: list[float] = field(default_factory=list)  # seconds of every fit, of earlier sittings too

    @classmethod
    def from_config(cls, cfg: DictConfig, output: Path) -> "Run":
        if cfg.threads is not None:
            torch.set_num_threads(cfg.threads)
        # Bit for bit the same on the same device.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)
        torch.utils.deterministic.fill_uninitialized_memory = False  # a pass over memory for what is never read
        device = device_named(cfg.device)
        world = World.joined(device)
        folder = output.parent / ".checkpoints" / output.name
        if not cfg.resume and world.leads:
            shutil.rmtree(folder, ignore_errors=True)
        world.wait()
        return cls(
            device=device,
            dtype=getattr(torch, cfg.dtype),
            seed=cfg.seed,
            progress=cfg.progress and world.leads,
            checkpoints=folder,
            output=output,
            every=cfg.checkpoint_seconds,
            commit=code_commit(),
            code=code_hash(),
            world=world,
        )

    def checkpoint(self, name: str, cfg: DictConfig) -> Checkpoint:
        """Where a fit with its own configuration keeps its state."""
        path = self.checkpoints / f"{name}.pt" if self.checkpoints else None
        return Checkpoint(path, self.every, fingerprint(cfg, self.device), self.world.leads)

    def bar(self, name: str, steps: int) -> tqdm:
        return tqdm(total=steps, desc=name, unit="step", disable=not self.progress, leave=True)

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
    if not re.fullmatch(r"cpu|cuda(:\d+)?", name):
        raise ConfigError(f"device={name} is unknown; choose one of auto, cuda, cpu.")
    if name != "cpu" and int(name.partition(":")[2] or 0) >= torch.cuda.device_count():
        raise ConfigError(f"device={name} was asked for but this machine does not have it; use device=auto.")
    return torch.device(name)


def fingerprint(cfg: DictConfig, device: torch.device) -> str:
    """What a checkpoint must agree on with the run that resumes from it."""
    plain = OmegaConf.to_container(cfg, resolve=True)
    kept = {key: value for key, value in plain.items() if key not in BESIDE_THE_POINT}
    kept |= {"device": device.type, "torch": torch.__version__}
    return hashlib.sha256(repr(sorted(kept.items())).encode()).hexdigest()[:16]


def code_commit() -> str:
    """The commit of sbnn and conf, marked when they have been changed since; `unknown` outside a checkout."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(Path(__file__).parents[2]), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "sbnn/runs/context.py")
        changed = git("status", "--porcelain", "--", "sbnn", "conf")
        return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
