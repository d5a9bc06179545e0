"""One Gaussian for every weight."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from sbnn.model.priors.base import Number, Prior, exp


class Ridge:
    """A pull towards zero in proportion to the weight: `strength` times it."""

    strength: Any

    def precision(self, s: Tensor) -> Number:
        return self.strength

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        return mean * self.strength, sigma * self.strength - 1 / sigma


@dataclass(frozen=True)
class GaussianPrior(Ridge, Prior):
    """N(0, tau^2) on every weight: the plain Bayesian network of Experiment 3; on a point estimate, weight decay."""

    log_tau: Number = 0.0

    @property
    def strength(self) -> Number:
        return exp(-2 * self.log_tau)

    def energy(self, s: Tensor) -> Tensor:
        return s * (self.strength / 2) + self.log_tau

    def numbers(self) -> tuple[Number, ...]:
        return (self.strength,)

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> "Numbers":
        return Numbers(*numbers)


@dataclass
class Numbers(Ridge):
    """The prior at one step, as a number on the device."""

    strength: Tensor
