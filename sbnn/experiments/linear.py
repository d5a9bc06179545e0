"""Least squares on the same rows: what a linear model predicts, and which features it can tell from noise."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sbnn.data.replicas import ReplicaData

Columns = Callable[[np.ndarray], np.ndarray]  # of a design, from the features


def squared_errors(data: ReplicaData, *measured: ReplicaData) -> list[Tensor]:
    """Mean squared error (R,) of least squares on all features, on each of the rows that are measured."""
    errors: list[list[float]] = [[] for _ in measured]
    for r in range(len(data)):
        coefficients = np.linalg.lstsq(*rows_of(data, r, with_one), rcond=None)[0]
        for found, rows in zip(errors, measured, strict=True):
            x, y = rows_of(rows, r, with_one)
            found.append(float(((x @ coefficients - y) ** 2).mean()))
    return [torch.tensor(found) for found in errors]


def wald(data: ReplicaData) -> Tensor:
    """Each feature's Wald statistic (R, D), from least squares on all x and |x|: b' V^-1 b of its two coefficients.

    It knows what the network has to find: that little more than these two shapes is in the data.
    """
    found = []
    for r in range(len(data)):
        x, y = rows_of(data, r, with_sizes)
        inverse = np.linalg.pinv(x.T @ x)
        coefficients = inverse @ x.T @ y
        noise = ((y - x @ coefficients) ** 2).sum() / max(1, len(x) - x.shape[1])
        own = np.arange(1, x.shape[1]).reshape(2, -1).T  # (D, 2)
        b, v = coefficients[own], noise * inverse[own[:, :, None], own[:, None, :]]
        found.append(np.einsum("di,dij,dj->d", b, np.linalg.pinv(v), b))
    return torch.tensor(np.stack(found), device=data.rows.device)


def rows_of(data: ReplicaData, replica: int, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    """The design and the target of one replica."""
    x, y = (values[0].double().cpu().numpy() for values in data[replica : replica + 1].all())
    return columns(x), y.squeeze(-1)


def with_one(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x])


def with_sizes(x: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(x)), x, np.abs(x)])
