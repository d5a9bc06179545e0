"""Point estimates: the deterministic networks that others are compared with."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Tensor

from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Number, Prior


class Deterministic(Posterior):
    """A point estimate, without spread or noise; a prior, if there is one, is weight decay. theta = (m,)."""

    is_random = False

    @classmethod
    def begun(cls, theta: Sequence[Tensor], sigma: float) -> Self:
        return cls(theta[0].clone())

    def sample(self, eps: Tensor) -> Tensor:
        return self.mean

    def noise_of(self, weights: Tensor) -> Tensor:
        return weights

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        if prior is not None:
            grad_weights = grad_weights + self.mean * (penalty_weight * prior.precision(self.mean.square()))
        return [grad_weights]

    def penalty(self, prior: Prior | None) -> Tensor:
        """A weight of zero costs nothing."""
        if prior is None:
            return self.mean.new_zeros(len(self.mean))
        s = self.mean.square()
        return (prior.energy(s) - prior.energy(0 * s)).sum(-1)


class Masked(Deterministic):
    """A pruned network that is trained on: the weights outside `keep` (R, M) stay where they are, at zero."""

    def __init__(self, mean: Tensor, keep: Tensor):
        super().__init__(mean)
        self.keep = keep

    def take(self, replicas: Tensor) -> Self:
        return type(self)(self.mean[replicas], self.keep[replicas])

    def columns(self, begin: int, end: int) -> Self:
        return type(self)(self.mean[:, begin:end], self.keep[:, begin:end])

    def joined(self, parts: Sequence[Self]) -> Self:
        return type(self)(torch.cat([part.mean for part in parts]), torch.cat([part.keep for part in parts]))

    def gradient(
        self, grad_weights: Tensor, eps: Tensor, prior: Prior | None, penalty_weight: Number, proximal: bool = False
    ) -> list[Tensor]:
        pulled = super().gradient(grad_weights, eps, prior, penalty_weight, proximal)
        return [gradient * self.keep for gradient in pulled]
