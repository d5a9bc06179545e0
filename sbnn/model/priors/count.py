"""A price for every weight that is not zero."""

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from sbnn.model.priors.base import Number, Prior
from sbnn.model.priors.gaussian import Ridge


class Price(Ridge):
    """`cost` for being there, and `strength`, weight decay, for how large it is."""

    cost: Any

    def energy(self, s: Tensor) -> Tensor:
        return s * (self.strength / 2) + self.cost


@dataclass(frozen=True)
class CountPrior(Price, Prior):
    """exp(-cost - strength w^2 / 2) for a weight that is not zero: the L0 norm, with weight decay on what it leaves."""

    cost: Number = 1.0
    strength: Number = 0.0

    def numbers(self) -> tuple[Number, ...]:
        return self.cost, self.strength

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> "Numbers":
        return Numbers(*numbers)


@dataclass
class Numbers(Price):
    """The prior at one step, as numbers on the device."""

    cost: Tensor
    strength: Tensor
