"""What the training loop asks of a posterior over the flat weights of R replicas."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from sbnn.model.flat import Layout
from sbnn.model.priors.base import Number, Prior
from sbnn.streams import Streams


class Posterior(ABC):
    """The contract. `theta`, tensors (R, M), is all that the optimiser moves; the first of them is the mean."""

    is_random: bool  # whether `sample` depends on its noise

    def __init__(self, *theta: Tensor):
        self.theta = theta

    @classmethod
    @abstractmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        """A copy of another posterior's theta, or of means alone, to train on; what it lacks starts from sigma."""

    @property
    def mean(self) -> Tensor:
        return self.theta[0]  # (R, M)

    def take(self, replicas: Tensor) -> Self:
        """Some of the replicas, in the given order, repeats allowed."""
        return type(self)(*(row[replicas] for row in self.theta))

    def columns(self, begin: int, end: int) -> Self:
        """Some of the weights, as views: what happens to them happens here."""
        return type(self)(*(row[:, begin:end] for row in self.theta))

    def joined(self, parts: Sequence[Self]) -> Self:
        """The replicas of several posteriors of this kind."""
        return type(self)(*(torch.cat(rows) for rows in zip(*(part.theta for part in parts), strict=True)))

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
    def noise_of(self, weights: Tensor) -> Tensor:
        """The noise that `sample` made these weights from; whatever, where it uses none."""

    @abstractmethod
    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        """d objective / d theta, row by row, from dL/dW at the sample and the prior's closed form.

        `proximal` leaves the prior's pull at the mean to `shrinkage`.
        """

    def shrinkage(self, prior: Prior, rate: Number) -> Number:
        """What a proximal step divides the means by after it has followed the data's gradient."""
        raise TypeError(f"{type(self).__name__} has no proximal step.")

    @abstractmethod
    def penalty(self, prior: Prior | None) -> Tensor:
        """sum_i R_i of every replica, (R,)."""


def initial_means(layout: Layout, streams: Streams, scale: float, dtype: torch.dtype) -> Tensor:
    """(R, M) means: N(0, scale^2 / fan_in) for weights (scale = sqrt 2 is He's), zero for biases."""
    means = torch.empty(len(streams), layout.size, dtype=dtype, device=streams.device)
    spread = scale / layout.fan_in.sqrt() * ~layout.is_bias
    return streams.normal_(means) * spread.to(means)
