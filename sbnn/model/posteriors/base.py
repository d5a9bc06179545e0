"""What the training loop asks of a posterior over the flat weights of R replicas."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

import torch
from torch import Tensor

from sbnn.model.flat import Layout
from sbnn.model.priors.base import Number, Prior
from sbnn.streams import Streams


class Posterior(ABC):
    """The contract. `theta`, tensors (R, M), is all that the optimiser moves; the first of them is the mean.

    Where there is a mask `keep` (R, M), the weights outside it are zero and no longer part of the network.
    """

    is_random: bool  # whether `sample` depends on its noise
    ranked_by: str  # the score by which weights leave, unless another is asked for
    draws = 1  # of noise that a weight takes

    def __init__(self, *theta: Tensor, keep: Tensor | None = None):
        self.theta, self.keep = theta, keep

    @classmethod
    @abstractmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        """A copy of another posterior's theta, or of means alone, to train on; what it lacks starts from sigma."""

    @property
    def mean(self) -> Tensor:
        return self.theta[0]  # (R, M)

    def take(self, replicas: Tensor) -> Self:
        """Some of the replicas, in the given order, repeats allowed."""
        return self._each(lambda row: row[replicas])

    def columns(self, begin: int, end: int) -> Self:
        """Some of the weights, as views: what happens to them happens here."""
        return self._each(lambda row: row[:, begin:end])

    def joined(self, parts: Sequence[Self]) -> Self:
        """The replicas of several posteriors of this kind."""
        theta = (torch.cat(rows) for rows in zip(*(part.theta for part in parts), strict=True))
        masks = [part.keep for part in parts if part.keep is not None]
        return type(self)(*theta, keep=torch.cat(masks) if masks else None)

    def _each(self, taken: Callable[[Tensor], Tensor]) -> Self:
        keep = None if self.keep is None else taken(self.keep)
        return type(self)(*(taken(row) for row in self.theta), keep=keep)

    def masked(self, rows: Tensor) -> Tensor:
        """The rows (R, M) with zeros outside the mask."""
        return rows if self.keep is None else rows * self.keep

    @property
    def inclusion(self) -> Tensor | None:
        """The probability that a weight is not zero, (R, M), of a posterior that has it; of others the prior has it."""
        return None

    @property
    def deployed(self) -> Tensor:
        """The weights of the one network that would be used, (R, M)."""
        return self.mean

    @property
    def sigma(self) -> Tensor:
        """Standard deviations, (R, M)."""
        raise TypeError(f"{type(self).__name__} has no spread.")

    @property
    def second_moment(self) -> Tensor:
        """s = m^2 + sigma^2, (R, M): the inclusion probability is increasing in it."""
        return self.mean.square() + self.sigma.square()

    def empty_noise(self) -> Tensor:
        """Room for the noise of a sample, (R, draws M)."""
        replicas, weights = self.mean.shape
        return self.mean.new_empty(replicas, self.draws * weights)

    @abstractmethod
    def sample(self, eps: Tensor) -> Tensor:
        """Weights (R, M) from standard normal noise, (R, draws M)."""

    def noise_of(self, weights: Tensor) -> Tensor | None:
        """The noise that `sample` made these weights from; None if they do not tell."""
        return None

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

    def penalty(self, prior: Prior | None) -> Tensor:
        """sum_i R_i of every replica, (R,), over the weights that are left."""
        return self.masked(self.penalties(prior)).sum(-1)

    @abstractmethod
    def penalties(self, prior: Prior | None) -> Tensor:
        """R_i of every weight, (R, M)."""


def initial_means(layout: Layout, streams: Streams, scale: float, dtype: torch.dtype) -> Tensor:
    """(R, M) means: N(0, scale^2 / fan_in) for weights (scale = sqrt 2 is He's), zero for biases."""
    means = torch.empty(len(streams), layout.size, dtype=dtype, device=streams.device)
    spread = scale / layout.fan_in.sqrt() * ~layout.is_bias
    return streams.normal_(means) * spread.to(means)
