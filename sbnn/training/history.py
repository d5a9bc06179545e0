"""How a fit went, epoch by epoch: kept on the device while it trains, and read by whoever asks for it afterwards."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from sbnn.model.fit import Fit
from sbnn.training.schedule import Plan, warm_up
from sbnn.training.step import Sight

MEASURES = ("loss", "penalty", "error", "included")
COLUMNS = ("epoch", *MEASURES, "seconds")
# An epoch's record costs a small fit as much as one of its steps, and a look at a step's outputs a tenth of that. So at
# most one step in two hundred is followed by a record, unless that leaves too few to see a curve.
MOST, FEWEST, STEPS_A_RECORD = 50, 20, 200
PIECE = 2**15  # weights
LOOKS, STEPS_A_LOOK = 10, 10  # an epoch: at least so many looks, and then one every so many steps


@dataclass
class History:
    """Means over the replicas of a fit, at some of its epochs."""

    replicas: int
    epochs: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    measures: list[Tensor] = field(default_factory=list)  # (4,) each, as MEASURES has them
    looks: list[Tensor] = field(default_factory=list)  # (2, R) each, of an epoch that is under way: nll and error

    def rows(self) -> list[dict[str, float]]:
        """By epoch, the mean over replicas of the following.

        `loss` is the mean negative log-likelihood of the epoch's minibatches plus `penalty`, which is R / n with the
        weight it has by then; `error` is the root mean squared error, or the share of wrong labels, on the same
        minibatches; `included` is the share of all weights with p > 1/2, not a number where a method has no p.
        `seconds` count from the beginning of the fit, in all its sittings.
        """
        values = torch.stack(self.measures).tolist() if self.measures else []
        lines = zip(self.epochs, values, self.seconds, strict=True)
        return [dict(zip(COLUMNS, (epoch, *own, spent), strict=True)) for epoch, own, spent in lines]

    def plain(self) -> dict[str, Any]:
        """As JSON has it, between two epochs."""
        return {**vars(self), "measures": [own.tolist() for own in self.measures], "looks": []}

    @classmethod
    def of(cls, plain: dict[str, Any]) -> "History":
        return cls(**{**plain, "measures": [torch.tensor(own) for own in plain["measures"]]})

    @staticmethod
    def joined(parts: Sequence["History"]) -> "History":
        """Of replicas that were trained one chunk after the other: means over all, and the seconds of all together."""
        total = sum(part.replicas for part in parts)
        found, by_epoch = History(total), [{epoch: n for n, epoch in enumerate(part.epochs)} for part in parts]
        for epoch in parts[0].epochs:
            if all(epoch in numbers for numbers in by_epoch):
                own = [(part, numbers[epoch]) for part, numbers in zip(parts, by_epoch, strict=True)]
                found.epochs.append(epoch)
                found.seconds.append(sum(part.seconds[n] for part, n in own))
                weighted = [part.measures[n] * (part.replicas / total) for part, n in own]
                found.measures.append(torch.stack(weighted).sum(0))
        return found


class Recorder:
    """Fills the history of a fit in the loop. It never waits for the device, draws nothing and moves nothing."""

    def __init__(self, fit: Fit, plan: Plan, history: History):
        self.fit, self.plan, self.history = fit, plan, history
        self.epochs = recorded_epochs(plan.steps // plan.batches, plan.steps)
        self.stride = max(1, min(plan.batches // LOOKS, STEPS_A_LOOK))

    def see(self, step: int, sight: Sight, seconds: float) -> None:
        """After step number `step`, and so many seconds into the fit."""
        epoch, position = divmod(step, self.plan.batches)
        if epoch + 1 not in self.epochs:
            return
        left = self.plan.batches - 1 - position
        if left % self.stride == 0:
            self.history.looks.append(torch.stack([sight.nll, self.fit.likelihood.error(sight.outputs, sight.y)]))
        if left == 0:
            self.record(epoch + 1, step, seconds)

    def record(self, epoch: int, step: int, seconds: float) -> None:
        plan, history = self.plan, self.history
        weight = plan.training.temperature * warm_up(plan.training.warmup, step / plan.steps) / plan.n
        prior = plan.prior(step)
        penalty = torch.stack([part.posterior.penalty(prior).mean() for part in self.pieces()]).sum() * weight
        nll, error = torch.stack(history.looks).mean((0, 2))
        history.measures.append(torch.stack([nll + penalty, penalty, error, self.included()]))
        history.epochs.append(epoch)
        history.seconds.append(seconds)
        history.looks.clear()

    def included(self) -> Tensor:
        """The share of all weights with p > 1/2, by the prior that training ends with; those out of a mask are out."""
        mean = self.fit.posterior.mean
        try:
            found = [part.posterior.masked(part.inclusion() > 0.5).sum() for part in self.pieces()]
        except TypeError:
            return mean.new_full((), math.nan)
        return torch.stack(found).sum().to(mean.dtype) / mean.numel()

    def pieces(self) -> list[Fit]:
        """The fit by some of its weights at a time: what is found of them takes no memory to speak of."""
        posterior = self.fit.posterior
        begins = range(0, posterior.mean.shape[1], PIECE)
        return [replace(self.fit, posterior=posterior.columns(begin, begin + PIECE)) for begin in begins]


def recorded_epochs(epochs: int, steps: int) -> set[int]:
    """Evenly spaced, counted from one, the last one among them."""
    count = min(epochs, MOST, max(FEWEST, steps // STEPS_A_RECORD))
    return {math.ceil(number * epochs / count) for number in range(1, count + 1)}
