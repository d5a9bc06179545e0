"""A training step's elementwise work, compiled: drawing the weights is one pass over memory, the update another.

Run one by one, the dozen operations of an update cost several times the network's own forward and backward pass on a
CPU. The formulas are the ones of `prior`, `posterior` and `optim`, traced; nothing is written twice.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.model.elementwise import softplus
from sbnn.model.flat import Layout
from sbnn.model.posteriors.mean_field import MeanField, gradient, shrinkage
from sbnn.model.priors.spike_slab import Mixture, SpikeSlabPrior
from sbnn.streams import Streams
from sbnn.training.noise import noise
from sbnn.training.optimizers import SGD
from sbnn.training.schedule import Plan

# Weights times steps from which the first compilation, ten seconds, is repaid: eager steps lose some 25 ns a weight.
WORTH_COMPILING = 5e8
SMALL = 2**16  # weights whose update takes less time than calling for it
OPTIONS = {
    "cpp.enable_floating_point_contract_flag": "fast",  # multiply and add in one instruction
    # Name an intermediate result after so many operations. At the default of 30, whatever uses one twice is traced
    # twice, all the way down, and compiling takes minutes instead of seconds.
    "realize_opcount_threshold": 10,
}


@dataclass
class Numbers(Mixture):
    """A prior at one step, as numbers on the device, with its own type's way to the gradient."""

    slab: Tensor
    spike: Tensor
    offset: Tensor
    kind: type[SpikeSlabPrior]

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        return self.kind.gradient(self, mean, sigma, eps)


def draw(mean: Tensor, rho: Tensor, key: Tensor, out: Tensor) -> None:
    """Weights m + sigma eps, the noise made on the spot."""
    out.copy_(mean + softplus(rho) * noise(key, mean.shape[1]))


def update(
    kind: type[SpikeSlabPrior],
    proximal: bool,
    mean: Tensor,
    rho: Tensor,
    states: tuple[tuple[Tensor], tuple[Tensor]],
    weights: Tensor,
    grad_weights: Tensor,
    numbers: Tensor,
) -> None:
    """Algorithm 1's step on some of the weights, in place. The noise is not kept: it is (w - m) / sigma."""
    slab, spike, offset, penalty_weight, shrink_rate, lr, momentum = numbers.unbind()
    prior = Numbers(slab, spike, offset, kind)
    eps = (weights - mean) / softplus(rho)
    pulled = gradient(mean, rho, grad_weights, eps, prior, penalty_weight, proximal)
    divisor = shrinkage(mean, rho, prior, shrink_rate) if proximal else None
    for parameter, one, state in zip((mean, rho), pulled, states, strict=True):
        SGD.apply(parameter, one, state, (lr, momentum))
    if divisor is not None:
        mean.div_(divisor)


@functools.cache
def compiled(function: Callable) -> Callable:
    """Compiled anew for each kind of prior, step and layout; torch would give up after eight of them."""
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)
    torch._dynamo.config.specialize_float = True  # or every coefficient of a polynomial becomes an argument
    return torch.compile(function, fullgraph=True, dynamic=True, options=OPTIONS)


def neighbours(sizes: list[int]) -> list[slice]:
    """Parameters to update in one call: a large one alone, small ones with the small ones next to them."""
    starts = [n for n in range(len(sizes)) if n == 0 or max(sizes[n - 1], sizes[n]) >= SMALL]
    return [slice(*ends) for ends in pairwise([*starts, len(sizes)])]


class Fused:
    """Draws and updates a posterior through the compiled passes, one parameter of the network after another.

    Gradients come parameter by parameter from autograd and are used as they come: no flat copy is made of them, but for
    neighbouring small ones.
    """

    def __init__(self, layout: Layout, posterior: MeanField, optimizer: SGD, plan: Plan, streams: Streams):
        self.posterior, self.plan, self.kind = posterior, plan, type(plan.final_prior)
        self.optimizer, self.streams = optimizer, streams
        self.weights = torch.empty_like(posterior.mean)
        mean, rho = posterior.theta
        velocities = [state[0] for state in optimizer.states[:2]]
        self.groups = neighbours(layout.sizes)
        self.sizes = [sum(layout.sizes[group]) for group in self.groups]
        self.parts = list(zip(*(t.split(self.sizes, dim=1) for t in (mean, rho, *velocities)), strict=True))
        self.count = len(layout.sizes)
        self.epoch = None

    @torch.no_grad()
    def sample(self, step: int) -> Tensor:
        """Weights (R, M), good until the next step's are drawn into the same memory."""
        compiled(draw)(*self.posterior.theta, self._of(step)[1], self.weights)
        return self.weights

    @torch.no_grad()
    def update(self, weights: Tensor, gradients: list[Tensor], step: int) -> None:
        """With the gradients of the network's parameters first, then of whatever else the optimiser moves."""
        numbers, pieces = self._of(step)[0], weights.split(self.sizes, dim=1)
        for group, (mean, rho, *velocities), own in zip(self.groups, self.parts, pieces, strict=True):
            states = tuple((velocity,) for velocity in velocities)
            flat = [one.reshape(len(one), -1) for one in gradients[group]]
            one = flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)
            compiled(update)(self.kind, self.plan.training.proximal, mean, rho, states, own, one, numbers)
        others = self.optimizer.parameters[2:], gradients[self.count :], self.optimizer.states[2:]
        for parameter, one, state in zip(*others, strict=True):
            self.optimizer.apply(parameter, one, state, numbers[-2:])

    def _of(self, step: int) -> tuple[Tensor, Tensor]:
        """A step's numbers and key, from tables of its epoch that went to the device in one copy."""
        epoch, position = divmod(step, self.plan.batches)
        if epoch != self.epoch:
            rows = []
            for one in range(step - position, min(step - position + self.plan.batches, self.plan.steps)):
                prior, rates = self.plan.prior(one), self.optimizer.numbers(self.plan.learning_rate(one), one)
                pulls = self.plan.penalty_weight(one), self.plan.shrink_rate(one)
                rows.append((prior.slab, prior.spike, prior.offset, *pulls, *rates))
            self.epoch, self.numbers = epoch, self.posterior.mean.new_tensor(rows)
            self.keys = self.streams.keys(len(rows), epoch)
        return self.numbers[position], self.keys[position]


def fused(choice: str, layout: Layout, posterior, optimizer, plan: Plan, streams: Streams) -> Fused | None:
    """The compiled passes where `trainer.compile` and the fit ask for them and the machine can make them, else None."""
    if choice == "never" or not isinstance(posterior, MeanField):
        return None
    fits = isinstance(plan.final_prior, SpikeSlabPrior) and isinstance(optimizer, SGD) and plan.training.samples == 1
    if choice == "auto" and (not fits or posterior.mean.numel() * plan.steps < WORTH_COMPILING):
        return None
    if not fits:
        raise ConfigError("trainer.compile=always needs sBNN or BbB with trainer.optimizer=sgd and trainer.samples=1.")
    ready = Fused(layout, posterior, optimizer, plan, streams)
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
