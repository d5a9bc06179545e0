"""An independent Gaussian for every weight: the paper's variational family."""

import math
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from sbnn.model.elementwise import softplus, softplus_and_slope
from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Number, Prior


class MeanField(Posterior):
    """q(w) = N(m, sigma^2), sigma = softplus(rho), for every weight; theta = (m, rho)."""

    is_random = True
    ranked_by = "snr"

    @classmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        return cls(*(row.clone() for row in theta)) if len(theta) > 1 else cls.around(theta[0], sigma)

    @classmethod
    def around(cls, means: Tensor, sigma: float) -> Self:
        """Every weight at its mean (R, M), all with the same standard deviation."""
        return cls(means.clone(), torch.full_like(means, math.log(math.expm1(sigma))))

    @property
    def sigma(self) -> Tensor:
        return softplus(self.theta[1])  # (R, M)

    def sample(self, eps: Tensor) -> Tensor:
        """Weights m + sigma eps, (R, M)."""
        return torch.addcmul(self.mean, self.sigma, eps)

    def noise_of(self, weights: Tensor) -> Tensor:
        return (weights - self.mean) / self.sigma

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        """From dL/dW and the prior's closed form (Algorithm 1)."""
        mean, rho = self.theta
        sigma, slope = softplus_and_slope(rho)
        grad_mean, grad_sigma = _given(prior).gradient(mean, sigma, eps)
        grad_mean = grad_weights if proximal else grad_mean.mul_(penalty_weight).add_(grad_weights)
        grad_sigma = grad_sigma.mul_(penalty_weight).addcmul_(grad_weights, eps)
        return [grad_mean, grad_sigma.mul_(slope)]

    def shrinkage(self, prior: Prior, rate: Number) -> Number:
        """1 + rate lambda.

        Stable however narrow the spike, where an explicit step throws a weight out of it once rate lambda passes 2.
        """
        return 1 + rate * prior.precision(self.second_moment)

    def penalties(self, prior: Prior | None) -> Tensor:
        return _given(prior).penalty(self.mean, self.sigma)


def _given(prior: Prior | None) -> Prior:
    if prior is None:
        raise TypeError("A mean-field posterior needs a prior.")
    return prior
