"""A training step's elementwise work, compiled: drawing the weights is one pass over memory, the update another.

Run one by one, the dozen operations of an update cost several times the network's own forward and backward pass on a
CPU. The formulas are the ones of `prior`, `posterior` and `optim`, traced; nothing is written twice.
"""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from sbnn.elementwise import softplus
from sbnn.errors import ConfigError
from sbnn.layout import Layout
from sbnn.optim import SGD
from sbnn.posterior import MeanField, gradient, shrinkage
from sbnn.prior import Mixture, SpikeSlabPrior
from sbnn.schedule import Plan

# Weights times steps from which the first compilation, half a minute, is repaid: eager steps lose some 40 ns a weight.
WORTH_COMPILING = 2e9
OPTIONS = {"cpp.enable_floating_point_contract_flag": "fast"}  # multiply and add in one instruction


@dataclass
class Numbers(Mixture):
    """A prior at one step, as numbers on the device, with its own type's way to the gradient."""

    slab: Tensor
    spike: Tensor
    offset: Tensor
    kind: type[SpikeSlabPrior]

    def gradient(self, mean: Tensor, sigma: Tensor, eps: Tensor) -> tuple[Tensor, Tensor]:
        return self.kind.gradient(self, mean, sigma, eps)


def draw(mean: Tensor, rho: Tensor, eps: Tensor) -> None:
    """Weights m + sigma eps, written over eps."""
    eps.copy_(mean + softplus(rho) * eps)


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
    return torch.compile(function, fullgraph=True, dynamic=True, options=OPTIONS)


class Fused:
    """Draws and updates a posterior through the compiled passes, one parameter of the network after another.

    Gradients come parameter by parameter from autograd and are used as they come: no flat copy is made of them.
    """

    def __init__(self, layout: Layout, posterior: MeanField, optimizer: SGD, plan: Plan):
        self.posterior, self.plan, self.kind = posterior, plan, type(plan.final_prior)
        self.optimizer = optimizer
        mean, rho = posterior.theta
        velocities = [state[0] for state in optimizer.states[:2]]
        self.parts = list(zip(*(t.split(layout.sizes, dim=1) for t in (mean, rho, *velocities)), strict=True))
        self.sizes = layout.sizes
        self.numbers, self.first = torch.empty(0), 0

    @torch.no_grad()
    def sample(self, eps: Tensor) -> Tensor:
        compiled(draw)(*self.posterior.theta, eps)
        return eps

    @torch.no_grad()
    def update(self, weights: Tensor, gradients: list[Tensor], step: int) -> None:
        """With the gradients of the network's parameters first, then of whatever else the optimiser moves."""
        numbers, pieces = self._numbers(step), weights.split(self.sizes, dim=1)
        for (mean, rho, *velocities), own, one in zip(self.parts, pieces, gradients, strict=False):
            states = tuple((velocity,) for velocity in velocities)
            compiled(update)(
                self.kind, self.plan.training.proximal, mean, rho, states, own, one.reshape(len(one), -1), numbers
            )
        others = self.optimizer.parameters[2:], gradients[len(self.parts) :], self.optimizer.states[2:]
        for parameter, one, state in zip(*others, strict=True):
            self.optimizer.apply(parameter, one, state, numbers[-2:])

    def _numbers(self, step: int) -> Tensor:
        """What a step needs, read from a table of the epoch's steps that went to the device in one copy."""
        if not self.first <= step < self.first + len(self.numbers):
            rows = []
            for later in range(step, min(step + self.plan.batches, self.plan.steps)):
                prior, lr = self.plan.prior(later), self.plan.learning_rate(later)
                weight, rates = self.plan.penalty_weight(later), self.optimizer.numbers(lr, later)
                rows.append((prior.slab, prior.spike, prior.offset, weight, self.plan.shrink_rate(later), *rates))
            self.numbers, self.first = self.posterior.mean.new_tensor(rows), step
        return self.numbers[step - self.first]


def fused(choice: str, layout: Layout, posterior, optimizer, plan: Plan) -> Fused | None:
    """The compiled passes where `trainer.compile` and the fit ask for them and the machine can make them, else None."""
    if choice == "never" or not isinstance(posterior, MeanField):
        return None
    fits = isinstance(plan.final_prior, SpikeSlabPrior) and isinstance(optimizer, SGD) and plan.training.samples == 1
    if choice == "auto" and (not fits or posterior.mean.numel() * plan.steps < WORTH_COMPILING):
        return None
    if not fits:
        raise ConfigError("trainer.compile=always needs sBNN or BbB with trainer.optimizer=sgd and trainer.samples=1.")
    ready = Fused(layout, posterior, optimizer, plan)
    try:
        compiled(draw)(*torch.zeros(3, 1, 2, device=posterior.mean.device))
    except Exception as error:
        if choice == "always":
            raise ConfigError(f"trainer.compile=always cannot be had here ({_first_line(error)}).") from error
        print(f"sbnn: training is not compiled and so several times slower ({_first_line(error)}).", file=sys.stderr)
        return None
    return ready


def _first_line(error: Exception) -> str:
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
