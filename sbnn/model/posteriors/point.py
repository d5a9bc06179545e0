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
    ranked_by = "magnitude"

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

    def penalties(self, prior: Prior | None) -> Tensor:
        """A weight of zero costs nothing."""
        if prior is None:
            return torch.zeros_like(self.mean)
        s = self.mean.square()
        return prior.energy(s) - prior.energy(0 * s)
