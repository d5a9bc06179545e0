"""Pruning inside the training: a mask that shrinks, or wanders, while the weights in it are trained on."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sbnn.compression.pruning import prune_mask
from sbnn.compression.scores import score
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.posteriors.base import Posterior
from sbnn.streams import Streams, seed_of
from sbnn.training.schedule import Plan
from sbnn.training.settings import GRADIENT, MAGNITUDE, NEVER, Gradual, Training
from sbnn.training.step import Step

HYSTERESIS = 0.9 / 1.1  # of a score outside the mask: Dynamic Network Surgery's two thresholds
FIRST_SHARE = 0.3  # of the weights in RigL's mask that are exchanged at first


class Masking(ABC):
    """The contract. The mask is the posterior's, and changes in place between two steps."""

    def __init__(self, fit: Fit, plan: Plan, droprate: float):
        self.fit, self.plan, self.droprate, self.gradual = fit, plan, droprate, plan.training.gradual
        self.last = math.ceil(self.gradual.end * plan.steps)  # the step before which the mask changes for the last time

    @property
    def keep(self) -> Tensor:
        assert self.fit.posterior.keep is not None  # `masking_of` put it there
        return self.fit.posterior.keep

    def before(self, step: Step, number: int, positions: Tensor) -> None:
        """Change the mask if the time has come. `positions` (R, B) are of the batch that step `number` will take."""
        if number == self.last or (self.begins <= number < self.last and number % self.gradual.every == 0):
            self.change(step, number, positions)

    @property
    @abstractmethod
    def begins(self) -> int:
        """The first step before which the mask may change."""

    @abstractmethod
    def change(self, step: Step, number: int, positions: Tensor) -> None:
        """The mask as it is to be from step `number` on."""

    def clear(self, step: Step) -> None:
        """Weights outside the mask are zero and stand still."""
        for row in (self.fit.posterior.mean, *_moments(step)):
            row.mul_(self.keep)

    def finish(self) -> None:
        """What was left to move outside the mask is gone."""
        self.fit.posterior.mean.mul_(self.keep)


class Shrinking(Masking):
    """The weights of lowest score leave: after the share q of the way from begin to end, d (1 - (1 - q)^3) of all.

    This is Zhu and Gupta's gradual pruning. Weights that left stay away; or all go on moving, in the mask or not, and
    those that have grown past others come back (Dynamic Network Surgery of Guo, Yao and Chen).
    """

    @property
    def begins(self) -> int:
        return math.ceil(self.gradual.begin * self.plan.steps)

    def change(self, step: Step, number: int, positions: Tensor) -> None:
        fit, keep = self.fit, self.keep
        way = 1.0 if number >= self.last else (number - self.begins) / (self.last - self.begins)
        scores = score(fit, score_by(fit, self.gradual))
        outside = scores * HYSTERESIS if step.rule.splices else torch.full_like(scores, -math.inf)
        scores = torch.where(keep, scores, outside)
        keep.copy_(prune_mask(scores, fit.layout, self.droprate * (1 - (1 - way) ** 3), self.gradual))
        if not step.rule.splices:
            self.clear(step)


