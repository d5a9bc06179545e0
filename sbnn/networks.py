"""Plain networks. Nothing in them is Bayesian: a posterior over any of them lives in `posterior.py`."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout whose rate is a buffer, so that replicas of one fit can each have their own."""

    def __init__(self, rate: float = 0.0):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)


def mlp(inputs: int, hidden: Sequence[int], outputs: int = 1, dropout: bool = False) -> nn.Sequential:
    """ReLU layers of the given widths and a linear output; `dropout` follows every hidden layer."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        if dropout:
            layers.append(Dropout())
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))
