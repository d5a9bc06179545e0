r"""The prior of variational dropout, under which a weight's noise may outgrow the weight."""

import math
from typing import NoReturn, Self

import torch
import torch.nn.functional as F
from torch import Tensor

from sbnn.model.elementwise import sigmoid
from sbnn.model.priors.base import Number, Prior

K1, K2, K3 = 0.63576, 1.87320, 1.48695  # of the approximation, which is within 0.01 nats of the divergence
LEAST, MOST = math.exp(-8), math.exp(8)  # alpha outside of which there is no gradient, as the authors have it
PRUNED = 3.0  # log alpha from which the authors set a weight to zero: |m| / sigma below e^-1.5


class LogUniformPrior(Prior):
    r"""p(w) ~ 1/|w|: Sparse VD (Molchanov, Ashukha and Vetrov 2017). It has no parameters, and cannot be normalised.

    The divergence of N(m, sigma^2) from it depends on alpha = sigma^2 / m^2 alone. With S the sigmoid,

        KL = k1 (1 - S(k2 + k3 log alpha)) + log(1 + 1/alpha) / 2,

    which falls to zero as alpha grows: a weight that the data do not hold drowns in its own noise.
    """

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        log_alpha = _alpha(mean, sigma).log()
        return K1 * sigmoid(-K2 - K3 * log_alpha) + F.softplus(-log_alpha) / 2

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """-2h/m and 2h/sigma, where h = dKL/dlog alpha; 1/m is written m alpha/sigma^2, so that m may be zero."""
        alpha = _alpha(mean, sigma)
        q = sigmoid(K2 + K3 * alpha.log())
        h = -K1 * K3 * q * (1 - q) - 0.5 / (1 + alpha)
        pull = torch.where((alpha > LEAST) & (alpha < MOST), 2 * h / sigma, 0.0)
        return -pull * mean * alpha / sigma, pull

    def energy(self, s: Tensor) -> NoReturn:
        _needs_spread()

    def precision(self, s: Tensor) -> NoReturn:
        _needs_spread()

    def numbers(self) -> tuple[Number, ...]:
        return ()

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> Self:
        return cls()


def log_alpha(mean: Tensor, sigma: Tensor) -> Tensor:
    """log(sigma^2 / m^2), the noise of a weight relative to itself: prune above `PRUNED`."""
    return 2 * (sigma / mean.abs()).log()


def _alpha(mean: Tensor, sigma: Tensor) -> Tensor:
    return (sigma / mean).square().clamp(LEAST, MOST)


def _needs_spread() -> NoReturn:
    raise TypeError("Under a log-uniform prior the best point estimate is always zero; it needs a posterior.")
