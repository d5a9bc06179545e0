r"""Priors of weights in groups: w_i = v_i z_g, v_i standard normal, with a prior on the scale z_g of a group."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Protocol

from torch import Tensor

from sbnn.model.priors.base import Number, Prior
from sbnn.model.priors.gaussian import Ridge
from sbnn.model.priors.log_uniform import LogUniformPrior


class Term(Protocol):
    """The divergence of a Gaussian N(mean, sigma^2) over a scale, or its logarithm, from that one's prior."""

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        """Up to a constant."""

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        """With respect to mean and sigma."""


@dataclass
class Gamma:
    """Of log x, where x ~ Gamma(1/2, scale): e^(m + s^2/2) / scale - m/2 - log s."""

    scale: Number = 1.0

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        return (mean + sigma.square() / 2).exp() / self.scale - mean / 2 - sigma.log()

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        expected = (mean + sigma.square() / 2).exp() / self.scale
        return expected - 0.5, expected * sigma - 1 / sigma


@dataclass
class InverseGamma:
    """Of log x, where 1/x ~ Gamma(1/2, 1): what `Gamma` is of -log x."""

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        return Gamma().penalty(-mean, sigma)

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        back, spread = Gamma().gradient(-mean, sigma, eps)
        return -back, spread


@dataclass
class HalfCauchy:
    """Of log t, where sqrt(t) is half-Cauchy: t | l ~ IG(1/2, 1/l), l ~ IG(1/2, 1/width^2).

    q(l) is always at its optimum IG(1, e^(-m + s^2/2) + 1/width^2); put in, it leaves
    m/2 + log(e^(-m + s^2/2) + 1/width^2) - log s.
    """

    width: Number = 1.0

    def penalty(self, mean: Tensor, sigma: Tensor) -> Tensor:
        return mean / 2 + ((sigma.square() / 2 - mean).exp() + self.width**-2).log() - sigma.log()

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        expected = (sigma.square() / 2 - mean).exp()
        share = expected / (expected + self.width**-2)
        return 0.5 - share, share * sigma - 1 / sigma


class GroupPrior(Ridge, Prior):
    """Standard normal for the weights, and a term for every scale of a group, in the posterior's order."""

    strength = 1.0

    @property
    @abstractmethod
    def terms(self) -> tuple[Term, ...]: ...

    def energy(self, s: Tensor) -> Tensor:
        return s / 2

    def numbers(self) -> tuple[Number, ...]:
        return ()

    @classmethod
    def of_numbers(cls, *numbers: Tensor) -> Any:
        return cls(*numbers)


class NormalJeffreysPrior(GroupPrior):
    """p(z) ~ 1/|z|: BC-GNJ (Louizos, Ullrich and Welling 2017)."""

    @property
    def terms(self) -> tuple[Term, ...]:
        return (LogUniformPrior(),)


@dataclass(frozen=True)
class GroupHorseshoePrior(GroupPrior):
    """z = sqrt(s_a s_b a b): BC-GHS. A layer's sqrt(s_a s_b) is half-Cauchy of width tau0, a unit's sqrt(a b) of 1."""

    tau0: Number = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        return Gamma(self.tau0**2), InverseGamma(), Gamma(), InverseGamma()

    def numbers(self) -> tuple[Number, ...]:
        return (self.tau0,)


@dataclass(frozen=True)
class HorseshoePrior(GroupPrior):
    """z = sqrt(t T), of a unit and of a layer, their roots half-Cauchy: HS-BNN (Ghosh and Doshi-Velez 2017)."""

    unit: Number = 1.0
    layer: Number = 1.0

    @property
    def terms(self) -> tuple[Term, ...]:
        return HalfCauchy(self.unit), HalfCauchy(self.layer)

    def numbers(self) -> tuple[Number, ...]:
        return self.unit, self.layer
