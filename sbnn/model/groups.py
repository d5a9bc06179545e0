"""Weights that belong together: their numbers by unit or layer, and sums over them."""

from copy import copy

import torch
from torch import Tensor

from sbnn.model.flat import Layout


class Groups:
    """By weight, (M,), the number of its group; a negative one is of a weight that stands alone, whose scale is one."""

    def __init__(self, numbers: Tensor):
        self.inside = numbers >= 0
        self.index = torch.where(self.inside, numbers, int(numbers.max()) + 1)  # those outside make a last one
        self.count = 1 + int(self.index.max())
        self.share = self.inside / torch.bincount(self.index)[self.index]  # (M,), which add up to one in a group
        first = self.index.new_zeros(self.count)
        places = torch.arange(len(numbers))
        self.first = first.scatter_reduce(0, self.index, places, "amin", include_self=False)[self.index]
        self.is_whole = True  # not some columns, which cut groups apart
        self.placed: dict[torch.device, Groups] = {}  # by device, so that no step moves them

    def on(self, device: torch.device) -> "Groups":
        """The same there; moved once."""
        if device not in self.placed:
            there = copy(self)
            for name in ("inside", "index", "first", "share"):
                setattr(there, name, getattr(self, name).to(device))
            self.placed[device] = there
        return self.placed[device]

    def pooled(self, values: Tensor) -> Tensor:
        """The sum over a weight's group, (R, M), and zero for a weight outside."""
        here = self._whole(values.device)
        sums = values.new_zeros(len(values), self.count).index_add_(1, here.index, values)
        return sums.gather(1, here.index.expand_as(values)) * here.inside

    def shared(self, values: Tensor) -> Tensor:
        """The value of the first weight of each group, for all of it, (R, M)."""
        return values.gather(1, self._whole(values.device).first.expand_as(values))

    def columns(self, begin: int, end: int) -> "Groups":
        numbers = torch.where(self.inside, self.index, -1)
        own, rest = numbers[begin:end], torch.cat([numbers[:begin], numbers[end:]])
        part = Groups(own)
        part.share, part.is_whole = self.share[begin:end], not torch.isin(own[own >= 0], rest).any()
        return part

    def _whole(self, device: torch.device) -> "Groups":
        if not self.is_whole:
            raise TypeError("A group's weights lie in parameters that are drawn and moved apart.")
        return self.on(device)


def by_input(layout: Layout) -> Tensor:
    """Groups of the weights that leave an input of a dense layer, or make a channel of a convolution; biases alone."""
    numbers, count = [], 0
    for shape in layout.shapes:
        if len(shape) < 2:
            numbers.append(torch.full((shape.numel(),), -1))
            continue
        axis = 1 if len(shape) == 2 else 0
        own = torch.arange(shape[axis]).view([-1 if n == axis else 1 for n in range(len(shape))])
        numbers.append(own.expand(shape).reshape(-1) + count)
        count += shape[axis]
    return torch.cat(numbers)


def by_layer(layout: Layout, biases: bool) -> Tensor:
    """A group a layer, biases in it or alone."""
    return layout.module if biases else torch.where(layout.is_bias, -1, layout.module)


def by_output(layout: Layout) -> Tensor:
    """Groups of the weights and the bias that lead to a unit; those of the last layer are in none."""
    numbers, count, last = [], 0, len(layout.modules) - 1
    begins = {}
    for name, shape in zip(layout.names, layout.shapes, strict=True):
        module = layout.modules.index(name.rpartition(".")[0])
        if module == last:
            numbers.append(torch.full((shape.numel(),), -1))
            continue
        if module not in begins:
            begins[module], count = count, count + shape[0]
        numbers.append((begins[module] + torch.arange(shape[0])).repeat_interleave(shape.numel() // shape[0]))
    return torch.cat(numbers)
