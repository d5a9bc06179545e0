"""How the data enter the objective: mean negative log-likelihood of a batch, one number per replica."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor


class Gaussian:
    """y ~ N(f(x), v): v fixed, or learned per replica as a log-variance beside the weights."""

    error_name = "rmse"

    def __init__(self, log_variance: Tensor, learned: bool):
        self.learned = learned
        self.log_variance = log_variance.requires_grad_(learned)  # (R,)

    def take(self, replicas: Tensor | slice) -> "Gaussian":
        """A copy for some of the replicas."""
        return Gaussian(self.log_variance.detach()[replicas].clone(), self.learned)

    @staticmethod
    def joined(parts: list["Gaussian"]) -> "Gaussian":
        return Gaussian(torch.cat([part.log_variance.detach() for part in parts]), parts[0].learned)

    def parameters(self) -> list[Tensor]:
        return [self.log_variance] if self.learned else []

    def nll(self, outputs: Tensor, y: Tensor) -> Tensor:
        """(R,): mean over the batch of -log N(y; f, v), constant included."""
        misfit = (outputs - y).square().sum(2).mean(1) * (-self.log_variance).exp()  # (R,)
        return 0.5 * (misfit + outputs.shape[2] * (self.log_variance + math.log(2 * math.pi)))

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        """Root mean squared error, (R,)."""
        return (outputs - y).square().mean(dim=(1, 2)).sqrt()


class Categorical:
    """y ~ Categorical(softmax(f(x))), y as class indices (R, B)."""

    error_name = "error"

    def take(self, replicas: Tensor | slice) -> "Categorical":
        return self

    @staticmethod
    def joined(parts: list["Categorical"]) -> "Categorical":
        return parts[0]

    def parameters(self) -> list[Tensor]:
        return []

    def nll(self, outputs: Tensor, y: Tensor) -> Tensor:
        losses = F.cross_entropy(outputs.flatten(0, 1), y.flatten(), reduction="none")
        return losses.view(y.shape).mean(dim=1)

    @staticmethod
    def error(outputs: Tensor, y: Tensor) -> Tensor:
        """Share of wrong labels, (R,)."""
        return (outputs.argmax(-1) != y).to(outputs.dtype).mean(dim=1)
