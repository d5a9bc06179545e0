"""One step of Algorithm 1 as a function of tensors: `compiled.py` compiles what is written here, and nothing else."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.model.likelihoods import Likelihood
from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Prior
from sbnn.streams import Streams
from sbnn.training.distributed import World
from sbnn.training.noise import noise
from sbnn.training.optimizers import Optimizer
from sbnn.training.schedule import Plan

BLOCK = 256  # steps whose numbers and keys go to the device in one copy


class Rule(NamedTuple):
    """What kind of step it is. There are no numbers in it: one compiled step serves all fits of a kind."""

    prior: type[Prior] | None
    apply: Callable[..., None]  # the optimiser's
    proximal: bool
    autocast: bool


class Now(NamedTuple):
    """What this step uses and the next one does not."""

    positions: Tensor  # (R, B)
    drawn: Tensor | None  # what is random about the batch
    keys: Sequence[Tensor | None]  # one for each sample: (R, 2), or None where there is no noise
    numbers: Tensor  # the prior's own, then as `Numbers` has them


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


class Sight(NamedTuple):
    """What a step saw, for the monitor to look at."""

    nll: Tensor  # (R,)
    outputs: Tensor  # (R, B, out)
    y: Tensor


class Step:
    """Moves a fit by one minibatch. `step(number, positions)` is all that the loop knows of it.

    `ways` are functions of it and of what is to be used now, and do the same: the first that runs is taken.
    """

    ways: list["Way"]

    def __init__(self, fit: Fit, data: ReplicaSource, optimizer: Optimizer, plan: Plan, streams: Streams, world: World):
        self.fit, self.data, self.optimizer = fit, data, optimizer
        self.plan, self.streams, self.world = plan, streams, world
        self.ways = [advance]
        training, prior = plan.training, plan.final_prior
        fast = in_bfloat16(training.autocast, streams.device, fit.likelihood)
        self.rule = Rule(None if prior is None else type(prior), type(optimizer).apply, training.proximal, fast)
        # The first step at which a replica's weights, and its likelihood, were not finite.
        self.bad = torch.full((2, len(fit.posterior.mean)), torch.inf, device=streams.device)
        self.block: int | None = None

    @torch.no_grad()
    def __call__(self, number: int, positions: Tensor) -> Sight:
        now = self.now(number, positions)
        while len(self.ways) > 1:
            try:
                sight = self.ways[0](self, now)
            except Exception:  # it cannot be traced, and so has moved nothing
                self.ways = self.ways[1:]
            else:
                self.ways = self.ways[:1]
                return sight
        return self.ways[0](self, now)

    def now(self, number: int, positions: Tensor) -> Now:
        """With numbers and keys from the tables of the step's block."""
        block, row = divmod(number, BLOCK)
        if block != self.block:
            self.block, self.numbers, self.keys = block, self._numbers(block), self._keys(block)
        part = self.world.part(positions.shape[1])
        drawn = self.data.draw(positions.shape[1], self.streams, part)
        return Now(positions[:, part], drawn, self.keys[row], self.numbers[row])

    def _numbers(self, block: int) -> Tensor:
        steps = range(block * BLOCK, min((block + 1) * BLOCK, self.plan.steps))
        return self.fit.posterior.mean.new_tensor([self._row(step) for step in steps])

    def _row(self, step: int) -> list[float]:
        plan, prior = self.plan, self.plan.prior(step)
        own = () if prior is None else prior.numbers()
        rates = self.optimizer.numbers(plan.learning_rate(step), step)
        return [*map(float, own), plan.penalty_weight(step), plan.shrink_rate(step), step, *rates]

    def _keys(self, block: int) -> list[list[Tensor]] | list[list[None]]:
        samples = self.plan.training.samples
        if not self.fit.posterior.is_random:
            return [[None] * samples] * BLOCK
        keys = self.streams.keys(BLOCK * samples, block)  # (BLOCK samples, R, 2)
        return [list(keys[row * samples : (row + 1) * samples]) for row in range(BLOCK)]


Way = Callable[[Step, Now], Sight]


