"""The rows each replica trains on, held on the device: no copies per replica, no loader, no host in the loop."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from sbnn.streams import Streams


@dataclass(frozen=True)
class ReplicaData:
    """R replicas reading from S stored datasets.

    Replica r sees rows `rows[r]` of dataset `source[r]`, inputs multiplied by `keep[r]` (a dropped feature
    reads zero), both inputs and target shifted and scaled by that replica's own training statistics.
    """

    x: Tensor  # (S, n, ...)
    y: Tensor  # (S, n, out), or (S, n) labels
    source: Tensor  # (R,)
    rows: Tensor  # (R, m)
    keep: Tensor | None = None  # (R, D)
    x_shift: Tensor | None = None  # (R, 1, D)
    x_scale: Tensor | None = None
    y_shift: Tensor | None = None  # (R, 1, out)
    y_scale: Tensor | None = None

    @classmethod
    def of(cls, x: Tensor, y: Tensor, replicas: int = 1) -> "ReplicaData":
        """All rows of one dataset, x (n, ...) and y (n, out), for every replica."""
        rows = torch.arange(len(x), device=x.device).expand(replicas, -1)
        return cls(x[None], y[None], torch.zeros(replicas, dtype=torch.long, device=x.device), rows)

    def __len__(self) -> int:
        return len(self.source)

    @property
    def size(self) -> int:
        """Rows per replica."""
        return self.rows.shape[1]

    def __getitem__(self, part: slice | Tensor) -> "ReplicaData":
        """Some of the replicas; the stored datasets are shared, not copied."""
        per_replica = ("source", "rows", "keep", "x_shift", "x_scale", "y_shift", "y_scale")
        values = {name: getattr(self, name) for name in per_replica}
        taken: dict[str, Any] = {name: None if value is None else value[part] for name, value in values.items()}
        return replace(self, **taken)

    def chosen(self) -> list[Tensor]:
        return [self.rows] if self.keep is None else [self.rows, self.keep]

    def at(self, rows: Tensor) -> "ReplicaData":
        """The same replicas and scaling at other rows (R, m'): a test or a held-out part."""
        return replace(self, rows=rows)

    def keeping(self, keep: Tensor) -> "ReplicaData":
        """The same replicas with only some features let through: X diag(Z-hat) in Algorithm 2."""
        return replace(self, keep=keep.to(self.x.dtype))

    def standardised(self, inputs: bool, target: bool) -> "ReplicaData":
        """Zero mean and unit variance over each replica's own rows; a constant column is left at zero."""
        plain = replace(self, x_shift=None, x_scale=None, y_shift=None, y_scale=None)
        changes: dict[str, Tensor] = {}
        if inputs:
            x = plain._inputs(self.rows)
            changes |= {"x_shift": x.mean(1, keepdim=True), "x_scale": _spread(x)}
        if target:
            y = plain._targets(self.rows)
            changes |= {"y_shift": y.mean(1, keepdim=True), "y_scale": _spread(y)}
        return replace(plain, **changes)

    def trained_on(self, rows: Tensor) -> "ReplicaData":
        """The same replicas at other training rows (R, m'), standardised again by those where they were before."""
        return self.at(rows).standardised(self.x_shift is not None, self.y_shift is not None)

    def all(self) -> tuple[Tensor, Tensor]:
        return self._inputs(self.rows), self._targets(self.rows)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """All rows: tables are small enough to come at once."""
        yield self.all()

    def draw(self, count: int, streams: Streams | None, part: slice = slice(None)) -> None:
        """Nothing is random."""

    def read(self, positions: Tensor, drawn: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Inputs (R, B, ...) and targets at positions (R, B) into each replica's rows."""
        rows = self.rows.gather(1, positions)
        return self._inputs(rows), self._targets(rows)

    def _inputs(self, rows: Tensor) -> Tensor:
        x = self._read(self.x, rows)
        if self.x_shift is not None and self.x_scale is not None:
            x = (x - self.x_shift) / self.x_scale
        return x if self.keep is None else x * self.keep.unsqueeze(1)

    def _targets(self, rows: Tensor) -> Tensor:
        y = self._read(self.y, rows)
        return y if self.y_shift is None or self.y_scale is None else (y - self.y_shift) / self.y_scale

    def _read(self, stored: Tensor, rows: Tensor) -> Tensor:
        flat = (rows + self.source.unsqueeze(1) * stored.shape[1]).flatten()
        return stored.flatten(0, 1).index_select(0, flat).unflatten(0, rows.shape)


def _spread(values: Tensor) -> Tensor:
    """Standard deviation, or one where it is nothing but the rounding of a constant."""
    deviation = values.std(1, keepdim=True, correction=0)
    constant = deviation <= 1e-6 * values.abs().amax(1, keepdim=True)
    return torch.where(constant, torch.ones_like(deviation), deviation)
