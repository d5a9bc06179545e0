"""Which rows of a table to train on and which to measure on."""

import numpy as np


def folds(rows: int, count: int, random: np.random.Generator, classes: np.ndarray | None = None) -> np.ndarray:
    """The rows of every fold, (count, rows // count), in random order and each in one fold at most.

    What is left over by the division, chosen at random, is in no fold. With `classes` (rows,) every fold has its share
    of each.
    """
    size = rows // count
    dealt = random.permutation(rows)[: size * count]
    if classes is not None:
        dealt = dealt[classes[dealt].argsort(kind="stable")]
    return dealt.reshape(size, count).T


def others(rows: int, held: np.ndarray) -> np.ndarray:
    """The rows that are not held back, (F, rows - k), of what is, (F, k)."""
    return np.stack([np.setdiff1d(np.arange(rows), own) for own in held])


def halves(rows: int, count: int, random: np.random.Generator) -> np.ndarray:
    """Random halves of the rows, (count, rows // 2), in pairs without a row in common (Shah and Samworth 2013)."""
    orders = [random.permutation(rows) for _ in range((count + 1) // 2)]
    return np.stack([half for order in orders for half in (order[: rows // 2], order[-(rows // 2) :])])[:count]
