"""A Gaussian for every weight, times scales that groups of weights share: what leaves is a unit, not a weight."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import torch
from torch import Tensor

from sbnn.model.elementwise import softplus, softplus_and_slope
from sbnn.model.groups import Groups
from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Number, Prior
from sbnn.model.priors.grouped import GroupPrior

SPREAD = math.exp(-4.5)  # of weights and scales to start from: the authors' log sigma^2 = -9


class Grouped(Posterior):
    """w_i = v_i z_i, q(v_i) = N(m, sigma^2), z_i made of Gaussian `scales`, each with groups of its own.

    theta = (m, rho, then a mean and a rho for every scale). A scale's numbers stand at each weight of their group, all
    alike; they stay so, to rounding: each takes the group's gradient, and the noise of the group's first weight.
    """

    is_random = True
    ranked_by = "snr"
    groups: tuple[Groups, ...]
    starts: ClassVar[float]  # where the means of scales begin

    @classmethod
    def over(cls, *numbers: Tensor) -> type[Self]:
        """This kind of posterior for a network's groups, a tensor (M,) for every scale."""
        own = {"groups": tuple(map(Groups, numbers)), "draws": 1 + len(numbers)}
        return type(cls.__name__, (cls,), own)

    @classmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        mean, *others = (row.clone() for row in theta)
        scales = [cls.starts, math.log(math.expm1(SPREAD))] * len(cls.groups)
        starts = [math.log(math.expm1(sigma)), *scales]
        return cls(mean, *others, *(torch.full_like(mean, start) for start in starts[len(others) :]))

    def columns(self, begin: int, end: int) -> Self:
        part = super().columns(begin, end)
        part.groups = tuple(groups.columns(begin, end) for groups in self.groups)
        return part

    @property
    def scales(self) -> list[tuple[Tensor, Tensor]]:
        """Mean and standard deviation of every scale, (R, M) each."""
        rows = self.theta[2:]
        return [(mean, softplus(rho)) for mean, rho in zip(rows[::2], rows[1::2], strict=True)]

    @property
    def deployed(self) -> Tensor:
        """E[w] = E[z] m, (R, M)."""
        return self._moments()[0] * self.mean

    @property
    def sigma(self) -> Tensor:
        """Of the product: E[z^2] (m^2 + sigma^2) - E[z]^2 m^2."""
        first, second = self._moments()
        squared = self.mean.square()
        return (second * (squared + softplus(self.theta[1]).square()) - first.square() * squared).sqrt()

    @property
    def second_moment(self) -> Tensor:
        return self.deployed.square() + self.sigma.square()

    @property
    def strength(self) -> Tensor:
        """What a unit is kept by, (R, M), the same at all of its weights; infinite where a weight belongs to none."""
        units = max(self.groups, key=lambda groups: groups.count)
        return torch.where(units.on(self.mean.device).inside, units.shared(self._strength()), torch.inf)

    @abstractmethod
    def _strength(self) -> Tensor:
        """The same of a weight's own numbers, which differ within a unit by rounding."""

    @abstractmethod
    def _combined(self, values: list[Tensor]) -> tuple[Tensor, Tensor]:
        """z of a weight from its scales' values, and dz/dvalue, the same for all of them."""

    @abstractmethod
    def _moments(self) -> tuple[Tensor, Tensor]:
        """E[z] and E[z^2], (R, M)."""

    def sample(self, eps: Tensor) -> Tensor:
        own, *others = eps.chunk(self.draws, 1)
        z, _ = self._combined(self._values(others))
        return torch.addcmul(self.mean, softplus(self.theta[1]), own) * z

    def noise_of(self, weights: Tensor) -> None:
        """A product does not tell its factors."""

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        own, *others = eps.chunk(self.draws, 1)
        given: Any = prior
        sigma, slope = softplus_and_slope(self.theta[1])
        z, by_value = self._combined(self._values(others))
        grad_mean, grad_sigma = given.gradient(self.mean, sigma, own)
        through = grad_weights * z
        found = [through + penalty_weight * grad_mean, (through * own + penalty_weight * grad_sigma) * slope]
        by_scale = grad_weights * torch.addcmul(self.mean, sigma, own) * by_value
        for number, (groups, noise, term) in enumerate(zip(self.groups, others, given.terms, strict=True)):
            mean, (spread, slope) = self.theta[2 + 2 * number], softplus_and_slope(self.theta[3 + 2 * number])
            data, inside = groups.pooled(by_scale), groups.on(mean.device).inside
            pull, widen = (inside * penalty_weight * grad for grad in term.gradient(mean, spread, noise))
            found += [data + pull, (data * groups.shared(noise) + widen) * slope]
        return found

    def penalties(self, prior: Prior | None) -> Tensor:
        """A scale's term is divided among the weights of its group."""
        if not isinstance(prior, GroupPrior):
            raise TypeError("A posterior of groups needs a prior on their scales.")
        total = prior.penalty(self.mean, softplus(self.theta[1]))
        for groups, (mean, spread), term in zip(self.groups, self.scales, prior.terms, strict=True):
            total = total + groups.on(total.device).share.to(total.dtype) * term.penalty(mean, spread)
        return total

    def _values(self, noise: Sequence[Tensor]) -> list[Tensor]:
        """Draws of the scales."""
        drawn = zip(self.groups, self.scales, noise, strict=True)
        return [torch.addcmul(mean, spread, groups.shared(eps)) for groups, (mean, spread), eps in drawn]

    def _inside(self, number: int) -> Tensor:
        return self.groups[number].on(self.mean.device).inside


class GaussianScaled(Grouped):
    """z ~ N(mu, s^2) itself: BC-GNJ (Louizos, Ullrich and Welling 2017)."""

    starts = 1.0

    def _strength(self) -> Tensor:
        """-log alpha = log(mu^2 / s^2)."""
        ((mean, spread),) = self.scales
        return 2 * (mean.abs() / spread).log()

    def _combined(self, values: list[Tensor]) -> tuple[Tensor, Tensor]:
        inside = self._inside(0)
        return torch.where(inside, values[0], 1.0), inside

    def _moments(self) -> tuple[Tensor, Tensor]:
        ((mean, spread),), inside = self.scales, self._inside(0)
        return torch.where(inside, mean, 1.0), torch.where(inside, mean.square() + spread.square(), 1.0)


class LogNormalScaled(Grouped):
    """z = exp(sum of the scales / 2), each of them the logarithm of a factor of z^2: BC-GHS and HS-BNN."""

    starts = 0.0

    def _strength(self) -> Tensor:
        """The mode of z, as its logarithm."""
        mean, variance = self._logarithm()
        return mean - variance

    def _combined(self, values: list[Tensor]) -> tuple[Tensor, Tensor]:
        total = sum(self._inside(number) * value for number, value in enumerate(values))
        z = torch.as_tensor(total).div(2).exp()
        return z, z / 2

    def _moments(self) -> tuple[Tensor, Tensor]:
        mean, variance = self._logarithm()
        return (mean + variance / 2).exp(), (2 * (mean + variance)).exp()

    def _logarithm(self) -> tuple[Tensor, Tensor]:
        """Mean and variance of log z."""
        means, spreads = (torch.stack(rows) for rows in zip(*self.scales, strict=True))  # (scales, R, M) each
        inside = torch.stack([self._inside(number) for number in range(len(means))]).unsqueeze(1)
        return (inside * means).sum(0) / 2, (inside * spreads.square()).sum(0) / 4
