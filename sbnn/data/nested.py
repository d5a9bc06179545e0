"""Inputs of a network that takes several: tensors in a tuple (by place) or a dict (by name), nested or not."""

from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

Inputs = Any  # a Tensor, or a tuple, list or dict of Inputs


def each(function: Callable[[Tensor], Tensor], inputs: Inputs) -> Inputs:
    """The same nest, of what the function gives for every tensor in it."""
    if isinstance(inputs, dict):
        return {name: each(function, value) for name, value in inputs.items()}
    if isinstance(inputs, list | tuple):
        return tuple(each(function, value) for value in inputs)
    return function(inputs)


def tensors(inputs: Inputs) -> list[Tensor]:
    """Every tensor of a nest."""
    found: list[Tensor] = []
    each(lambda tensor: found.append(tensor) or tensor, inputs)  # type: ignore[func-returns-value]
    return found


def together(function: Callable[[Sequence[Tensor]], Tensor], parts: Sequence[Inputs]) -> Inputs:
    """One nest, of what the function gives for the tensors that stand at the same place of several nests."""
    first = parts[0]
    if isinstance(first, dict):
        return {name: together(function, [part[name] for part in parts]) for name in first}
    if isinstance(first, list | tuple):
        return tuple(together(function, same) for same in zip(*parts, strict=True))
    return function(parts)


def arguments(inputs: Inputs) -> tuple[tuple, dict]:
    """How a network is called with them: by name, by place, or with the one tensor."""
    if isinstance(inputs, dict):
        return (), inputs
    return (inputs, {}) if isinstance(inputs, tuple) else ((inputs,), {})
