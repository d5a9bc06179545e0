"""A training step's elementwise work, compiled: drawing the weights is one pass over memory, the update another.

Run one by one, the dozen operations of an update cost several times the network's own forward and backward pass on a
CPU. The formulas are those of the priors, the posterior and the optimiser, traced; nothing is written twice.
"""

import functools
import sys
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.model.elementwise import softplus
from sbnn.model.fit import Fit
from sbnn.model.posteriors.mean_field import gradient, shrinkage
from sbnn.model.priors.base import Number, Prior
from sbnn.streams import Streams
from sbnn.training.distributed import World
from sbnn.training.noise import noise
from sbnn.training.optimizers import SGD, Optimizer
from sbnn.training.schedule import Plan
from sbnn.training.step import Sight, Step

# Weights times steps from which the first compilation, ten seconds, is repaid: eager steps lose some 25 ns a weight.
WORTH_COMPILING = 5e8
SMALL = 2**16  # weights whose update takes less time than calling for it
OPTIONS: dict[str, str | int | bool | Callable] = {
    "cpp.enable_floating_point_contract_flag": "fast",  # multiply and add in one instruction
    # Name an intermediate result after so many operations. At the default of 30, whatever uses one twice is traced
    # twice, all the way down, and compiling takes minutes instead of seconds.
    "realize_opcount_threshold": 10,
}


def draw(mean: Tensor, rho: Tensor, key: Tensor, out: Tensor) -> None:
    """Weights m + sigma eps, the noise made on the spot."""
    out.copy_(mean + softplus(rho) * noise(key, mean.shape[1]))


def update(
    kind: type[Prior],
    proximal: bool,
    theta: tuple[Tensor, Tensor],
    states: tuple[tuple[Tensor], tuple[Tensor]],
    weights: Tensor,
    grad_weights: Tensor,
    numbers: Tensor,
) -> None:
    """Algorithm 1's step on some of the weights, in place. The noise is not kept: it is (w - m) / sigma."""
    mean, rho = theta
    *own, penalty_weight, shrink_rate, lr, momentum = numbers.unbind()
    prior = kind.of_numbers(*own)
    eps = (weights - mean) / softplus(rho)
    pulled = gradient(mean, rho, grad_weights, eps, prior, penalty_weight, proximal)
    divisor = shrinkage(mean, rho, prior, shrink_rate) if proximal else None
    for parameter, one, state in zip(theta, pulled, states, strict=True):
        SGD.apply(parameter, one, state, (lr, momentum))
    if divisor is not None:
        mean.div_(divisor)


@functools.cache
def compiled(function: Callable) -> Callable:
    """Compiled again for each kind of prior, step and layout; torch would give up after eight of them."""
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)
    torch._dynamo.config.specialize_float = True  # or every coefficient of a polynomial becomes an argument
    return torch.compile(function, fullgraph=True, dynamic=True, options=OPTIONS)


def neighbours(sizes: list[int]) -> list[slice]:
    """Parameters to update in one call: a large one alone, small ones with the small ones next to them."""
    starts = [n for n in range(len(sizes)) if n == 0 or max(sizes[n - 1], sizes[n]) >= SMALL]
    return [slice(*ends) for ends in pairwise([*starts, len(sizes)])]


class CompiledStep(Step):
    """Draws and updates a posterior through the compiled passes, one parameter of the network after another.

    Gradients come parameter by parameter from autograd and are used as they come: no flat copy is made of them, except
    of neighbouring small ones.
    """

    is_compiled = True

    def __init__(self, fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams, world: World):
        super().__init__(fit, optimizer, plan, streams, world)
        self.kind = type(plan.final_prior)
        self.weights = torch.empty_like(fit.posterior.mean)
        mean, rho = fit.posterior.theta
        velocities = [state[0] for state in optimizer.states[:2]]
        self.groups = neighbours(fit.layout.sizes)
        self.sizes = [sum(fit.layout.sizes[group]) for group in self.groups]
        self.parts = list(zip(*(t.split(self.sizes, dim=1) for t in (mean, rho, *velocities)), strict=True))
        self.epoch: int | None = None

    def __call__(self, number: int, x: Tensor, y: Tensor) -> Sight:
        grads, sight = self.gradients(self.sample(number), x, y)
        self.update(sight.weights, grads, number)
        return sight

    @torch.no_grad()
    def sample(self, number: int) -> Tensor:
        """Weights (R, M), good until the next step's are drawn into the same memory."""
        mean, rho = self.fit.posterior.theta
        compiled(draw)(mean, rho, self._tables_at(number)[1], self.weights)
        return self.weights

    @torch.no_grad()
    def update(self, weights: Tensor, grads: list[Tensor], number: int) -> None:
        """With the gradients of the network's parameters first, then of whatever else the optimiser moves."""
        numbers, pieces = self._tables_at(number)[0], weights.split(self.sizes, dim=1)
        for group, (mean, rho, *velocities), drawn in zip(self.groups, self.parts, pieces, strict=True):
            states = tuple((velocity,) for velocity in velocities)
            flat = [grad.reshape(len(grad), -1) for grad in grads[group]]
            grad = flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)
            compiled(update)(self.kind, self.plan.training.proximal, (mean, rho), states, drawn, grad, numbers)
        others = self.optimizer.parameters[2:], grads[len(self.fit.layout.sizes) :], self.optimizer.states[2:]
        for parameter, grad, state in zip(*others, strict=True):
            self.optimizer.apply(parameter, grad, state, tuple(numbers[-2:]))

    def _tables_at(self, number: int) -> tuple[Tensor, Tensor]:
        """A step's numbers and key, from tables of its epoch that went to the device in one copy."""
        epoch, position = divmod(number, self.plan.batches)
        if epoch != self.epoch:
            first = number - position
            rows = [self._numbers(step) for step in range(first, min(first + self.plan.batches, self.plan.steps))]
            self.epoch, self.numbers = epoch, self.weights.new_tensor(rows)
            self.keys = self.streams.keys(len(rows), epoch)
        return self.numbers[position], self.keys[position]

    def _numbers(self, step: int) -> tuple[Number, ...]:
        plan, prior = self.plan, self.plan.prior(step)
        own = prior.numbers() if prior is not None else None
        rates = self.optimizer.numbers(plan.learning_rate(step), step)
        return (*(own or ()), plan.penalty_weight(step), plan.shrink_rate(step), *rates)


def compiled_step(fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams, world: World) -> CompiledStep | None:
    """The compiled step where `trainer.compile` and the fit ask for it and the machine can make it, else None."""
    choice, posterior = plan.training.compile, fit.posterior
    if choice == "never" or not posterior.is_random:
        return None
    compilable = plan.final_prior is not None and plan.final_prior.numbers() is not None
    fits = compilable and optimizer.takes_tensors and plan.training.samples == 1
    if choice == "auto" and (not fits or posterior.mean.numel() * plan.steps < WORTH_COMPILING):
        return None
    if not fits:
        raise ConfigError(
            "trainer.compile=always needs a spike-and-slab prior, trainer.optimizer=sgd and trainer.samples=1."
        )
    ready = CompiledStep(fit, optimizer, plan, streams, world)
    try:
        ready.sample(0)
    except Exception as error:
        if choice == "always":
            raise ConfigError(f"trainer.compile=always cannot be had here ({_first_line(error)}).") from error
        print(f"sbnn: training is not compiled and so several times slower ({_first_line(error)}).", file=sys.stderr)
        return None
    return ready


def _first_line(error: Exception) -> str:
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
