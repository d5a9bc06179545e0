"""A point estimate with a gate for every weight that is often exactly open or exactly closed."""

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from sbnn.model.elementwise import sigmoid
from sbnn.model.posteriors.base import Posterior
from sbnn.model.posteriors.gates import logistic
from sbnn.model.priors.base import Number, Prior

TEMPERATURE = 2 / 3
LOW, HIGH = -0.1, 1.1  # what a gate is stretched to before it is clipped to [0, 1]
SHIFT = -TEMPERATURE * math.log(-LOW / HIGH)
FARTHEST = math.log(100)  # the authors hold a gate's logit within this of zero
OPEN = 0.9  # S(gate) to start from, as Gale, Elsen and Hooker 2019 have it for weights; the authors' 0.5 is for units


class HardConcrete(Posterior):
    """w = v z with z = clip(s (high - low) + low, 0, 1) and s = S((gate + l) / T), l logistic noise.

    This is L0 regularisation (Louizos, Welling and Kingma 2018); theta = (v, gate).
    """

    is_random = True
    ranked_by = "gate"
    draws = 1

    @classmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        mean, *others = (row.clone() for row in theta)
        return cls(mean, *(others or [torch.full_like(mean, math.log(OPEN / (1 - OPEN)))]))

    @property
    def inclusion(self) -> Tensor:
        """P(z > 0), (R, M)."""
        return sigmoid(self.theta[1] + SHIFT)

    @property
    def deployed(self) -> Tensor:
        """v with the gates that the authors test with, clip(S(gate) (high - low) + low, 0, 1), (R, M)."""
        return self.mean * _clipped(sigmoid(self.theta[1]))

    def sample(self, eps: Tensor) -> Tensor:
        return self.mean * _clipped(self._stretchable(eps))

    def noise_of(self, weights: Tensor) -> None:
        """A closed gate leaves no trace of it."""

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        """Through the gate where it is neither open nor closed; to the count, P(z > 0), everywhere."""
        mean, gate = self.theta
        s = self._stretchable(eps)
        z = _clipped(s)
        slope = s * (1 - s) * ((HIGH - LOW) / TEMPERATURE)
        grad_mean = grad_weights * z
        grad_gate = grad_weights * mean * slope * ((z > 0) & (z < 1))
        if prior is not None:
            given: Any = prior
            squared, p = mean.square(), self.inclusion
            weight = p * penalty_weight
            grad_mean = grad_mean + weight * mean * given.precision(squared)
            grad_gate = grad_gate + weight * (1 - p) * given.energy(squared)
        back = grad_gate * gate > 0  # where it is too far out, only the way back is free
        return [grad_mean, grad_gate * (back | (gate.abs() < FARTHEST))]

    def penalties(self, prior: Prior | None) -> Tensor:
        if prior is None:
            return torch.zeros_like(self.mean)
        return self.inclusion * prior.energy(self.mean.square())

    def _stretchable(self, eps: Tensor) -> Tensor:
        return sigmoid((self.theta[1] + logistic(eps)) / TEMPERATURE)


def _clipped(s: Tensor) -> Tensor:
    return (s * (HIGH - LOW) + LOW).clamp(0, 1)
