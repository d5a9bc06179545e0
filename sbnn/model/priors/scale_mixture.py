"""The spike-and-slab mixture as Bayes by Backprop uses it."""

from torch import Tensor

from sbnn.model.priors.spike_slab import SpikeSlabPrior


class ScaleMixturePrior(SpikeSlabPrior):
    """The same mixture through log q(W) - log pi(W) at the sampled weight: its gradients are noisy, not closed form."""

    is_shrinkage = False

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        weights = mean + sigma * eps
        pull = weights * self.precision(weights.square())
        return pull, pull * eps - 1 / sigma
