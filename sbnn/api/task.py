"""What a network is to predict, told from its targets and from what it returns."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from sbnn.data.nested import Inputs, arguments
from sbnn.errors import DataError
from sbnn.model.likelihoods import Bernoulli, Categorical, Gaussian, Labels, Likelihood, Own

Output = Callable[[Any], Any] | str | int | None
Loss = Callable[[Tensor, Tensor], Tensor]


AS_IT_IS, FLAT, CLASSES_LAST = "as it is", "flat", "classes last"  # how outputs are arranged


@dataclass(frozen=True)
class Task:
    """The likelihood's kind, and how outputs and targets come into the shapes that it takes."""

    kind: type[Likelihood]
    arrangement: str = AS_IT_IS
    pick: Callable[[Any], Tensor] | None = None  # None: the network returns a tensor
    loss: Loss | None = None

    @property
    def output(self) -> Callable[[Any], Tensor] | None:
        """What the likelihood takes of what the network returns; None where that is all of it."""
        pick, arrange = self.pick, ARRANGED[self.arrangement]
        if self.arrangement == AS_IT_IS:
            return pick
        return arrange if pick is None else lambda returned: arrange(pick(returned))

    def likelihood(self, replicas: int, variance: Tensor) -> Likelihood:
        if self.loss is not None:
            return Own(self.loss)
        return Gaussian(variance.log().expand(replicas).clone(), learned=True) if self.kind is Gaussian else self.kind()

    def targets(self, y: Tensor) -> Tensor:
        """(n, outputs) for a regression, whole numbers (n, ...) for labels, as they are for a loss of one's own."""
        if self.kind is Own:
            return y
        if self.kind is Gaussian:
            return y.reshape(len(y), -1)
        return (y.squeeze(1) if self.kind is not Labels and y.dim() == 2 else y).long()


def task_of(network: nn.Module, x: Inputs, y: Tensor, output: Output, loss: Loss | None) -> Task:
    """Tell it from the first examples, (B, ...)."""
    network.eval()
    positional, named = arguments(x)
    with torch.no_grad():
        returned = network(*positional, **named)
    pick = picker(output)
    found = pick(returned)
    kind, arrangement = (Own, AS_IT_IS) if loss is not None else _kind(y, found)
    return Task(kind, arrangement, None if found is returned else pick, loss)


def _kind(y: Tensor, found: Tensor) -> tuple[type[Likelihood], str]:
    if y.is_complex() or found.is_complex():
        raise DataError("Targets and outputs must be real numbers; give loss= for others.")
    single = y.dim() == 1 or (y.dim() == 2 and y.shape[1] == 1 and found.dim() <= 2)
    flat = AS_IT_IS if found.dim() == 2 else FLAT
    if y.is_floating_point():
        if len(found) == len(y) and found[0].numel() == y[0].numel():
            return Gaussian, flat
    elif single and len(found) == len(y) and found[0].numel() == 1:
        if not set(y.unique().tolist()) <= {0, 1}:
            raise DataError(
                "The network has one output and the targets are whole numbers other than 0 and 1; "
                "make them floating-point for a regression, or give the network an output for every class."
            )
        return Bernoulli, flat
    elif single and found.dim() == 2:
        return Categorical, AS_IT_IS
    elif found.shape[:-1] == y.shape:
        return Labels, AS_IT_IS
    elif found.dim() > 2 and (found.shape[0], *found.shape[2:]) == y.shape:  # as torch has it: classes before pixels
        return Labels, CLASSES_LAST
    raise DataError(
        f"The targets have the shape {tuple(y.shape)} and type {str(y.dtype).removeprefix('torch.')}, the network's "
        f"outputs {tuple(found.shape)}; they do not go together: real targets need as many outputs, labels an output "
        "for every class."
    )


def picker(output: Output) -> Callable[[Any], Tensor]:
    """What to take of what a network returns: by function, name or place; else the tensor, `.logits` or the first."""

    def picked(returned: Any) -> Tensor:
        if callable(output):
            chosen = output(returned)
        elif isinstance(output, str):
            chosen = returned[output] if isinstance(returned, dict) else getattr(returned, output)
        elif output is not None:
            chosen = returned[output]
        elif isinstance(returned, Tensor):
            return returned
        elif isinstance(returned, dict) and "logits" in returned:
            chosen = returned["logits"]
        elif hasattr(returned, "logits"):
            chosen = returned.logits
        else:
            chosen = returned[0] if isinstance(returned, list | tuple) else returned
        if not isinstance(chosen, Tensor):
            raise DataError(
                f"The network returns a {type(returned).__name__}; say with output= which tensor of it counts."
            )
        return chosen

    return picked


def _flat(outputs: Tensor) -> Tensor:
    return outputs.reshape(len(outputs), -1)


def _classes_last(outputs: Tensor) -> Tensor:
    return outputs.movedim(1, -1)


ARRANGED: dict[str, Callable[[Tensor], Tensor]] = {
    AS_IT_IS: lambda outputs: outputs,
    FLAT: _flat,
    CLASSES_LAST: _classes_last,
}
KINDS = {kind.__name__: kind for kind in (Gaussian, Categorical, Labels, Bernoulli, Own)}
