"""The user's data as the loop reads it: a DataLoader, a Dataset or tensors, read once and held on the device."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from sbnn.data.nested import Inputs, each, tensors, together
from sbnn.errors import DataError
from sbnn.streams import Streams

LABELS = ("labels", "label", "target", "y")  # a dict's entry that is the target
ROWS = 250  # measured at once


@dataclass(frozen=True)
class Examples:
    """Rows of R replicas that all see the same examples: a `ReplicaSource` whose inputs may be a nest of tensors."""

    x: Inputs  # (n, ...) each
    y: Tensor  # (n, ...)
    rows: Tensor  # (R, m)

    @classmethod
    def of(cls, x: Inputs, y: Tensor, replicas: int = 1) -> "Examples":
        return cls(x, y, torch.arange(len(y), device=y.device).expand(replicas, -1))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        return self.rows.shape[1]

    def __getitem__(self, part: slice | Tensor) -> "Examples":
        return replace(self, rows=self.rows[part])

    def chosen(self) -> list[Tensor]:
        return [self.rows]

    def at(self, rows: Tensor) -> "Examples":
        return replace(self, rows=rows)

    def all(self) -> tuple[Inputs, Tensor]:
        return self._taken(self.rows)

    def draw(self, count: int, streams: Streams | None, part: slice = slice(None)) -> None:
        """Nothing is random."""

    def read(self, positions: Tensor, drawn: Tensor | None = None) -> tuple[Inputs, Tensor]:
        return self._taken(self.rows.gather(1, positions))

    def batches(self, most: int | None = None) -> list["Examples"]:
        """Neighbouring rows, a few at a time, of the first `most`."""
        return [self.at(rows) for rows in self.rows[:, :most].split(ROWS, dim=1)]

    def _taken(self, rows: Tensor) -> tuple[Inputs, Tensor]:
        def taken(stored: Tensor) -> Tensor:
            return stored.index_select(0, rows.flatten()).unflatten(0, rows.shape)

        return each(taken, self.x), taken(self.y)


def read_examples(data: Any, what: str = "train") -> tuple[Inputs, Tensor]:
    """Inputs and targets of all examples, from whatever the user has.

    Every example is read once: what a dataset draws at random for it stays as it was drawn.
    """
    if isinstance(data, DataLoader):
        return _joined([_split(batch, what) for batch in data], what)
    if isinstance(data, Dataset):
        return _joined([_split(batch, what) for batch in DataLoader(data, batch_size=1024)], what)
    if isinstance(data, list | tuple | Mapping):
        x, y = _split(data, what)
        sizes = {len(tensor) for tensor in (*tensors(x), y)}
        if len(sizes) > 1:
            raise DataError(f"{what} holds tensors of {' and '.join(map(str, sorted(sizes)))} rows; they must agree.")
        if not len(y):
            raise DataError(f"{what} holds no examples.")
        return x, y
    raise DataError(f"{what} is a {type(data).__name__}; give a DataLoader, a Dataset or tensors (x, y).")


def read_inputs(x: Any) -> Inputs:
    """Inputs alone, to predict at."""
    return each(torch.as_tensor, x)


def _split(batch: Any, what: str) -> tuple[Inputs, Tensor]:
    """A batch's inputs and its target: the last of a tuple, or a dict's labels."""
    if isinstance(batch, Mapping):
        named = next((name for name in LABELS if name in batch), None)
        if named is None:
            raise DataError(
                f"{what} gives dicts with {', '.join(batch)}; one of {', '.join(LABELS)} must be the target."
            )
        return read_inputs({name: value for name, value in batch.items() if name != named}), torch.as_tensor(
            batch[named]
        )
    if not isinstance(batch, list | tuple) or len(batch) < 2:
        raise DataError(f"{what} must give inputs and targets, (x, y); it gives a {type(batch).__name__}.")
    *inputs, y = batch
    return read_inputs(inputs[0] if len(inputs) == 1 else tuple(inputs)), torch.as_tensor(y)


def _joined(batches: list[tuple[Inputs, Tensor]], what: str) -> tuple[Inputs, Tensor]:
    if not batches:
        raise DataError(f"{what} holds no examples.")
    try:
        return together(torch.cat, [x for x, _ in batches]), torch.cat([y for _, y in batches])  # type: ignore[arg-type]
    except RuntimeError as error:
        raise DataError(f"The batches of {what} differ in shape; pad their examples to one length.") from error
