"""An independent Gaussian for every weight: the paper's variational family."""

import math
from typing import Self

import torch
from torch import Tensor

from sbnn.model.elementwise import softplus, softplus_and_slope
from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Number, Prior


def gradient(
    mean: Tensor,
    rho: Tensor,
    grad_weights: Tensor,
    eps: Tensor,
    prior: Prior,
    penalty_weight: Number,
    proximal: bool = False,
) -> tuple[Tensor, Tensor]:
    """d objective / d mean and d rho, from dL/dW and the prior's closed form (Algorithm 1).

    `proximal` leaves the prior's pull at the mean to `shrinkage`.
    """
    sigma, slope = softplus_and_slope(rho)
    grad_mean, grad_sigma = prior.gradient(mean, sigma, eps)
    grad_mean = grad_weights if proximal else grad_mean.mul_(penalty_weight).add_(grad_weights)
    grad_sigma = grad_sigma.mul_(penalty_weight).addcmul_(grad_weights, eps)
    return grad_mean, grad_sigma.mul_(slope)


def shrinkage(mean: Tensor, rho: Tensor, prior: Prior, rate: Number) -> Number:
    """1 + rate lambda: what a proximal step divides a mean by after it has followed the data's gradient.

    Stable however narrow the spike, where an explicit step throws a weight out of it once rate lambda passes 2.
    """
    return 1 + rate * prior.precision(mean.square() + softplus(rho).square())


class MeanField(Posterior):
    """q(w) = N(m, sigma^2), sigma = softplus(rho), for every weight; theta = (m, rho)."""

    is_random = True

    @classmethod
    def begun(cls, theta: Tensor, sigma: float) -> Self:
        return cls(theta.clone()) if len(theta) > 1 else cls.around(theta[0], sigma)

    @classmethod
    def around(cls, means: Tensor, sigma: float) -> Self:
        """Every weight at its mean (R, M), all with the same standard deviation."""
        return cls(torch.stack([means, torch.full_like(means, math.log(math.expm1(sigma)))]))

    @property
    def sigma(self) -> Tensor:
        return softplus(self.theta[1])  # (R, M)

    def sample(self, eps: Tensor) -> Tensor:
        """Weights m + sigma eps, (R, M)."""
        return torch.addcmul(self.mean, self.sigma, eps)

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: float, proximal: bool = False
    ) -> list[Tensor]:
        if prior is None:
            raise TypeError("A mean-field posterior needs a prior.")
        mean, rho = self.theta
        return list(gradient(mean, rho, grad_weights, eps, prior, penalty_weight, proximal))

    def penalty(self, prior: Prior | None) -> Tensor:
        if prior is None:
            raise TypeError("A mean-field posterior needs a prior.")
        return prior.penalty(self.mean, self.sigma).sum(-1)
