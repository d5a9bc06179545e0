r"""What the objective asks of a prior on a weight, as pure functions of the weight's mean and standard deviation.

Write `s = m^2 + sigma^2` for the second moment of the variational posterior N(m, sigma^2). All parameters are natural
logs where the name says so; tensors of shape (R, 1) give each replica its own.
"""

import math
from abc import ABC, abstractmethod
from typing import Any, Self

from torch import Tensor

Number = float | Tensor


class Prior(ABC):
    """The contract. A new prior is a file with a subclass, and a line in `model/methods.py`."""

    is_shrinkage = False  # whether d penalty / d mean is exactly m times `precision`: what a proximal step needs

    @property
    def log_spike(self) -> Number | None:
        """Log width of the narrow component, where there is one."""
        return None

    @abstractmethod
    def energy(self, s: Tensor) -> Tensor:
        """-log of the prior's density at a weight whose square is s, up to a constant."""

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        """R, the prior's term in the objective, weight by weight: the energy at the second moment, less log sigma."""
        return self.energy(mean.square() + sigma.square()) - sigma.log()

    @abstractmethod
    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """The penalty's derivatives with respect to mean and sigma, at the draw `mean + sigma eps` if it is sampled."""

    @abstractmethod
    def precision(self, s: Tensor) -> Number:
        """How hard the prior pulls at a weight of second moment s, relative to the weight itself."""

    def with_spike(self, log_tau0: Number) -> Self:
        """The same prior with another spike, which annealing narrows step by step; itself where there is none."""
        return self

    def inclusion(self, s: Tensor) -> Tensor:
        """The probability that a weight of second moment s is not zero; only a prior with two components has one."""
        raise TypeError(f"{type(self).__name__} has no inclusion probability.")

    @abstractmethod
    def numbers(self) -> tuple[Number, ...]:
        """The prior as a few numbers, for a table of what every step uses."""

    @classmethod
    @abstractmethod
    def of_numbers(cls, *numbers: Tensor) -> Any:
        """What such numbers, on the device, stand for: it has the prior's `gradient` and `precision`."""


def exp(value: Number) -> Number:
    """Of a float as a float: next to tensors it costs nothing, and neither rounds nor promotes them."""
    return value.exp() if isinstance(value, Tensor) else math.exp(value)


def logit(value: Number) -> Number:
    return value.logit() if isinstance(value, Tensor) else math.log(value / (1 - value))
