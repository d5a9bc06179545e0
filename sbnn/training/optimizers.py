"""Adam and SGD with momentum on a few flat tensors, in place.

What a step needs besides gradients is two `numbers`, known before training starts. `apply` is a function of tensors and
those numbers alone, which may be tensors too: it can be compiled together with the gradient.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from sbnn.model.priors.base import Number
from sbnn.training.settings import Training


class Optimizer(ABC):
    """Holds `states`, a tuple of tensors for each parameter."""

    kept: int  # tensors in a parameter's state

    def __init__(self, parameters: list[Tensor]):
        self.parameters = parameters
        self.states = [tuple(torch.zeros_like(p) for _ in range(self.kept)) for p in parameters]

    @abstractmethod
    def numbers(self, lr: float, step: int) -> tuple[float, float]:
        """What a step uses besides gradients; steps are counted from 0."""

    @staticmethod
    @abstractmethod
    def apply(parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], numbers: Sequence[Number]) -> None:
        """The rule for one parameter, in place."""

    def tensors(self) -> list[Tensor]:
        """All that the states hold."""
        return [tensor for state in self.states for tensor in state]


class Adam(Optimizer):
    kept = 2
    fast, slow = 0.9, 0.999

    def numbers(self, lr: float, step: int) -> tuple[float, float]:
        unbias = (1 - self.slow ** (step + 1)) ** 0.5
        return lr * unbias / (1 - self.fast ** (step + 1)), 1e-8 * unbias

    @staticmethod
    def apply(parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], numbers: Sequence[Number]) -> None:
        (first, second), (size, least) = state, numbers
        first.lerp_(gradient, 1 - Adam.fast)
        second.mul_(Adam.slow).addcmul_(gradient, gradient, value=1 - Adam.slow)
        parameter.sub_(first / second.sqrt().add_(least).div_(size))


class SGD(Optimizer):
    kept = 1

    def __init__(self, parameters: list[Tensor], momentum: float = 0.9):
        super().__init__(parameters)
        self.momentum = momentum

    def numbers(self, lr: float, step: int) -> tuple[float, float]:
        return lr, self.momentum

    @staticmethod
    def apply(parameter: Tensor, gradient: Tensor, state: Sequence[Tensor], numbers: Sequence[Number]) -> None:
        (velocity,), (lr, momentum) = state, numbers
        velocity.mul_(momentum).add_(gradient)
        parameter.sub_(velocity * lr)


def optimizer_of(training: Training, parameters: list[Tensor]) -> Optimizer:
    return Adam(parameters) if training.optimizer == "adam" else SGD(parameters, training.momentum)