def advance(step: Step, now: Now) -> Sight:
    """The whole step, in place, operation by operation."""
    fit, rule, numbers = step.fit, step.rule, Numbers.read(step.rule, now.numbers)
    x, y = step.data.read(now.positions, now.drawn)
    estimates = []
    for key in now.keys:
        weights, eps = draw(fit.posterior, key)
        grads, sight = gradients(step, weights, x, y)
        own, others = grads[: len(fit.layout.names)], grads[len(fit.layout.names) :]
        flat = torch.cat([grad.reshape(len(grad), -1) for grad in own], dim=1)  # (R, M)
        pulled = fit.posterior.gradient(flat, eps, numbers.prior, numbers.penalty_weight, rule.proximal)
        estimates.append([*pulled, *others])
    note(step.bad, numbers.step, weights.sum(-1), sight.nll)
    move(rule, fit, step.optimizer.states, average(estimates), numbers)
    return sight


def draw(posterior: Posterior, key: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weights (R, M), and the noise they are made from."""
    eps = posterior.mean if key is None else noise(key, posterior.mean.shape[1]).to(posterior.mean.dtype)
    return posterior.sample(eps), eps


def gradients(step: Step, weights: Tensor, x: Tensor, y: Tensor) -> tuple[list[Tensor], Sight]:
    """Of one Monte Carlo estimate, parameter by parameter; autograd sees no more than the sampled weights.

    Those of the network's parameters come first, then of exempt ones, then of the likelihood's.
    """
    fit, world = step.fit, step.world
    named = fit.layout.unflatten(weights) | fit.exempt
    names, buffers = list(named), fit.buffers

    def loss(leaves: list[Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        with torch.autocast(x.device.type, torch.bfloat16) if step.rule.autocast else nullcontext():
            parameters = dict(zip(names, leaves[: len(names)], strict=True))
            outputs = fit.layout.forward(parameters, x, buffers).to(weights.dtype)  # (R, B, out)
        nll = fit.likelihood.nll(outputs, y, *leaves[len(names) :])  # (R,)
        if world.size > 1:
            nll = nll * (y.shape[1] / step.plan.training.batch)
        return nll.sum(), (nll, outputs)

    grads, (nll, outputs) = differentiated(loss, [*named.values(), *fit.likelihood.parameters()])
    nll, *totals = world.total([nll, *grads])
    return totals, Sight(nll, outputs, y)


def differentiated(loss: Callable, leaves: list[Tensor]) -> tuple[list[Tensor], Any]:
    """The gradients of the first thing that `loss` returns, with zeros for what it does not use, and the second."""
    if torch.compiler.is_compiling():
        return torch.func.grad(loss, has_aux=True)(leaves)
    leaves = [leaf.detach().requires_grad_() for leaf in leaves]
    with torch.enable_grad():
        total, seen = loss(leaves)
    grads = torch.autograd.grad(total, leaves, materialize_grads=True)
    return list(grads), tuple(value.detach() for value in seen)


def move(rule: Rule, fit: Fit, states: Sequence, grads: list[Tensor], numbers: Numbers) -> None:
    """The optimiser's step on all that moves, and the prior's shrinkage after it, in place."""
    rows = len(fit.posterior.theta)
    update(rule, fit.posterior, states[:rows], grads[:rows], numbers)
    others = [*fit.exempt.values(), *fit.likelihood.parameters()]
    for parameter, grad, state in zip(others, grads[rows:], states[rows:], strict=True):
        rule.apply(parameter, grad, state, numbers.rates)


def update(rule: Rule, posterior: Posterior, states: Sequence, grads: list[Tensor], numbers: Numbers) -> None:
    divisor = posterior.shrinkage(numbers.prior, numbers.shrink_rate) if rule.proximal else None
    for parameter, grad, state in zip(posterior.theta, grads, states, strict=True):
        rule.apply(parameter, grad, state, numbers.rates)
    if divisor is not None:
        posterior.mean.div_(divisor)


def note(bad: Tensor, step: Tensor, total: Tensor, nll: Tensor) -> None:
    """The first step at which a replica's sum of weights, or its likelihood, is not finite."""
    seen = torch.stack([total, nll])
    bad.copy_(torch.where(seen.isfinite(), bad, torch.minimum(bad, step.to(bad.dtype))))


def average(estimates: list[list[Tensor]]) -> list[Tensor]:
    """The mean of several Monte Carlo estimates; a single one is passed through uncopied."""
    if len(estimates) == 1:
        return estimates[0]
    return [torch.stack(parts).mean(0) for parts in zip(*estimates, strict=True)]


def in_bfloat16(choice: str, device: torch.device, likelihood: Likelihood) -> bool:
    """The network, and only that: `always`, or with `auto` for labels where a GPU is made for it.

    Its three digits are too few for a regression whose noise is small.
    """
    if choice != "auto":
        return choice == "always"
    is_fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return is_fast and likelihood.is_classification
