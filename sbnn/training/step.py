"""One step of Algorithm 1 as a function of tensors: `compiled.py` compiles what is written here, and nothing else."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sbnn.data.nested import Inputs
from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.model.likelihoods import Likelihood
from sbnn.streams import Streams
from sbnn.training.distributed import World
from sbnn.training.optimizers import Optimizer
from sbnn.training.parts import Numbers, Part, Rule, neighbours
from sbnn.training.schedule import Plan
from sbnn.training.settings import MAGNITUDE

BLOCK = 256  # steps whose numbers and keys go to the device in one copy


class Now(NamedTuple):
    """What this step uses and the next one does not."""

    positions: Tensor  # (R, B)
    drawn: Tensor | None  # what is random about the batch
    keys: Sequence[Tensor | None]  # one for each sample: (R, 2), or None where there is no noise
    numbers: Tensor  # the prior's own, then as `Numbers` has them


class Sight(NamedTuple):
    """What a step saw, for the monitor to look at."""

    nll: Tensor  # (R,)
    outputs: Tensor  # (R, B, out)
    y: Tensor


class Step:
    """Moves a fit by one minibatch. `step(number, positions)` is all that the loop knows of it.

    `ways` are functions of it and of what is to be used now, and do the same: the first that runs is taken.
    """

    def __init__(self, fit: Fit, data: ReplicaSource, optimizer: Optimizer, plan: Plan, streams: Streams, world: World):
        self.fit, self.data, self.optimizer = fit, data, optimizer
        self.plan, self.streams, self.world = plan, streams, world
        self.ways: list[Way] = [advance]
        training, prior = plan.training, plan.final_prior
        fast = in_bfloat16(training.autocast, streams.device, fit.likelihood)
        splices = training.prune_to is not None and training.gradual.comeback == MAGNITUDE
        kind = None if prior is None else type(prior)
        self.rule = Rule(kind, type(optimizer).apply, training.proximal, fast, splices)
        self.parts = [Part(fit, optimizer, which) for which in neighbours(fit.layout.sizes)]
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

    @torch.no_grad()
    def gradient_at_mean(self, positions: Tensor) -> Tensor:
        """dL/dw (R, M) of every weight, also of those outside the mask, on rows as they are."""
        x, y = self.data.read(positions[:, self.world.part(positions.shape[1])], None)
        weights = [part.posterior.masked(part.posterior.mean) for part in self.parts]
        return torch.cat(gradients(self, weights, x, y)[0], dim=1)

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
    rule, numbers = step.rule, Numbers.read(step.rule, now.numbers)
    x, y = step.data.read(now.positions, now.drawn)
    estimates = []
    for key in now.keys:
        draws = [part.draw(key) for part in step.parts]
        grads, others, sight = gradients(step, [weights for weights, _ in draws], x, y)
        got = zip(step.parts, grads, draws, strict=True)
        pulled = [part.pulled(rule, grad, drawn, key, numbers) for part, grad, drawn in got]
        estimates.append([*pulled, others])
    note(step.bad, numbers.step, torch.stack([weights.sum(-1) for weights, _ in draws]).sum(0), sight.nll)
    *moves, others = average(estimates)
    for part, move in zip(step.parts, moves, strict=True):
        part.move(rule, move, numbers)
    move_others(step, others, numbers)
    return sight


def gradients(step: Step, weights: list[Tensor], x: Inputs, y: Tensor) -> tuple[list[Tensor], list[Tensor], Sight]:
    """Of one Monte Carlo estimate, by parts, then of exempt parameters and the likelihood's.

    Autograd sees no more than the sampled weights.
    """
    fit, world, layout = step.fit, step.world, step.fit.layout
    named: dict[str, Tensor] = {}
    for part, own in zip(step.parts, weights, strict=True):
        named |= layout.unflatten(own, part.which)
    named |= fit.exempt
    names, buffers = list(named), fit.buffers

    def loss(leaves: list[Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        with torch.autocast(y.device.type, torch.bfloat16) if step.rule.autocast else nullcontext():
            parameters = dict(zip(names, leaves[: len(names)], strict=True))
            outputs = layout.forward(parameters, x, buffers).to(weights[0].dtype)  # (R, B, out)
        nll = fit.likelihood.nll(outputs, y, *leaves[len(names) :])  # (R,)
        if world.size > 1:
            nll = nll * (y.shape[1] / step.plan.training.batch)
        return nll.sum(), (nll, outputs)

    grads, (nll, outputs) = differentiated(loss, [*named.values(), *fit.likelihood.parameters()])
    nll, *totals = world.total([nll, *grads])
    of_weights, others = totals[: len(layout.names)], totals[len(layout.names) :]
    return [flattened(of_weights[part.which]) for part in step.parts], others, Sight(nll, outputs, y)


def flattened(grads: list[Tensor]) -> Tensor:
    """Neighbours as one row (R, size); a large parameter alone is not copied."""
    rows = [grad.reshape(len(grad), -1) for grad in grads]
    return rows[0] if len(rows) == 1 else torch.cat(rows, dim=1)


def differentiated(loss: Callable, leaves: list[Tensor]) -> tuple[list[Tensor], Any]:
    """The gradients of the first thing that `loss` returns, with zeros for what it does not use, and the second."""
    if torch.compiler.is_compiling():
        return torch.func.grad(loss, has_aux=True)(leaves)
    leaves = [leaf.detach().requires_grad_() for leaf in leaves]
    with torch.enable_grad():
        total, seen = loss(leaves)
    grads = torch.autograd.grad(total, leaves, materialize_grads=True)
    return list(grads), tuple(value.detach() for value in seen)


def move_others(step: Step, grads: list[Tensor], numbers: Numbers) -> None:
    """The optimiser's step on exempt parameters and the likelihood's."""
    others = [*step.fit.exempt.values(), *step.fit.likelihood.parameters()]
    states = step.optimizer.states[len(step.fit.posterior.theta) :]
    for parameter, grad, state in zip(others, grads, states, strict=True):
        step.rule.apply(parameter, grad, state, numbers.rates)


def note(bad: Tensor, step: Tensor, total: Tensor, nll: Tensor) -> None:
    """The first step at which a replica's sum of weights, or its likelihood, is not finite."""
    seen = torch.stack([total, nll])
    bad.copy_(torch.where(seen.isfinite(), bad, torch.minimum(bad, step.to(bad.dtype))))


def average(estimates: list[list[list[Tensor]]]) -> list[list[Tensor]]:
    """The mean of several Monte Carlo estimates; a single one is passed through uncopied."""
    if len(estimates) == 1:
        return estimates[0]
    return [[torch.stack(same).mean(0) for same in zip(*lists, strict=True)] for lists in zip(*estimates, strict=True)]


def in_bfloat16(choice: str, device: torch.device, likelihood: Likelihood) -> bool:
    """The network, and only that: `always`, or with `auto` for labels where a GPU is made for it.

    Its three digits are too few for a regression whose noise is small.
    """
    if choice != "auto":
        return choice == "always"
    is_fast = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return is_fast and likelihood.is_classification
