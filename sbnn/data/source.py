"""What training and measuring ask of data, whatever it holds."""

from typing import Protocol, Self

from torch import Tensor

from sbnn.streams import Streams


class ReplicaSource(Protocol):
    """The rows of R replicas, held on the device. `len` is R; an index takes some of the replicas."""

    @property
    def x(self) -> Tensor:
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

    def all(self) -> tuple[Tensor, Tensor]:
        """Inputs (R, m, ...) and targets of every row."""

    def batch(
        self, positions: Tensor, streams: Streams | None = None, part: slice = slice(None)
    ) -> tuple[Tensor, Tensor]:
        """Inputs (R, B, ...) and targets at a part of the positions (R, B) into each replica's rows.

        What is random about a batch comes from the replica's own stream, which draws for all of the positions.
        """
