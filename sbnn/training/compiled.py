"""The step compiled: the whole of it where that can be done, else its elementwise work.

Run one by one, a step's operations cost small networks several times their arithmetic, and large ones a pass over
memory each. The formulas are those of `step.py`, traced; nothing is written twice.
"""

import functools
import sys
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.posteriors.base import Posterior
from sbnn.training.distributed import World
from sbnn.training.schedule import Plan
from sbnn.training.step import Now, Numbers, Rule, Sight, Step, Way, advance, draw, gradients, note, update

# To compile takes ten seconds or more the first time, two or three when the result is found on disk, and serves later
# fits of the same kind too. It saves the time to call for each operation of a step, and passes over the weights.
WORTH_COMPILING = 3.0  # seconds
SAVED_A_STEP, SAVED_A_WEIGHT = 1e-3, 25e-9
SMALL = 2**16  # weights whose update takes less time than calling for it
OPTIONS: dict[str, str | int | bool | Callable] = {
    "cpp.enable_floating_point_contract_flag": "fast",  # multiply and add in one instruction
    # Name an intermediate result after so many operations. At the default of 30, whatever uses one twice is traced
    # twice, all the way down, and compiling takes minutes instead of seconds.
    "realize_opcount_threshold": 10,
}


@functools.cache
def compiled(function: Callable) -> Callable:
    """For all shapes at once, and again for each kind of network, posterior, prior and optimiser."""
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)
    torch._dynamo.config.specialize_float = True  # or every coefficient of a polynomial becomes an argument
    torch.fx.experimental._config.use_duck_shape = False  # sizes that happen to be equal need not stay so
    options = OPTIONS | ({"triton.cudagraphs": True} if torch.cuda.is_available() else {})
    return torch.compile(function, fullgraph=True, dynamic=True, options=options)


def whole(step: Step, now: Now) -> Sight:
    """Everything from the batch to the update in one compiled function, on CUDA one graph of kernels."""
    if now.numbers.is_cuda:  # such a graph writes only to tensors that it is told will stay where they are
        for tensor in (step.bad, *step.fit.movable(), *step.optimizer.tensors()):
            torch._dynamo.mark_static_address(tensor, guard=False)
    return compiled(advance)(step, now)


def piecewise(step: Step, now: Now) -> Sight:
    """Two compiled passes over the weights, one draws and one updates, and between them the network as it is.

    Gradients come parameter by parameter from autograd and are used as they come: no flat copy is made of them, except
    of neighbouring small ones.
    """
    fit, rule, states = step.fit, step.rule, step.optimizer.states
    x, y = step.data.read(now.positions, now.drawn)
    weights, total = compiled(drawn)(fit.posterior, now.keys[0])
    grads, sight = gradients(step, weights, x, y)
    begin, rows = 0, len(fit.posterior.theta)
    for group in neighbours(fit.layout.sizes):
        flat = [grad.reshape(len(grad), -1) for grad in grads[group]]
        grad = flat[0] if len(flat) == 1 else torch.cat(flat, dim=1)
        end = begin + grad.shape[1]
        part, own = fit.posterior.columns(begin, end), [[kept[:, begin:end] for kept in s] for s in states[:rows]]
        compiled(updated)(rule, part, own, weights[:, begin:end], grad, now.numbers)
        begin = end
    numbers = Numbers.read(rule, now.numbers)
    others = [*fit.exempt.values(), *fit.likelihood.parameters()]
    for parameter, grad, state in zip(others, grads[len(fit.layout.sizes) :], states[rows:], strict=True):
        rule.apply(parameter, grad, state, numbers.rates)
    note(step.bad, numbers.step, total, sight.nll)
    return sight


def drawn(posterior: Posterior, key: Tensor | None) -> tuple[Tensor, Tensor]:
    weights = draw(posterior, key)[0]
    return weights, weights.sum(-1)


def updated(rule: Rule, part: Posterior, states: list, weights: Tensor, grad: Tensor, row: Tensor) -> None:
    """Algorithm 1's step on some of the weights, in place. The noise is not kept: it is (w - m) / sigma."""
    numbers = Numbers.read(rule, row)
    eps = part.noise_of(weights)
    pulled = part.gradient(grad, eps, numbers.prior, numbers.penalty_weight, rule.proximal)
    update(rule, part, states, pulled, numbers)


def neighbours(sizes: list[int]) -> list[slice]:
    """Parameters to update in one call: a large one alone, small ones with the small ones next to them."""
    starts = [n for n in range(len(sizes)) if n == 0 or max(sizes[n - 1], sizes[n]) >= SMALL]
    return [slice(*ends) for ends in pairwise([*starts, len(sizes)])]


def ways(fit: Fit, plan: Plan, world: World) -> list[Way]:
    """How to make a fit's steps, as `trainer.compile` and the machine have it: the first that runs is taken."""
    choice, weights = plan.training.compile, fit.posterior.mean.numel()
    saved = plan.steps * (SAVED_A_STEP + SAVED_A_WEIGHT * weights)
    if choice == "never" or (choice == "auto" and saved < WORTH_COMPILING):
        return [advance]
    if trouble := no_compiler():
        if choice == "always":
            raise ConfigError(f"trainer.compile=always cannot be had here ({trouble}).")
        print(f"sbnn: training is not compiled and so several times slower ({trouble}).", file=sys.stderr)
        return [advance]
    # On a CPU a compiled convolution is slower than the library's; batch norm writes to its statistics.
    one_graph = fit.layout.is_dense_chain or (fit.posterior.mean.is_cuda and not fit.layout.norms)
    as_one = [whole] if one_graph and world.size == 1 else []
    return [*as_one, *([piecewise] if plan.training.samples == 1 else []), advance]


@functools.cache
def no_compiler() -> str | None:
    """What keeps this machine from compiling, tried on next to nothing."""
    try:
        compiled(note)(*(torch.zeros(shape) for shape in ((2, 2), (), (2,), (2,))))
    except Exception as error:
        return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])
    return None
