"""Looks at a fit while it trains: a progress bar for people, and a sentence if it diverges."""

import time
from collections.abc import Sequence

import torch
from torch import Tensor
from tqdm import tqdm

from sbnn.errors import Diverged
from sbnn.training.step import Sight, Step

SECONDS = 0.5  # between two looks


class Monitor:
    """Never stops the device to look: it notes the first bad step there, and reads the note now and then."""

    def __init__(self, step: Step, bar: tqdm | None):
        self.fit, self.plan, self.bad = step.fit, step.plan, step.bad
        self.bar, self.speaks = bar, step.world.leads
        self.looked, self.counted, self.step = time.monotonic(), 0, 0

    def see(self, step: int, sight: Sight) -> None:
        self.step = step
        if not self.speaks or time.monotonic() - self.looked < SECONDS:  # who can speak is the one to stop
            return
        self.check()
        if self.bar is not None:
            penalty = self.fit.posterior.penalty(self.plan.prior(step)) / self.plan.n
            error = self.fit.likelihood.error(sight.outputs, sight.y).mean()
            loss = (sight.nll + penalty).mean()
            self.bar.set_postfix_str(f"loss {loss:.3f}, {self.fit.likelihood.error_name} {error:.3f}", refresh=False)
            self.advance(step)
        self.looked = time.monotonic()

    def advance(self, step: int) -> None:
        if self.bar is not None:
            self.bar.update(step - self.counted)
            self.counted = step

    def finish(self, moved: Sequence[Tensor]) -> None:
        self.check(moved)
        self.advance(self.plan.steps)

    def likely_cause(self, step: int) -> str:
        """Before the first update it can only be where the fit started; afterwards it is most often the step's size."""
        if step == 0:
            return (
                "nothing has been learned yet, so what it starts from is too large: look at init.mean_scale, "
                "init.sigma and the scale of the data"
            )
        if self.plan.training.temperature > 1:
            return (
                f"lower trainer.temperature={self.plan.training.temperature:g}, or trainer.lr={self.plan.training.lr:g}"
            )
        return f"the learning rate is too high for this network and data: lower trainer.lr={self.plan.training.lr:g}"

    def check(self, moved: Sequence[Tensor] = ()) -> None:
        """Stop with a sentence if any replica has turned non-finite, or if the last update left `moved` so."""
        weights, nll = self.bad.amin(1).tolist()
        if not all(bool(torch.stack(tensor.aminmax()).isfinite().all()) for tensor in moved):
            weights = min(weights, self.step + 1)
        if min(weights, nll) > self.plan.steps:
            return
        step = int(min(weights, nll))
        term = "weights" if weights <= nll else "negative log-likelihood"
        cause = self.likely_cause(step)
        gain = self.plan.gain(max(step - 1, 0))
        if gain > 2:
            term = "penalty's gradient" if weights <= nll else term
            cause = (
                f"a step moves a weight in the spike by {gain:.3g} times itself (stable below 2): lower trainer.lr, "
                "widen the spike (prior.log_tau0) or use trainer.penalty=uniform"
            )
        raise Diverged(f"Training diverged at step {step} of {self.plan.steps}: the {term} became non-finite; {cause}.")
