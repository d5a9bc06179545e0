"""What changes over the steps of a fit: learning rate, weight of the penalty, width of the spike.

All are known before training starts, so they are plain floats: reading them never waits for a device.
"""

import math

from sbnn.errors import ConfigError
from sbnn.model.priors.base import Prior, exp
from sbnn.training.settings import Training


class Plan:
    """What step k of a fit on n rows uses."""

    def __init__(self, training: Training, prior: Prior | None, n: int):
        if training.batch > n:
            raise ConfigError(f"trainer.batch={training.batch} is larger than the {n} training rows of a replica.")
        if training.proximal and (training.optimizer != "sgd" or prior is None or not prior.is_shrinkage):
            raise ConfigError(
                "trainer.proximal=true needs trainer.optimizer=sgd and a prior whose penalty has a closed form, "
                "the spike-and-slab prior of the paper."
            )
        self.training, self.final_prior, self.n = training, prior, n
        self.batches = n // training.batch
        epochs = training.epochs if training.steps is None else max(1, round(training.steps / self.batches))
        self.steps = epochs * self.batches
        self.shares = penalty_shares(training.penalty, self.batches)

    def learning_rate(self, step: int) -> float:
        return learning_rate(self.training.schedule, self.training.lr, step / self.steps)

    def penalty_weight(self, step: int) -> float:
        """M r_i / n: what the penalty weighs against the *mean* negative log-likelihood of batch i."""
        weight = self.shares[step % self.batches] * self.batches / self.n
        return weight * self.training.temperature * warm_up(self.training.warmup, step / self.steps)

    def shrink_rate(self, step: int) -> float:
        """What a proximal step multiplies the prior's precision by; momentum repeats the data's gradient as often."""
        return self.learning_rate(step) * self.penalty_weight(step) / (1 - self.training.momentum)

    def prior(self, step: int) -> Prior | None:
        """With its spike as wide as it is by then."""
        start = self.training.anneal_from
        if start is None or self.final_prior is None or self.final_prior.log_spike is None:
            return self.final_prior
        end = self.final_prior.log_spike
        way = warm_up(self.training.anneal_share, step / self.steps)
        return self.final_prior.with_spike(start + (end - start) * way)

    def gain(self, step: int) -> float:
        """Share of itself by which plain SGD moves a weight in the spike: it oscillates away above 2."""
        prior = self.prior(step)
        explicit = self.training.optimizer == "sgd" and not self.training.proximal
        if not explicit or prior is None or prior.log_spike is None:
            return 0.0
        return self.learning_rate(step) * self.penalty_weight(step) * float(exp(-2 * prior.log_spike))


def learning_rate(kind: str, peak: float, progress: float) -> float:
    """The learning rate at `progress` in [0, 1) of the steps.

    `one_cycle` climbs from peak/25 over the first 30 % and falls to almost nothing, both along a cosine.
    """
    if kind == "constant":
        return peak
    if kind == "cosine":
        return _cosine(peak, peak * 1e-3, progress)
    if kind == "one_cycle":
        if progress < 0.3:
            return _cosine(peak / 25, peak, progress / 0.3)
        return _cosine(peak, peak * 1e-4, (progress - 0.3) / 0.7)
    raise ValueError(f"Unknown schedule {kind!r}.")


def _cosine(start: float, end: float, progress: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * progress)) / 2


def penalty_shares(kind: str, batches: int) -> list[float]:
    """r_i, the share of the penalty that minibatch i of M carries; they sum to one.

    `uniform` is 1/M; `blundell` is 2^(M-i)/(2^M - 1), in log space because 2^M overflows.
    """
    if kind == "uniform":
        return [1 / batches] * batches
    if kind == "blundell":
        log_total = batches * math.log(2) + math.log1p(-math.exp(-batches * math.log(2)))
        return [math.exp((batches - i) * math.log(2) - log_total) for i in range(1, batches + 1)]
    raise ValueError(f"Unknown penalty weights {kind!r}.")


def warm_up(share: float, progress: float) -> float:
    """Rises linearly from 0 to 1 over the first `share` of the steps."""
    return 1.0 if share <= 0 else min(1.0, progress / share)
