"""One step of Algorithm 1, operation by operation; `compiled.py` makes the same step in fewer passes over memory."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from sbnn.model.fit import Fit
from sbnn.model.likelihoods import Likelihood
from sbnn.model.posteriors.mean_field import shrinkage
from sbnn.model.priors.base import Number
from sbnn.streams import Streams
from sbnn.training.distributed import World
from sbnn.training.optimizers import Optimizer
from sbnn.training.schedule import Plan


class Sight(NamedTuple):
    """What a step saw, for the monitor to look at."""

    weights: Tensor  # (R, M), as drawn
    nll: Tensor  # (R,)
    outputs: Tensor  # (R, B, out)
    y: Tensor


class Step(ABC):
    """Moves a fit by one minibatch. `step(number, x, y)` is all that the loop knows of it."""

    is_compiled: bool

    def __init__(self, fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams, world: World):
        self.fit, self.optimizer, self.plan, self.streams, self.world = fit, optimizer, plan, streams, world
        self.exempt, self.buffers = fit.exempt, fit.buffers

    @abstractmethod
    def __call__(self, number: int, x: Tensor, y: Tensor) -> Sight: ...

    def gradients(self, weights: Tensor, x: Tensor, y: Tensor) -> tuple[list[Tensor], Sight]:
        """One Monte Carlo estimate, parameter by parameter; autograd sees no more than the sampled weights.

        Those of the network's parameters come first, then of exempt ones, then of the likelihood's.
        """
        fit, training = self.fit, self.plan.training
        named = fit.layout.unflatten(weights) | self.exempt
        leaves = {name: value.detach().requires_grad_() for name, value in named.items()}
        with autocast(training.autocast, self.streams.device, fit.likelihood):
            outputs = fit.layout.forward(leaves, x, self.buffers).to(weights.dtype)  # (R, B, out)
        share = y.shape[1] / training.batch  # of the minibatch, where several processes divide it
        nll = fit.likelihood.nll(outputs, y) * share  # (R,)
        wanted = [*leaves.values(), *fit.likelihood.parameters()]
        grads = torch.autograd.grad(nll.sum(), wanted, materialize_grads=True)  # a parameter may go unused
        nll, *totals = self.world.total([nll.detach(), *grads])
        return totals, Sight(weights, nll, outputs.detach(), y)


class EagerStep(Step):
    """Operation by operation, for every posterior, optimiser and number of samples."""

    is_compiled = False

    def __init__(self, fit: Fit, optimizer: Optimizer, plan: Plan, streams: Streams, world: World):
        super().__init__(fit, optimizer, plan, streams, world)
        self.eps = torch.empty_like(fit.posterior.mean)

    def __call__(self, number: int, x: Tensor, y: Tensor) -> Sight:
        plan, posterior = self.plan, self.fit.posterior
        draws = [self.estimate(number, x, y) for _ in range(plan.training.samples)]
        divisor = self.shrinkage(number) if plan.training.proximal else None
        self.optimizer.step(average([grads for grads, _ in draws]), plan.learning_rate(number), number)
        if divisor is not None:
            posterior.mean.div_(divisor)
        return draws[-1][1]

    def estimate(self, number: int, x: Tensor, y: Tensor) -> tuple[list[Tensor], Sight]:
        """The gradients of everything movable, with the prior's pull."""
        fit, own = self.fit, len(self.fit.layout.names)
        grads, sight = self.gradients(fit.posterior.sample(self.streams.normal_(self.eps)), x, y)
        flat = torch.cat([grad.reshape(len(grad), -1) for grad in grads[:own]], dim=1)  # (R, M)
        prior, weight = self.plan.prior(number), self.plan.penalty_weight(number)
        with torch.no_grad():
            pulled = fit.posterior.gradient(flat, self.eps, prior, weight, self.plan.training.proximal)
        return [*pulled, *grads[own:]], sight

    def shrinkage(self, number: int) -> Number:
        """What the prior divides the means by after the step, where that is proximal."""
        mean, rho = self.fit.posterior.theta
        prior = self.plan.prior(number)
        assert prior is not None, "a plan refuses a proximal step without a prior"
        return shrinkage(mean, rho, prior, self.plan.shrink_rate(number))


def autocast(choice: str, device: torch.device, likelihood: Likelihood) -> torch.autocast:
    """The network, and only that, in bfloat16: `always`, or with `auto` for labels where a GPU is made for it.

    Its three digits are too few for a regression whose noise is small.
    """
    fast = choice == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    fast = fast and likelihood.is_classification
    return torch.autocast(device.type, torch.bfloat16, enabled=fast or choice == "always")


def average(draws: list[list[Tensor]]) -> list[Tensor]:
    """The mean of several Monte Carlo estimates; a single one is passed through uncopied."""
    if len(draws) == 1:
        return draws[0]
    return [torch.stack(parts).mean(0) for parts in zip(*draws, strict=True)]
