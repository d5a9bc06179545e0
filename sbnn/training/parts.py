"""The parts in which a step draws and moves a posterior, and what it goes by."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sbnn.model.fit import Fit
from sbnn.model.priors.base import Prior
from sbnn.training.noise import noise
from sbnn.training.optimizers import Optimizer

SMALL = 2**16  # weights that take less time to update than to call for it


class Rule(NamedTuple):
    """What kind of step it is. There are no numbers in it: one compiled step serves all fits of a kind."""

    prior: type[Prior] | None
    apply: Callable[..., None]  # the optimiser's
    proximal: bool
    autocast: bool
    splices: bool = False  # weights outside the mask go on moving, to come back if they grow


class Numbers(NamedTuple):
    """A step's row of the table, read."""

    prior: Any
    penalty_weight: Tensor
    shrink_rate: Tensor
    step: Tensor
    rates: tuple[Tensor, Tensor]

    @classmethod
    def read(cls, rule: Rule, row: Tensor) -> "Numbers":
        *own, penalty_weight, shrink_rate, step, first, second = row.unbind()
        prior = None if rule.prior is None else rule.prior.of_numbers(*own)
        return cls(prior, penalty_weight, shrink_rate, step, (first, second))


class Part:
    """Neighbouring parameters of the network that are drawn and moved together, as views of the posterior's rows."""

    def __init__(self, fit: Fit, optimizer: Optimizer, which: slice):
        self.which, sizes = which, fit.layout.sizes
        self.begin, self.size, self.total = sum(sizes[: which.start]), sum(sizes[which]), sum(sizes)
        self.posterior, self.states = fit.posterior, optimizer.states[: len(fit.posterior.theta)]
        if self.size < fit.layout.size:
            end = self.begin + self.size
            self.posterior = fit.posterior.columns(self.begin, end)
            self.states = [tuple(one[:, self.begin : end] for one in state) for state in self.states]

    def draw(self, key: Tensor | None) -> tuple[Tensor, Tensor]:
        """Weights (R, size), and the noise they are made from."""
        eps = self.noise(key)
        return self.posterior.masked(self.posterior.sample(eps)), eps

    def noise(self, key: Tensor | None) -> Tensor:
        """(R, draws size): weight i of M takes the numbers i, M + i, ... of the key's; anything where there is none."""
        mean = self.posterior.mean
        if key is None:
            return mean
        draws = [noise(key, self.size, self.begin + n * self.total) for n in range(self.posterior.draws)]
        return (draws[0] if len(draws) == 1 else torch.cat(draws, 1)).to(mean.dtype)

    def pulled(
        self, rule: Rule, grad: Tensor, drawn: tuple[Tensor, Tensor], key: Tensor | None, numbers: Numbers
    ) -> list[Tensor]:
        """The gradient of the part's own rows. In a compiled step noise is not kept: it is found from the weights,
        (w - m) / sigma, or from the key again.
        """
        weights, eps = drawn
        if torch.compiler.is_compiling():
            found = self.posterior.noise_of(weights)
            eps = self.noise(key) if found is None else found
        grads = self.posterior.gradient(grad, eps, numbers.prior, numbers.penalty_weight, rule.proximal)
        return grads if rule.splices else [self.posterior.masked(row) for row in grads]

    def move(self, rule: Rule, grads: list[Tensor], numbers: Numbers) -> None:
        """The optimiser's step, and the prior's shrinkage after it, in place."""
        posterior = self.posterior
        divisor = posterior.shrinkage(numbers.prior, numbers.shrink_rate) if rule.proximal else None
        for parameter, grad, state in zip(posterior.theta, grads, self.states, strict=True):
            rule.apply(parameter, grad, state, numbers.rates)
        if divisor is not None:
            posterior.mean.div_(divisor)


def neighbours(sizes: list[int]) -> list[slice]:
    """Parameters that make a part: a large one alone, small ones with the small ones next to them."""
    starts = [n for n in range(len(sizes)) if n == 0 or max(sizes[n - 1], sizes[n]) >= SMALL]
    return [slice(*ends) for ends in pairwise([*starts, len(sizes)])]
