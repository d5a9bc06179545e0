"""The step compiled: the whole of it where that can be done, else its elementwise work.

Run one by one, a step's operations cost small networks several times their arithmetic, and large ones a pass over
memory each. The formulas are those of `step.py`, traced; nothing is written twice.
"""

import functools
import sys
from collections.abc import Callable

import torch
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.training.distributed import World
from sbnn.training.parts import Numbers, Part, Rule, neighbours
from sbnn.training.schedule import Plan
from sbnn.training.step import Now, Sight, Step, Way, advance, gradients, move_others, note

# To compile takes ten seconds or more the first time, two or three when the result is found on disk, and serves later
# fits of the same kind too. It saves the time to call for each operation of a step, and passes over the weights.
WORTH_COMPILING = 2.0  # seconds a part
SAVED_A_STEP, SAVED_A_WEIGHT = 1.8e-3, 25e-9
OPTIONS: dict[str, str | int | bool | Callable] = {
    "cpp.enable_floating_point_contract_flag": "fast",  # multiply and add in one instruction
    # Name an intermediate result after so many operations. At the default of 30, whatever uses one twice is traced
    # twice, all the way down, and compiling takes minutes instead of seconds.
    "realize_opcount_threshold": 10,
    "fallback_random": True,  # dropout's masks by torch's own generator: as fast, and the same as without compiling
}


@functools.cache
def compiled(function: Callable) -> Callable:
    """For all shapes at once, and again for each kind of network, posterior, prior and optimiser."""
    torch._dynamo.config.recompile_limit = max(64, torch._dynamo.config.recompile_limit)
    torch._dynamo.config.specialize_float = True  # or every coefficient of a polynomial becomes an argument
    torch.fx.experimental._config.use_duck_shape = False  # sizes that happen to be equal need not stay so
    one_graph = {"triton.cudagraphs": True} if function is advance and torch.cuda.is_available() else {}
    return torch.compile(function, fullgraph=True, dynamic=True, options=OPTIONS | one_graph)


def whole(step: Step, now: Now) -> Sight:
    """Everything from the batch to the update in one compiled function, on CUDA one graph of kernels."""
    if now.numbers.is_cuda:  # such a graph writes only to tensors that it is told will stay where they are
        for tensor in (step.bad, *step.fit.movable(), *step.optimizer.tensors()):
            torch._dynamo.mark_static_address(tensor, guard=False)
    return compiled(advance)(step, now)


def piecewise(step: Step, now: Now) -> Sight:
    """Compiled passes over the weights draw and update them, part by part; between them is the network as it is."""
    numbers = Numbers.read(step.rule, now.numbers)
    x, y = step.data.read(now.positions, now.drawn)
    draws = [compiled(drawn)(part, now.keys[0]) for part in step.parts]
    grads, others, sight = gradients(step, [weights for weights, _ in draws], x, y)
    for part, grad, (weights, _) in zip(step.parts, grads, draws, strict=True):
        compiled(updated)(step.rule, part, weights, grad, now.keys[0], now.numbers)
    move_others(step, others, numbers)
    note(step.bad, numbers.step, sum(total for _, total in draws), sight.nll)
    return sight


def drawn(part: Part, key: Tensor | None) -> tuple[Tensor, Tensor]:
    """Weights, and their sum."""
    weights = part.draw(key)[0]
    return weights, weights.sum(-1)


def updated(rule: Rule, part: Part, weights: Tensor, grad: Tensor, key: Tensor | None, row: Tensor) -> None:
    numbers = Numbers.read(rule, row)
    part.move(rule, part.pulled(rule, grad, (weights, weights), key, numbers), numbers)


def ways(fit: Fit, plan: Plan, world: World) -> list[Way]:
    """How to make a fit's steps, as `trainer.compile` and the machine have it: the first that runs is taken."""
    choice, weights = plan.training.compile, fit.posterior.mean.numel()
    saved = fit.chunks * plan.steps * (SAVED_A_STEP + SAVED_A_WEIGHT * weights)
    if choice == "never" or (choice == "auto" and saved < WORTH_COMPILING * len(neighbours(fit.layout.sizes))):
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
