"""One Gaussian for every weight."""

from dataclasses import dataclass

from torch import Tensor

from sbnn.model.priors.base import Number, Prior, exp


@dataclass(frozen=True)
class GaussianPrior(Prior):
    """N(0, tau^2) on every weight: the plain Bayesian network of Experiment 3; on a point estimate, weight decay."""

    log_tau: Number = 0.0

    def energy(self, s: Tensor) -> Tensor:
        return s * (self.precision(s) / 2) + self.log_tau

    def precision(self, s: Tensor) -> Number:
        return exp(-2 * self.log_tau)

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        precision = exp(-2 * self.log_tau)
        return mean * precision, sigma * precision - 1 / sigma
