"""What fitted regressions say about new rows: error, likelihood and coverage, of the full network or a pruned one."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from torch.distributions import Normal

from sbnn.data.replicas import ReplicaData
from sbnn.methods import Fit
from sbnn.posterior import MeanField
from sbnn.streams import Streams, seed_modules

TWO_SIDED_95 = 1.959964


class Predictive:
    """The predictive distribution of R fits on their rows: a mixture of one Gaussian per sampled network.

    A mean-field posterior samples weights, a network trained with dropout samples masks, any other point estimate
    is a mixture of one. The same draws serve every pruning, so that curves are not rough for want of samples.
    """

    def __init__(self, fit: Fit, data: ReplicaData, samples: int, seeds: list[int]):
        self.fit, self.seeds = fit, seeds
        (self.x, self.y), self.scale = data.all(), data.y_scale.flatten()  # (R, B, ...), (R,)
        posterior, streams = fit.posterior, Streams(seeds, fit.posterior.mean.device)
        if isinstance(posterior, MeanField):
            noise = torch.empty_like(posterior.mean)
            self.draws = [posterior.sample(streams.normal_(noise)) for _ in range(samples)]  # (R, M) each
        else:
            self.draws = [posterior.mean] * (samples if fit.dropout else 1)

    @torch.no_grad()
    def measure(self, keep: Tensor) -> dict[str, Tensor]:
        """Per replica, in the target's own units, with only the weights in `keep` (R, M) left.

        `rmse` is that of the network at the posterior mean, the one network that would be deployed; with dropout,
        that of the average prediction. `nll` is of the mixture; `coverage` is the share of targets inside the
        central 95 % of the Gaussian with the mixture's mean and variance.
        """
        x, y, scale = self.x, self.y, self.scale
        outputs = torch.stack(list(self._outputs(x, keep)))  # (S, R, B, 1)
        mean, noise = outputs.mean(0), self.fit.likelihood.log_variance.exp().view(-1, 1, 1)
        point = mean if self.fit.dropout else self.fit.layout.forward(self.fit.posterior.mean * keep, x)
        densities = Normal(outputs, noise.sqrt()).log_prob(y).logsumexp(0) - math.log(len(outputs))
        reach = TWO_SIDED_95 * (outputs.var(0, correction=0) + noise).sqrt()
        return {
            "rmse": self.fit.likelihood.error(point, y) * scale,
            "nll": scale.log() - densities.mean((1, 2)),
            "coverage": ((y - mean).abs() <= reach).to(y.dtype).mean((1, 2)),
        }

    def _outputs(self, x: Tensor, keep: Tensor) -> Iterator[Tensor]:
        self.fit.layout.network.train(bool(self.fit.dropout))
        if self.fit.dropout:
            seed_modules(self.seeds[0], keep.device)  # the same masks for every pruning
        for weights in self.draws:
            yield self.fit.layout.forward(weights * keep, x, self.fit.dropout)
        self.fit.layout.network.eval()
