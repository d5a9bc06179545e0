"""What fits say about new rows: error, likelihood and calibration, of the full network or a pruned one."""

import math
from collections.abc import Callable, Iterator, Sequence
from statistics import NormalDist
from typing import cast

import torch
from torch import Tensor
from torch.distributions import Normal

from sbnn.data.images import ImageData
from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit
from sbnn.model.likelihoods import Gaussian
from sbnn.streams import Streams, seed_modules

TWO_SIDED_95 = 1.959964
ECE_BINS = 15
Restated = Callable[[Tensor], dict[str, Tensor]]


class Predictive:
    """The predictive distribution of R fits on their rows: a mixture of one Gaussian per sampled network.

    A mean-field posterior samples weights, a network trained with dropout samples masks, any other point estimate
    is a mixture of one. The same draws serve every pruning, so that curves are not rough for want of samples.
    """

    def __init__(self, fit: Fit, data: ReplicaData, samples: int, seeds: list[int]):
        self.fit, self.seeds = fit, seeds
        self.x, self.y = data.all()  # (R, B, ...)
        self.scale = self.y.new_ones(len(data)) if data.y_scale is None else data.y_scale.flatten()  # (R,)
        self.noise = cast(Gaussian, fit.likelihood).log_variance.detach().exp().view(-1, 1, 1)
        posterior, streams = fit.posterior, Streams(seeds, fit.posterior.mean.device)
        if posterior.is_random:
            noise = posterior.empty_noise()
            self.draws = [posterior.sample(streams.normal_(noise)) for _ in range(samples)]  # (R, M) each
        else:
            self.draws = [posterior.deployed] * (samples if fit.dropout else 1)

    @torch.no_grad()
    def measure(self, keep: Tensor) -> dict[str, Tensor]:
        """Per replica, in the target's own units, with only the weights in `keep` (R, M) left.

        `rmse` is that of the network at the posterior mean, the one network that would be deployed; with dropout,
        that of the average prediction. `nll` is of the mixture; `coverage` is the share of targets inside the
        central 95 % of the Gaussian with the mixture's mean and variance.
        """
        x, y, scale, noise = self.x, self.y, self.scale, self.noise
        outputs = torch.stack(list(self._outputs(x, keep)))  # (S, R, B, 1)
        mean, deviation = self._moments(outputs)
        point = mean if self.fit.dropout else self._output(self.fit.posterior.deployed * keep, x)
        densities = Normal(outputs, noise.sqrt()).log_prob(y).logsumexp(0) - math.log(len(outputs))
        return {
            "rmse": self.fit.likelihood.error(point, y) * scale,
            "nll": scale.log() - densities.mean((1, 2)),
            "coverage": ((y - mean).abs() <= TWO_SIDED_95 * deviation).to(y.dtype).mean((1, 2)),
        }

    @torch.no_grad()
    def covered(self, keep: Tensor, levels: Sequence[float]) -> Tensor:
        """The share of targets inside the central interval of each level, (levels, R), as `coverage` has it at 95 %."""
        mean, deviation = self._moments(torch.stack(list(self._outputs(self.x, keep))))
        distance = (self.y - mean).abs() / deviation  # (R, B, 1)
        reach = [NormalDist().inv_cdf((1 + level) / 2) for level in levels]
        return torch.stack([(distance <= one).to(distance.dtype).mean((1, 2)) for one in reach])

    def _moments(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation of the mixture, noise included."""
        return outputs.mean(0), (outputs.var(0, correction=0) + self.noise).sqrt()

    def _outputs(self, x: Tensor, keep: Tensor) -> Iterator[Tensor]:
        self.fit.layout.network.train(self.fit.dropout)
        if self.fit.dropout:
            seed_modules(self.seeds[0], keep.device)  # the same masks for every pruning
        for weights in self.draws:
            yield self._output(weights * keep, x)
        self.fit.layout.network.eval()

    def _output(self, weights: Tensor, x: Tensor) -> Tensor:
        return self.fit.layout.forward(weights, x, self.fit.auxiliary)


class Classified:
    """What fitted classifiers say about their rows: the network at the posterior mean, and the average of sampled ones.

    The same draws serve every pruning, so that curves are not rough for want of samples.
    """

    def __init__(self, fit: Fit, data: ImageData | ReplicaData, samples: int, seeds: list[int]):
        self.fit, posterior = fit, fit.posterior
        self.batches = list(data.batches())
        self.y = torch.cat([y for _, y in self.batches], dim=1)  # (R, n)
        self.draws: list[Tensor] = []
        if posterior.is_random:
            streams, noise = Streams(seeds, posterior.mean.device), posterior.empty_noise()
            self.draws = [posterior.sample(streams.normal_(noise)) for _ in range(samples)]  # (R, M) each

    @torch.no_grad()
    def measure(
        self,
        keep: Tensor,
        restated: Restated | None = None,
        sampled: bool = False,
        full: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Error, negative log-likelihood and calibration error, per replica, with only the weights in `keep` left.

        They are of the network at the posterior mean, the one that would be deployed; `sampled` adds those of the
        posterior predictive, the mean of the sampled networks' probabilities. `restated` gives the auxiliary values of
        each of these networks, if they are not those of training. With what is `right` by the full
        network there is `switched` too, the share of rows on which pruning turned right into wrong or wrong into right.
        """
        probabilities = self._probabilities(self.fit.posterior.deployed * keep, restated)
        found = scores_of(probabilities, self.y)
        if full is not None:
            switched = (probabilities.argmax(-1) == self.y) != full
            found["switched"] = switched.to(probabilities.dtype).mean(1)
        if sampled and self.draws:
            sampled_scores = scores_of(self._averaged(keep, restated), self.y)
            found |= {f"sampled_{name}": values for name, values in sampled_scores.items()}
        return found

    @torch.no_grad()
    def reliability(self, keep: Tensor) -> dict[str, Tensor]:
        """Of the posterior predictive, by bins of confidence (R, bins): shares of all rows, which add up to 1, and what
        each bin adds to the mean confidence and to the share of right labels.
        """
        return binned(self._averaged(keep, None), self.y)

    def _averaged(self, keep: Tensor, restated: Restated | None) -> Tensor:
        """The mean of the sampled networks' probabilities, (R, n, classes)."""
        mixed = torch.zeros(())
        for weights in self.draws:
            mixed = self._probabilities(weights * keep, restated) + mixed
        return mixed / len(self.draws)

    @torch.no_grad()
    def right(self, restated: Restated | None = None) -> Tensor:
        """Which rows (R, n) the full network labels rightly."""
        return self._probabilities(self.fit.posterior.deployed, restated).argmax(-1) == self.y

    def _probabilities(self, weights: Tensor, restated: Restated | None) -> Tensor:
        auxiliary = self.fit.auxiliary if restated is None else restated(weights)
        outputs = [self.fit.layout.forward(weights, x, auxiliary) for x, _ in self.batches]
        return torch.cat(outputs, dim=1).softmax(-1)  # (R, n, classes)


def binned(probabilities: Tensor, y: Tensor) -> dict[str, Tensor]:
    """By 15 equal bins of confidence, (R, 15): what each adds to the means over all rows of 1, confidence and right."""
    confidence, label = probabilities.max(-1)  # (R, n)
    bins = (confidence * ECE_BINS).long().clamp(max=ECE_BINS - 1)
    right = (label == y).to(confidence.dtype)
    empty = torch.zeros(len(y), ECE_BINS, device=y.device, dtype=confidence.dtype)
    summed = {"rows": torch.ones_like(right), "confidence": confidence, "right": right}
    return {name: empty.scatter_add(1, bins, values) / y.shape[1] for name, values in summed.items()}


def scores_of(probabilities: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Share of wrong labels, mean -log p of the right one, and ECE over 15 equal bins of confidence, (R,) each."""
    chosen = probabilities.gather(-1, y.unsqueeze(-1)).squeeze(-1)
    by_bin = binned(probabilities, y)
    tiny = torch.finfo(chosen.dtype).tiny  # a label held impossible costs 87 nats, not infinitely many
    return {
        "error": (probabilities.argmax(-1) != y).to(chosen.dtype).mean(1),
        "nll": -chosen.clamp_min(tiny).log().mean(1),
        "ece": (by_bin["right"] - by_bin["confidence"]).abs().sum(1),
    }
