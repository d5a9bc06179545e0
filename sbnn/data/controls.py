"""Inputs next to copies of themselves that mean nothing: what a relevance has to exceed to count."""

from dataclasses import dataclass, field, replace
from typing import cast

import torch
from torch import Tensor

from sbnn.data.replicas import ReplicaData


@dataclass(frozen=True)
class Controlled(ReplicaData):
    """Every row's inputs (R, B, D), then those of another row, chosen at random: (R, B, 2 D).

    The copies have the distribution of the inputs and their dependence on each other, and none with the target.
    """

    other: Tensor = field(kw_only=True)  # (R, n) the row that a row's copies are taken from

    def __getitem__(self, part: slice | Tensor) -> "Controlled":
        taken = replace(self, other=self.other[part])
        return cast(Controlled, super(Controlled, taken).__getitem__(part))

    def chosen(self) -> list[Tensor]:
        return [*super().chosen(), self.other]

    def _read(self, stored: Tensor, rows: Tensor) -> Tensor:
        own = super()._read(stored, rows)
        return own if stored is self.y else torch.cat([own, super()._read(stored, self.other.gather(1, rows))], -1)
