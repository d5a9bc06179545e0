"""What the training loop asks of a posterior over the flat weights of R replicas."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from sbnn.model.flat import Layout
from sbnn.model.priors.base import Prior
from sbnn.streams import Streams


class Posterior(ABC):
    """The contract. One tensor `theta`, (rows, R, M), holds all that the optimiser moves; its first row is the mean."""

    is_random: bool  # whether `sample` depends on its noise

    def __init__(self, theta: Tensor):
        self.theta = theta

    @classmethod
    @abstractmethod
    def begun(cls, theta: Tensor, sigma: float) -> Self:
        """A copy of another posterior's theta, or of means (1, R, M), to train on; what it lacks starts from sigma."""

    @property
    def mean(self) -> Tensor:
        return self.theta[0]  # (R, M)

    def take(self, replicas: Tensor) -> Self:
        """Some of the replicas, in the given order, repeats allowed."""
        return type(self)(self.theta[:, replicas])

    def joined(self, parts: Sequence[Self]) -> Self:
        """The replicas of several posteriors of this kind."""
        return type(self)(torch.cat([part.theta for part in parts], dim=1))

    @property
    def sigma(self) -> Tensor:
        """Standard deviations, (R, M)."""
        raise TypeError(f"{type(self).__name__} has no spread.")

    @property
    def second_moment(self) -> Tensor:
        """s = m^2 + sigma^2, (R, M): the inclusion probability is increasing in it."""
        return self.mean.square() + self.sigma.square()

    @abstractmethod
    def sample(self, eps: Tensor) -> Tensor:
        """Weights (R, M) from standard normal noise."""

    @abstractmethod
    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: float, proximal: bool = False
    ) -> list[Tensor]:
        """d objective / d theta, row by row, from dL/dW at the sample and the prior's closed form."""

    @abstractmethod
    def penalty(self, prior: Prior | None) -> Tensor:
        """sum_i R_i of every replica, (R,)."""


def initial_means(layout: Layout, streams: Streams, scale: float, dtype: torch.dtype) -> Tensor:
    """(R, M) means: N(0, scale^2 / fan_in) for weights (scale = sqrt 2 is He's), zero for biases."""
    means = torch.empty(len(streams), layout.size, dtype=dtype, device=streams.device)
    spread = scale / layout.fan_in.sqrt() * ~layout.is_bias
    return streams.normal_(means) * spread.to(means)
