"""Posteriors over the flat weights of R replicas. One tensor `theta` holds all that the optimiser moves."""

import math

import torch
from torch import Tensor

from sbnn.model.elementwise import softplus, softplus_and_slope
from sbnn.model.flat import Layout
from sbnn.model.priors.spike_slab import Mixture, Number
from sbnn.streams import Streams

SCORES = ("inclusion", "snr", "magnitude")


def initial_means(layout: Layout, streams: Streams, scale: float, dtype: torch.dtype) -> Tensor:
    """(R, M) means: N(0, scale^2 / fan_in) for weights (scale = sqrt 2 is He's), zero for biases."""
    means = torch.empty(len(streams), layout.size, dtype=dtype, device=streams.device)
    spread = scale / layout.fan_in.sqrt() * ~layout.is_bias
    return streams.normal_(means) * spread.to(means)


def gradient(
    mean: Tensor, rho: Tensor, grad_weights: Tensor, eps: Tensor, prior, penalty_weight: Number, proximal: bool = False
) -> tuple[Tensor, Tensor]:
    """d objective / d mean and d rho, from dL/dW and the prior's closed form (Algorithm 1).

    `proximal` leaves the prior's pull at the mean to `shrinkage`.
    """
    sigma, slope = softplus_and_slope(rho)
    grad_mean, grad_sigma = prior.gradient(mean, sigma, eps)
    grad_mean = grad_weights if proximal else grad_mean.mul_(penalty_weight).add_(grad_weights)
    grad_sigma = grad_sigma.mul_(penalty_weight).addcmul_(grad_weights, eps)
    return grad_mean, grad_sigma.mul_(slope)


def shrinkage(mean: Tensor, rho: Tensor, prior: Mixture, rate: Number) -> Tensor:
    """1 + rate lambda: what a proximal step divides a mean by after it has followed the data's gradient.

    Stable however narrow the spike, where an explicit step throws a weight out of it once rate lambda passes 2.
    """
    return 1 + rate * prior.precision(mean.square() + softplus(rho).square())


class MeanField:
    """q(w) = N(m, sigma^2), sigma = softplus(rho), for every weight; theta = (m, rho)."""

    def __init__(self, theta: Tensor):
        self.theta = theta  # (2, R, M)

    @classmethod
    def around(cls, means: Tensor, sigma: float) -> "MeanField":
        """Every weight at its mean (R, M), all with the same standard deviation."""
        return cls(torch.stack([means, torch.full_like(means, math.log(math.expm1(sigma)))]))

    @property
    def mean(self) -> Tensor:
        return self.theta[0]  # (R, M)

    @property
    def sigma(self) -> Tensor:
        return softplus(self.theta[1])  # (R, M)

    def sample(self, eps: Tensor) -> Tensor:
        """Weights m + sigma eps, (R, M)."""
        return torch.addcmul(self.mean, self.sigma, eps)

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior, penalty_weight: float, proximal: bool = False
    ) -> list[Tensor]:
        return list(gradient(*self.theta, grad_weights, eps, prior, penalty_weight, proximal))

    def penalty(self, prior) -> Tensor:
        """sum_i R_i of every replica, (R,)."""
        return prior.penalty(self.mean, self.sigma).sum(-1)

    @property
    def second_moment(self) -> Tensor:
        """s = m^2 + sigma^2, (R, M): the inclusion probability is increasing in it."""
        return self.mean.square() + self.sigma.square()

    def score(self, name: str) -> Tensor:
        """What a weight is ranked by, (R, M): a higher score is kept longer.

        `inclusion` ranks by s, the same order as p but without p's ties at 0 and 1 in float32.
        """
        if name == "inclusion":
            return self.second_moment
        if name == "snr":
            return self.mean.abs() / self.sigma
        if name == "magnitude":
            return self.mean.abs()
        raise ValueError(f"Unknown score {name!r}; choose one of {', '.join(SCORES)}.")


class Deterministic:
    """A point estimate: the baselines NN and NN_Dr. It has no spread and no noise; a prior, if any, is weight decay."""

    def __init__(self, theta: Tensor):
        self.theta = theta  # (1, R, M)

    @property
    def mean(self) -> Tensor:
        return self.theta[0]

    def sample(self, eps: Tensor) -> Tensor:
        return self.mean.clone()

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior, penalty_weight: float, proximal: bool = False
    ) -> list[Tensor]:
        if prior is not None:
            grad_weights = grad_weights + self.mean * (penalty_weight * prior.precision)
        return [grad_weights]

    def penalty(self, prior) -> Tensor:
        return self.mean.square().sum(-1) * (0 if prior is None else prior.precision / 2)

    def score(self, name: str) -> Tensor:
        if name != "magnitude":
            raise ValueError(f"A deterministic network has no score {name!r}; use 'magnitude'.")
        return self.mean.abs()


class Masked(Deterministic):
    """A pruned network that is trained on: the weights outside `keep` (R, M) stay at zero."""

    def __init__(self, theta: Tensor, keep: Tensor):
        super().__init__(theta * keep)
        self.keep = keep

    def gradient(self, *arguments, **options) -> list[Tensor]:
        return [gradient * self.keep for gradient in super().gradient(*arguments, **options)]
