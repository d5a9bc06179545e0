"""The spike-and-slab prior whose spike is a point: a weight is exactly zero, or from the slab."""

import math
from dataclasses import dataclass
from typing import Any, NoReturn

import torch.nn.functional as F
from torch import Tensor

from sbnn.model.priors.base import Number, Prior, exp, logit
from sbnn.model.priors.gaussian import Ridge


class Gate(Ridge):
    """A slab by its precision `strength`, and `offset`, the logit of its share less log tau1 - 1/2."""

    offset: Any

    def closing(self, mean: Tensor, sigma: Tensor) -> Tensor:
        """logit(pi) - KL(N(m, sigma^2) || slab): the logit of a gate that the data say nothing about."""
        return self.offset + sigma.log() - (mean.square() + sigma.square()) * (self.strength / 2)


@dataclass(frozen=True)
class PointMassPrior(Gate, Prior):
    """pi N(0, tau1^2) + (1 - pi) delta_0, for a posterior that has such a point itself (`posteriors/gated.py`)."""

    log_tau1: Number = 0.0
    pi: Number = 0.5

    @property
    def strength(self) -> Number:
        return exp(-2 * self.log_tau1)

    @property
    def offset(self) -> Number:
        return logit(self.pi) - self.log_tau1 + 0.5

    def divergence(self, mean: Tensor, sigma: Tensor, gate: Tensor) -> Tensor:
        """KL(phi N(m, sigma^2) + (1 - phi) delta_0 || prior), phi the sigmoid of `gate`."""
        never = (1 - self.pi).log() if isinstance(self.pi, Tensor) else math.log1p(-self.pi)
        return gate.sigmoid() * (gate - self.closing(mean, sigma)) - F.softplus(gate) - never

    def energy(self, s: Tensor) -> NoReturn:
        raise TypeError("A prior with a point mass has no density: it needs a posterior with gates.")

    def numbers(self) -> tuple[Number, ...]:
        return self.strength, self.offset

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> "Numbers":
        return Numbers(*numbers)


@dataclass
class Numbers(Gate):
    """The prior at one step, as numbers on the device."""

    strength: Tensor
    offset: Tensor
