"""What the step benchmark compares: a plain network, our own methods, and other libraries' Bayesian layers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sbnn.data.replicas import ReplicaData
from sbnn.model import fit as replicas
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.methods import BBB, SBNN, Method
from sbnn.model.posteriors.base import initial_means
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.settings import PriorSettings
from sbnn.networks import lenet_5, mlp, vgg_like
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.settings import Training

PLAIN, NO_MOMENTUM, OURS = "plain + SGD", "plain + SGD, no momentum", SBNN.label
MOMENTUM, LR = 0.9, 1e-3


@dataclass(frozen=True)
class Task:
    """The network and the data that every contender trains on, and for how many steps at a time."""

    network: Callable[[], nn.Module]
    widths: list[int]  # of its layers, where they are dense
    x: Tensor  # (steps * batch, ...)
    y: Tensor  # (steps * batch,)
    batch: int
    steps: int

    @classmethod
    def dense(cls, widths: list[int], batch: int, steps: int, device: torch.device) -> "Task":
        return cls(lambda: mlp(widths[0], widths[1:-1], widths[-1]), widths, *rows(widths[:1], batch, steps, device))

    @property
    def weights(self) -> int:
        return sum(parameter.numel() for parameter in self.network().parameters())


def rows(shape: Sequence[int], batch: int, steps: int, device: torch.device) -> tuple[Tensor, Tensor, int, int]:
    x = torch.randint(256, (batch * steps, *shape), device=device) / 255
    return x, torch.randint(10, (batch * steps,), device=device), batch, steps


IMAGES = {"lenet_5": (lenet_5, (1, 28, 28)), "vgg_like": (lambda: vgg_like(0.25), (3, 32, 32))}
Fit = Callable[[], None]  # trains for a task's number of steps, on from where it left off


def ours(method: Method, compiled: bool = True) -> Callable[[Task], Fit]:
    """A method of our own, through the project's own loop."""
    prior = method.prior(PriorSettings())

    def build(task: Task) -> Fit:
        with torch.device("meta" if task.widths else task.x.device):  # as the experiments do
            layout = Layout(task.network())
        streams, data = Streams([0], task.x.device), ReplicaData.of(task.x, task.y)
        posterior = MeanField.around(initial_means(layout, streams, 0.5, torch.float32), 0.02)
        choice = "always" if compiled else "never"
        training = Training(
            epochs=1, batch=task.batch, lr=LR, optimizer="sgd", momentum=MOMENTUM, schedule="constant", compile=choice
        )
        fit = replicas.Fit(layout, posterior, prior, Categorical())
        return lambda: train(fit, data, streams, training)

    return build


def usual(
    task: Task,
    network: nn.Module,
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor],
    momentum: float = MOMENTUM,
) -> Fit:
    """The usual loop around a module, `loss` being that of a batch."""
    network = network.to(task.x.device)
    optimizer = torch.optim.SGD(network.parameters(), LR, momentum)
    x, y = task.x[: task.batch].clone(), task.y[: task.batch].clone()

    def fit() -> None:
        for _ in range(task.steps):
            optimizer.zero_grad()
            loss(network, x, y).backward()
            optimizer.step()

    return fit


def plain(momentum: float) -> Callable[[Task], Fit]:
    return lambda task: usual(task, task.network(), lambda net, x, y: F.cross_entropy(net(x), y), momentum)


def stacked(task: Task, layer: Callable[[int, int], nn.Module], container: type = nn.Sequential) -> nn.Module:
    """The task's dense layers as another library has them."""
    return container(*[part for sizes in pairwise(task.widths) for part in (layer(*sizes), nn.ReLU())][:-1])


def torchbnn(task: Task) -> Fit:
    from torchbnn import BayesLinear, BKLLoss

    divergence, n = BKLLoss(reduction="sum"), len(task.x)

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(net(x), y) + divergence(net).sum() / n

    return usual(task, stacked(task, lambda inputs, outputs: BayesLinear(0, 0.1, inputs, outputs)), loss)


def bayesian_torch(task: Task) -> Fit:
    from bayesian_torch.layers import LinearReparameterization

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        total = 0.0
        for layer in net:
            if isinstance(layer, LinearReparameterization):
                x, divergence = layer(x)
                total = total + divergence
            else:
                x = layer(x)
        return F.cross_entropy(x, y) + total / len(task.x)

    return usual(task, stacked(task, LinearReparameterization), loss)


def blitz(task: Task) -> Fit:
    from blitz.modules import BayesianLinear
    from blitz.utils import variational_estimator

    @variational_estimator
    class Network(nn.Sequential):
        """The decorator adds methods to the class it is given, which had better not be torch's own."""

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return net.sample_elbo(x, y, F.cross_entropy, sample_nbr=1, complexity_cost_weight=1 / len(task.x))

    return usual(task, stacked(task, BayesianLinear, Network), loss)


CONTENDERS = {
    PLAIN: plain(MOMENTUM),
    NO_MOMENTUM: plain(0.0),
    OURS: ours(SBNN),
    f"{SBNN.label}, not compiled": ours(SBNN, compiled=False),
    BBB.label: ours(BBB),
    "torchbnn": torchbnn,
    "bayesian-torch": bayesian_torch,
    "blitz": blitz,
}
DENSE_ONLY = ("torchbnn", "bayesian-torch", "blitz")