class Wandering(Masking):
    """RigL (Evci and others 2020): as sparse from the first step on, by layers, biases left alone.

    A layer's density is in proportion to (inputs + outputs) / (inputs outputs), at most one. Now and then the share
    f = 0.3 (1 + cos(pi t / T)) / 2 of its weights, those of least |w|, make room for as many of largest |dL/dw|.
    """

    begins = 1

    def __init__(self, fit: Fit, plan: Plan, droprate: float, streams: Streams):
        super().__init__(fit, plan, droprate)
        layout = fit.layout
        ends = [0, *torch.tensor(layout.sizes).cumsum(0).tolist()]
        matrices = [n for n, shape in enumerate(layout.shapes) if len(shape) > 1]
        self.layers = [slice(ends[n], ends[n + 1]) for n in matrices]
        counts = densest_by_layer([tuple(layout.shapes[n]) for n in matrices], 1 - droprate)
        for layer, count in zip(self.layers, counts, strict=True):
            size = layer.stop - layer.start
            drawn = [torch.Generator().manual_seed(seed_of(seed, "mask", layer.start)) for seed in streams.seeds]
            order = torch.stack([torch.randperm(size, generator=own) for own in drawn]).to(self.keep.device)
            self.keep[:, layer].scatter_(1, order[:, count:], False)
        fit.posterior.mean.mul_(self.keep)

    def change(self, step: Step, number: int, positions: Tensor) -> None:
        mean, share = self.fit.posterior.mean, FIRST_SHARE * (1 + math.cos(math.pi * number / self.last)) / 2
        gradient = step.gradient_at_mean(positions).abs()
        for layer in self.layers:
            exchange(self.keep[:, layer], mean[:, layer].abs(), gradient[:, layer], share)
        self.clear(step)


def exchange(keep: Tensor, size: Tensor, gradient: Tensor, share: float) -> None:
    """The smallest `share` of the weights in a mask (R, n) leave, and as many of largest gradient come, in place."""
    kept = keep.sum(1, keepdim=True)
    count = (share * kept).round()  # (R, 1)
    by_size = torch.where(keep, size, math.inf).argsort(dim=1).argsort(dim=1)  # ranks, those to leave first
    stays = keep & (by_size >= count)
    by_gradient = torch.where(stays, -math.inf, gradient).argsort(dim=1, descending=True).argsort(dim=1)
    keep.copy_(stays | (by_gradient < count))


def densest_by_layer(shapes: list[tuple[int, ...]], density: float) -> list[int]:
    """How many weights each layer keeps: a small layer a larger share, and no more than all (Erdos-Renyi)."""
    sizes = [math.prod(shape) for shape in shapes]
    wanted, scale = density * sum(sizes), [float(sum(shape)) for shape in shapes]
    dense: set[int] = set()
    while True:
        rest = wanted - sum(sizes[n] for n in dense)
        factor = rest / sum(scale[n] for n in range(len(shapes)) if n not in dense)
        over = [n for n in range(len(shapes)) if n not in dense and factor * scale[n] > sizes[n]]
        if not over:
            return [sizes[n] if n in dense else round(factor * scale[n]) for n in range(len(shapes))]
        dense |= set(over)


def masking_of(fit: Fit, plan: Plan, streams: Streams) -> Masking | None:
    """What changes the fit's mask, if its training prunes; the fit then has one, at first of all weights."""
    droprate, posterior = plan.training.prune_to, fit.posterior
    if droprate is None:
        return None
    check_masking(plan.training, type(posterior))
    posterior.keep = torch.ones_like(posterior.mean, dtype=torch.bool)
    if plan.training.gradual.comeback == GRADIENT:
        return Wandering(fit, plan, droprate, streams)
    return Shrinking(fit, plan, droprate)


def check_masking(training: Training, posterior: type[Posterior]) -> None:
    """Weights can come back as they are asked to."""
    gradual = training.gradual
    if training.prune_to is None:
        return
    if gradual.comeback == GRADIENT and gradual.biases:
        raise ConfigError(f"trainer.gradual.comeback={GRADIENT} leaves biases alone; use trainer.gradual.biases=false.")
    if gradual.comeback == MAGNITUDE and posterior.is_random:
        raise ConfigError(f"trainer.gradual.comeback={MAGNITUDE} is for point estimates; use {NEVER} or {GRADIENT}.")


def score_by(fit: Fit, gradual: Gradual) -> str:
    """The name of what decides who leaves."""
    return gradual.score or fit.posterior.ranked_by


def _moments(step: Step) -> list[Tensor]:
    """The optimiser's memory of every row of theta."""
    states = step.optimizer.states[: len(step.fit.posterior.theta)]
    return [moment for state in states for moment in state]
