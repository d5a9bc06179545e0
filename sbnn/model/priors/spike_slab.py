r"""Priors on a weight, as pure functions of its mean and standard deviation.

Write `s = m^2 + sigma^2` for the second moment of the variational posterior N(m, sigma^2). Every prior gives

* `penalty(mean, sigma)`: its term in the objective, up to a constant;
* `gradient(mean, sigma, eps)`: that term's derivatives with respect to mean and sigma.

All parameters are natural logs where the name says so; tensors of shape (R, 1) give each replica its own.
"""

import math
from dataclasses import dataclass, replace

import torch.nn.functional as F
from torch import Tensor

from sbnn.model.elementwise import sigmoid

Number = float | Tensor


def _exp(value: Number) -> Number:
    """Of a float as a float: it costs nothing beside tensors, and neither rounds nor promotes them."""
    return value.exp() if isinstance(value, Tensor) else math.exp(value)


def _logit(value: Number) -> Number:
    return value.logit() if isinstance(value, Tensor) else math.log(value / (1 - value))


@dataclass(frozen=True)
class GaussianPrior:
    """N(0, tau^2) on every weight: the plain Bayesian network, `BNN` in Experiment 3."""

    log_tau: Number = 0.0

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        return (mean.square() + sigma.square()) * (self.precision / 2) - sigma.log() + self.log_tau

    @property
    def precision(self) -> Number:
        return _exp(-2 * self.log_tau)

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        return mean * self.precision, sigma * self.precision - 1 / sigma


class Mixture:
    """Two zero-mean Gaussians by the precisions of `slab` and `spike`, and `offset`, the logit of p at s = 0."""

    slab: Number
    spike: Number
    offset: Number

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
class SpikeSlabPrior(Mixture):
    r"""pi N(0, tau1^2) + (1 - pi) N(0, tau0^2): tau1 is the slab, tau0 the spike.

    The inclusion probability p is always at its optimum p*(m, sigma) (Eq. 10): by the envelope theorem the
    gradient at fixed p = p* is the gradient of the penalty with p* put in, so computing p anew in every step
    is the paper's coordinate descent.
    """

    log_tau1: Number = 0.0
    log_tau0: Number = -2.0
    pi: Number = 0.5

    def with_spike(self, log_tau0: Number) -> "SpikeSlabPrior":
        """The same prior with another spike: the annealed schedule moves it step by step."""
        return replace(self, log_tau0=log_tau0)

    @property
    def slab(self) -> Number:
        return _exp(-2 * self.log_tau1)

    @property
    def spike(self) -> Number:
        return _exp(-2 * self.log_tau0)

    @property
    def offset(self) -> Number:
        return self.log_tau0 - self.log_tau1 + _logit(self.pi)

    def joint_penalty(self, mean: Tensor, sigma: Tensor, p: Tensor) -> Tensor:
        """R(theta, p) as printed in Eq. 9. NaN once p rounds to 0 or 1: train and report with `penalty`."""
        s = mean.square() + sigma.square()
        included = s * self.slab / 2 + self.log_tau1 + (p / (sigma * self.pi)).log()
        excluded = s * self.spike / 2 + self.log_tau0 + ((1 - p) / (sigma * (1 - self.pi))).log()
        return p * included + (1 - p) * excluded

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        """R at p = p*, collapsed so that no p appears: -log of the mixture at s, less log sigma."""
        s = mean.square() + sigma.square()
        slab_term = s * self.slab / 2 + self.log_tau1 - (sigma * self.pi).log()
        return slab_term - F.softplus(-self.logit(s))

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """dR/dm = m lambda and dR/dsigma = sigma lambda - 1/sigma, in closed form; eps is not needed."""
        precision = self.precision(mean.square() + sigma.square())
        return mean * precision, sigma * precision - 1 / sigma


class ScaleMixturePrior(SpikeSlabPrior):
    """The same mixture as Bayes by Backprop uses it: log q(W) - log pi(W) at the sampled weight."""

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        weights = mean + sigma * eps
        pull = weights * self.precision(weights.square())
        return pull, pull * eps - 1 / sigma
