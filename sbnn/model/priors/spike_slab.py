r"""The paper's prior: a wide Gaussian for the weights that matter, a narrow one for the others."""

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import torch.nn.functional as F
from torch import Tensor

from sbnn.model.elementwise import sigmoid
from sbnn.model.priors.base import Number, Prior, exp, logit


class Mixture:
    """Two zero-mean Gaussians by the precisions of `slab` and `spike`, and `offset`, the logit of p at s = 0."""

    slab: Any
    spike: Any
    offset: Any

    def logit(self, s: Tensor) -> Tensor:
        """B - A of Eq. 10 at second moment s."""
        return s * ((self.spike - self.slab) / 2) + self.offset

    def inclusion(self, s: Tensor) -> Tensor:
        """p*, the posterior probability that the weight comes from the slab (Eq. 10)."""
        return sigmoid(self.logit(s))

    def precision(self, s: Tensor) -> Tensor:
        """lambda = p/tau1^2 + (1-p)/tau0^2: how hard the prior pulls at a weight."""
        return self.slab + sigmoid(-self.logit(s)) * (self.spike - self.slab)  # exact at both ends


@dataclass(frozen=True)
class SpikeSlabPrior(Mixture, Prior):
    r"""pi N(0, tau1^2) + (1 - pi) N(0, tau0^2): tau1 is the slab, tau0 the spike.

    The inclusion probability p is always at its optimum p*(m, sigma) (Eq. 10): by the envelope theorem the
    gradient at fixed p = p* is the gradient of the penalty with p* put in, so computing p again in every step
    is the paper's coordinate descent.
    """

    log_tau1: Number = 0.0
    log_tau0: Number = -2.0
    pi: Number = 0.5

    is_shrinkage = True

    @property
    def slab(self) -> Number:
        return exp(-2 * self.log_tau1)

    @property
    def spike(self) -> Number:
        return exp(-2 * self.log_tau0)

    @property
    def offset(self) -> Number:
        return self.log_tau0 - self.log_tau1 + logit(self.pi)

    @property
    def log_spike(self) -> Number:
        return self.log_tau0

    def with_spike(self, log_tau0: Number) -> Self:
        return replace(self, log_tau0=log_tau0)

    def joint_penalty(self, mean: Tensor, sigma: Tensor, p: Tensor) -> Tensor:
        """R(theta, p) as printed in Eq. 9. NaN once p rounds to 0 or 1: train and report with `penalty`."""
        s = mean.square() + sigma.square()
        included = s * self.slab / 2 + self.log_tau1 + (p / (sigma * self.pi)).log()
        excluded = s * self.spike / 2 + self.log_tau0 + ((1 - p) / (sigma * (1 - self.pi))).log()
        return p * included + (1 - p) * excluded

    def energy(self, s: Tensor) -> Tensor:
        """-log of the mixture at s, so that `penalty` is R at p = p*, collapsed: no p appears in it."""
        log_pi = self.pi.log() if isinstance(self.pi, Tensor) else math.log(self.pi)
        return s * self.slab / 2 + self.log_tau1 - log_pi - F.softplus(-self.logit(s))

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """dR/dm = m lambda and dR/dsigma = sigma lambda - 1/sigma, in closed form; eps is not needed."""
        precision = self.precision(mean.square() + sigma.square())
        return mean * precision, sigma * precision - 1 / sigma

    def numbers(self) -> tuple[Number, ...]:
        return self.slab, self.spike, self.offset

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> "Numbers":
        return Numbers(cls, *numbers)


@dataclass
class Numbers(Mixture):
    """A prior at one step, as numbers on the device, with its own kind's way to the gradient."""

    kind: type[SpikeSlabPrior]
    slab: Tensor
    spike: Tensor
    offset: Tensor

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        return self.kind.gradient(self, mean, sigma, eps)  # type: ignore[arg-type]
