"""Several processes, one fit: each takes a part of every minibatch, and their gradients are added up.

Started by torchrun. All processes hold the same posterior and draw the same noise, so that nothing but gradients has to
travel, as one flat tensor, once a step. That gives the numbers of a single process, to rounding, except with batch
norm, which normalises by each process's own part of a batch, and dropout, whose masks are the same in every part.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from sbnn.errors import ConfigError, SbnnError


@dataclass(frozen=True)
class World:
    """This process among `size` of them."""

    rank: int = 0
    size: int = 1

    @classmethod
    def joined(cls, device: torch.device) -> "World":
        """The processes that torchrun started, if it did."""
        if not dist.is_torchelastic_launched():
            return cls()
        if not dist.is_initialized():
            if device.type == "cuda":
                torch.cuda.set_device(device)
                dist.init_process_group("nccl", device_id=device)
            else:
                dist.init_process_group("gloo")
        return cls(dist.get_rank(), dist.get_world_size())

    @property
    def leads(self) -> bool:
        """Whether this is the process that shows, writes and complains."""
        return self.rank == 0

    def part(self, count: int) -> slice:
        """This process's share of `count` rows."""
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def total(self, tensors: list[Tensor]) -> list[Tensor]:
        """Every tensor's sum over the processes."""
        if self.size == 1:
            return tensors
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        parts = flat.split([tensor.numel() for tensor in tensors])
        return [part.view_as(tensor) for part, tensor in zip(parts, tensors, strict=True)]

    def average_(self, tensors: Iterable[Tensor]) -> None:
        """Running statistics, of which every process has seen its own part of the data; counts stay as they are."""
        own = [tensor for tensor in tensors if tensor.is_floating_point()]
        if self.size > 1 and own:
            for tensor, total in zip(own, self.total(own), strict=True):
                tensor.copy_(total / self.size)

    def check(self, batch: int, least: int, state: list[int], device: torch.device) -> None:
        """Before training: every part of a batch has at least so many rows, and all processes start from one state."""
        if batch < least * self.size:
            raise ConfigError(
                f"trainer.batch={batch} leaves some of {self.size} processes with less than {least} of its rows."
            )
        if self.size > 1:
            own = torch.tensor(state, device=device)
            ends = torch.stack([own, -own])
            dist.all_reduce(ends, dist.ReduceOp.MAX)
            if not torch.equal(ends[0], -ends[1]):
                raise SbnnError(
                    "The processes do not start alike: they need the same data, the same checkpoints (a results folder "
                    "that all of them see) and, with trainer.compile=auto, a compiler on all machines or on none."
                )

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()


def leads() -> bool:
    """The same before a world is joined: what torchrun says."""
    return not dist.is_torchelastic_launched() or os.environ.get("RANK", "0") == "0"


def several() -> bool:
    """Whether torchrun has started more than one."""
    return dist.is_torchelastic_launched() and os.environ.get("WORLD_SIZE", "1") != "1"


def leave() -> None:
    if dist.is_initialized():
        dist.destroy_process_group()


def on_this_machine() -> tuple[int, int]:
    """The number of this process on its machine, and so of its GPU, and how many torchrun started there."""
    if not dist.is_torchelastic_launched():
        return 0, 1
    return int(os.environ.get("LOCAL_RANK", 0)), int(os.environ.get("LOCAL_WORLD_SIZE", 1))
