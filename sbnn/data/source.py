"""What training and measuring ask of data, whatever it holds."""

from typing import Protocol, Self

from torch import Tensor

from sbnn.data.nested import Inputs
from sbnn.streams import Streams


class ReplicaSource(Protocol):
    """The rows of R replicas, held on the device. `len` is R; an index takes some of the replicas."""

    @property
    def x(self) -> Inputs:
        """The stored inputs."""

    @property
    def y(self) -> Tensor:
        """The stored targets: classes if their type is a whole number, else a regression's."""

    @property
    def size(self) -> int:
        """Rows per replica."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice | Tensor, /) -> Self: ...

    def chosen(self) -> list[Tensor]:
        """What tells these replicas from others of the same stored data: the features or rows that were chosen."""

    def at(self, rows: Tensor) -> Self:
        """The same replicas at other rows (R, m): a held-out part."""

    def all(self) -> tuple[Inputs, Tensor]:
        """Inputs (R, m, ...) and targets of every row."""

    def draw(self, count: int, streams: Streams | None, part: slice = slice(None)) -> Tensor | None:
        """What is random about a part of a batch of `count` rows, from each replica's own stream; None if nothing is.

        A stream draws for all of the batch, whatever the part.
        """

    def read(self, positions: Tensor, drawn: Tensor | None = None) -> tuple[Inputs, Tensor]:
        """Inputs (R, B, ...) and targets at positions (R, B) into each replica's rows, in tensors only."""
