"""How the data enter the objective: mean negative log-likelihood of a batch, one number per replica."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor

from sbnn.errors import DataError


class Likelihood(ABC):
    """The contract."""

    error_name: str  # what `error` is called on a progress bar
    is_classification: bool
    left_out: int | None = None  # a label that says that there is none

    @abstractmethod
    def take(self, replicas: Tensor | slice) -> Self:
        """A copy for some of the replicas."""

    @abstractmethod
    def joined(self, parts: Sequence[Self]) -> Self:
        """The replicas of several likelihoods of this kind."""

    @abstractmethod
    def parameters(self) -> list[Tensor]:
        """What is learned with the weights, (R,) each."""

    @abstractmethod
    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        """Mean negative log-likelihood of a batch, (R,), at other values of its parameters if they are given."""

    @abstractmethod
    def error(self, outputs: Tensor, y: Tensor) -> Tensor:
        """What a user calls the error, (R,)."""

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Of the classes, the last axis, where there are some."""
        raise TypeError(f"{type(self).__name__} has no classes.")


class Gaussian(Likelihood):
    """y ~ N(f(x), v): v fixed, or learned per replica as a log-variance."""

    error_name = "rmse"
    is_classification = False

    def __init__(self, log_variance: Tensor, learned: bool):
        self.learned, self.log_variance = learned, log_variance  # (R,)

    def take(self, replicas: Tensor | slice) -> Self:
        return type(self)(self.log_variance[replicas].clone(), self.learned)

    def joined(self, parts: Sequence[Self]) -> Self:
        return type(self)(torch.cat([part.log_variance for part in parts]), self.learned)

    def parameters(self) -> list[Tensor]:
        return [self.log_variance] if self.learned else []

    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        """(R,): mean over the batch of -log N(y; f, v), constant included."""
        _check_shapes(y, outputs, outputs.shape)
        log_variance = parameters[0] if parameters else self.log_variance
        misfit = (outputs - y).square().sum(2).mean(1) * (-log_variance).exp()  # (R,)
        return 0.5 * (misfit + outputs.shape[2] * (log_variance + math.log(2 * math.pi)))

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        """Root mean squared error, (R,)."""
        _check_shapes(y, outputs, outputs.shape)
        return (outputs - y).square().mean(dim=(1, 2)).sqrt()


class _Parameterless(Likelihood):
    """One that learns nothing of its own."""

    def take(self, replicas: Tensor | slice) -> Self:
        return self

    def joined(self, parts: Sequence[Self]) -> Self:
        return self

    def parameters(self) -> list[Tensor]:
        return []


class Categorical(_Parameterless):
    """y ~ Categorical(softmax(f(x))), y as class indices (R, B)."""

    error_name = "error"
    is_classification = True

    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        _check_shapes(y, outputs, outputs.shape[:2])
        losses = F.cross_entropy(outputs.flatten(0, 1), y.flatten(), reduction="none")
        return losses.view(y.shape).mean(dim=1)

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        """Share of wrong labels, (R,)."""
        _check_shapes(y, outputs, outputs.shape[:2])
        return (outputs.argmax(-1) != y).to(outputs.dtype).mean(dim=1)

    def probabilities(self, outputs: Tensor) -> Tensor:
        return outputs.softmax(-1)


class Labels(Categorical):
    """Several labels an example, of its tokens or pixels: outputs (R, B, ..., classes), y (R, B, ...).

    All labels count alike, except those that are left out, -100 as torch has it: padding.
    """

    left_out = -100

    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        _check_shapes(y, outputs, outputs.shape[:-1])
        losses = F.cross_entropy(outputs.flatten(0, -2), y.flatten(), reduction="none", ignore_index=Labels.left_out)
        return losses.view(len(y), -1).sum(1) / _counted(y)

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        _check_shapes(y, outputs, outputs.shape[:-1])
        wrong = (outputs.argmax(-1) != y) & (y != Labels.left_out)
        return wrong.flatten(1).sum(1).to(outputs.dtype) / _counted(y)


class Bernoulli(Categorical):
    """y ~ Bernoulli(sigmoid(f(x))) of a single output (R, B, 1), y of zeros and ones (R, B)."""

    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        _check_shapes(y.unsqueeze(-1), outputs, outputs.shape)
        logits = outputs.squeeze(-1)
        return F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype), reduction="none").mean(dim=1)

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        _check_shapes(y.unsqueeze(-1), outputs, outputs.shape)
        return ((outputs.squeeze(-1) > 0) != y.bool()).to(outputs.dtype).mean(dim=1)

    def probabilities(self, outputs: Tensor) -> Tensor:
        return torch.cat([-outputs, outputs], dim=-1).sigmoid()


class Own(_Parameterless):
    """A negative log-likelihood of the user's: `loss(outputs, y)` of a batch gives one number an example, (B,).

    It is its own error.
    """

    error_name = "loss"
    is_classification = False

    def __init__(self, loss: Callable[[Tensor, Tensor], Tensor]):
        self.loss = loss

    def nll(self, outputs: Tensor, y: Tensor, *parameters: Tensor) -> Tensor:
        losses = [self.loss(one, own) for one, own in zip(outputs, y, strict=True)]
        if losses[0].shape != y.shape[1:2]:
            shape, rows = tuple(losses[0].shape), y.shape[1]
            raise DataError(
                f"loss gives the shape {shape} for {rows} examples; it should be ({rows},), one number each."
            )
        return torch.stack(losses).mean(1)

    def error(self, outputs: Tensor, y: Tensor) -> Tensor:
        return self.nll(outputs, y)


def _counted(y: Tensor) -> Tensor:
    return (y != Labels.left_out).flatten(1).sum(1).clamp_min(1)


def _check_shapes(y: Tensor, outputs: Tensor, expected: torch.Size) -> None:
    """Targets that merely broadcast against outputs would be learned wrongly without a word."""
    if y.shape != expected:
        raise DataError(
            f"The targets of a batch have the shape {tuple(y.shape)} and the network's outputs {tuple(outputs.shape)}, "
            f"(replicas, rows, outputs); the targets should be {tuple(expected)}."
        )
