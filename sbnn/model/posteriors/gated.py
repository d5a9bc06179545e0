"""A Gaussian behind a gate for every weight: the variational family with a spike at exactly zero."""

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from sbnn.model.elementwise import sigmoid, softplus, softplus_and_slope
from sbnn.model.posteriors.base import Posterior
from sbnn.model.posteriors.gates import logistic
from sbnn.model.priors.base import Number, Prior
from sbnn.model.priors.point_mass import PointMassPrior

TEMPERATURE = 0.5  # of the relaxed gate that the gradient goes through
OPEN = 0.99  # phi to start from; both are the authors'


class Gated(Posterior):
    """q(w) = phi N(m, sigma^2) + (1 - phi) delta_0, phi = S(gate): SVBNN (Bai, Song and Cheng 2020).

    theta = (m, rho, gate). Noise is two draws a weight, side by side, (R, 2M): the slab's, and the gate's.
    """

    is_random = True
    ranked_by = "gate"
    draws = 2

    @classmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        mean, *others = (row.clone() for row in theta)
        starts = math.log(math.expm1(sigma)), math.log(OPEN / (1 - OPEN))
        return cls(mean, *others, *(torch.full_like(mean, start) for start in starts[len(others) :]))

    @property
    def sigma(self) -> Tensor:
        """The slab's."""
        return softplus(self.theta[1])  # (R, M)

    @property
    def inclusion(self) -> Tensor:
        """phi, (R, M): the authors keep a weight if it exceeds 1/2."""
        return sigmoid(self.theta[2])

    @property
    def deployed(self) -> Tensor:
        """E[w] = phi m, (R, M)."""
        return self.inclusion * self.mean

    @property
    def second_moment(self) -> Tensor:
        return self.inclusion * super().second_moment

    def sample(self, eps: Tensor) -> Tensor:
        """m + sigma eps where the gate is open, else 0, (R, M)."""
        own, other = eps.chunk(2, 1)
        return torch.addcmul(self.mean, self.sigma, own) * (self.theta[2] + logistic(other) > 0)

    def noise_of(self, weights: Tensor) -> None:
        """A closed gate leaves no trace of it."""

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        """Straight through: a gate is 0 or 1 in the network, and y = S((gate + noise) / T) to its own derivative."""
        mean, rho, gate = self.theta
        own, other = eps.chunk(2, 1)
        sigma, slope = softplus_and_slope(rho)
        phi, level = sigmoid(gate), gate + logistic(other)
        y, through = sigmoid(level / TEMPERATURE), grad_weights * (level > 0)
        given: Any = prior
        grad_mean, grad_sigma = given.gradient(mean, sigma, own)  # of KL(slab || prior's slab), to be paid if open
        grad_gate = (1 - phi) * (gate - given.closing(mean, sigma))
        weight = phi * penalty_weight
        return [
            through + weight * grad_mean,
            (through * own + weight * grad_sigma) * slope,
            grad_weights * torch.addcmul(mean, sigma, own) * (y * (1 - y) / TEMPERATURE) + weight * grad_gate,
        ]

    def penalties(self, prior: Prior | None) -> Tensor:
        if not isinstance(prior, PointMassPrior):
            raise TypeError("A posterior with gates needs a prior with a point mass.")
        return prior.divergence(self.mean, self.sigma, self.theta[2])
