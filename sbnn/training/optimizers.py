"""Adam and SGD with momentum on a few flat tensors, in place.

What a step needs besides gradients is a handful of `numbers`, known before training starts. `apply` is a function of
tensors and those numbers alone; SGD's takes them as tensors too, so that it can be compiled together with the gradient.
"""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from sbnn.model.priors.base import Number
from sbnn.training.settings import Training


class Optimizer(ABC):
    """Holds `states`, a tuple of tensors for each parameter."""

    kept: int  # tensors in a parameter's state
    takes_tensors = False  # whether the numbers may be tensors, as in a compiled pass

    def __init__(self, parameters: list[Tensor]):
        self.parameters = parameters
        self.states = [tuple(torch.zeros_like(p) for _ in range(self.kept)) for p in parameters]

    @abstractmethod
    def numbers(self, lr: float, step: int) -> tuple[float, ...]:
        """What a step uses besides gradients; steps are counted from 0."""

    @staticmethod
    @abstractmethod
    def apply(parameter: Tensor, gradient: Tensor, state: tuple[Tensor, ...], numbers: tuple[Number, ...]) -> None:
        """The rule for one parameter, in place."""

    @torch.no_grad()
    def step(self, gradients: list[Tensor], lr: float, step: int) -> None:
        numbers = self.numbers(lr, step)
        for parameter, gradient, state in zip(self.parameters, gradients, self.states, strict=True):
            self.apply(parameter, gradient, state, numbers)

    def tensors(self) -> list[Tensor]:
        """All that the states hold."""
        return [tensor for state in self.states for tensor in state]


class Adam(Optimizer):
    kept = 2
    fast, slow = 0.9, 0.999

    def numbers(self, lr: float, step: int) -> tuple[float, ...]:
        return lr / (1 - self.fast ** (step + 1)), (1 - self.slow ** (step + 1)) ** 0.5

    @staticmethod
    def apply(parameter: Tensor, gradient: Tensor, state: tuple[Tensor, ...], numbers: tuple[Number, ...]) -> None:
        (first, second), (size, unbias) = state, numbers
        first.lerp_(gradient, 1 - Adam.fast)
        second.mul_(Adam.slow).addcmul_(gradient, gradient, value=1 - Adam.slow)
        parameter.addcdiv_(first, second.sqrt().div_(unbias).add_(1e-8), value=-float(size))


class SGD(Optimizer):
    kept = 1
    takes_tensors = True

    def __init__(self, parameters: list[Tensor], momentum: float = 0.9):
        super().__init__(parameters)
        self.momentum = momentum

    def numbers(self, lr: float, step: int) -> tuple[float, ...]:
        return lr, self.momentum

    @staticmethod
    def apply(parameter: Tensor, gradient: Tensor, state: tuple[Tensor, ...], numbers: tuple[Number, ...]) -> None:
        (velocity,), (lr, momentum) = state, numbers
        velocity.mul_(momentum).add_(gradient)
        if isinstance(lr, Tensor):
            parameter.sub_(velocity * lr)
        else:
            parameter.sub_(velocity, alpha=lr)  # no copy of the velocity


def optimizer_of(training: Training, parameters: list[Tensor]) -> Optimizer:
    return Adam(parameters) if training.optimizer == "adam" else SGD(parameters, training.momentum)
