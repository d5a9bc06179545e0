"""What the benchmark compares: plain networks, our own methods, and other libraries' Bayesian layers."""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sbnn.data.replicas import ReplicaData
from sbnn.model import fit as replicas
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.methods import Method
from sbnn.model.posteriors.base import initial_means
from sbnn.model.settings import PriorSettings
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.settings import Training

MOMENTUM, LR = 0.9, 1e-3
Fit = Callable[[], None]  # trains for a task's number of steps, on from where it left off
Build = Callable[["Task"], Fit]


@dataclass(frozen=True)
class Task:
    """The network and the data that every contender trains on, and for how many steps at a time."""

    name: str
    network: Callable[..., nn.Module]
    shape: Sequence[int]  # of an input
    steps: int
    batch: int = 128
    classes: int = 10  # 0 is a regression
    replicas: int = 1
    optimizer: str = "sgd"
    device: torch.device = field(default_factory=lambda: torch.device("cuda" if torch.cuda.is_available() else "cpu"))

    @classmethod
    def dense(cls, *widths: int, steps: int, name: str = "", **options) -> "Task":
        def network(**choices) -> nn.Module:
            return mlp(widths[0], widths[1:-1], widths[-1], **choices)

        classes = widths[-1] if widths[-1] > 1 else 0
        return cls(name or "-".join(map(str, widths)), network, widths[:1], steps, classes=classes, **options)

    @property
    def weights(self) -> int:
        return sum(parameter.numel() for parameter in self.network().parameters())

    @functools.cache  # noqa: B019
    def rows(self, count: int) -> tuple[Tensor, Tensor]:
        x = torch.randint(256, (count, *self.shape), device=self.device) / 255
        return x, torch.randint(self.classes, (count,), device=self.device) if self.classes else x[:, :1]


def ours(method: Method, compile_: str = "always") -> Build:
    """A method of our own, through the project's own loop and all that it does."""

    def build(task: Task) -> Fit:
        streams = Streams(list(range(task.replicas)), task.device)
        data = ReplicaData.of(*task.rows(task.steps * task.batch), task.replicas)
        shapes_only = len(task.shape) == 1 and not method.dropout  # as the experiments do
        with torch.device("meta" if shapes_only else task.device):
            layout = Layout(task.network(**({"dropout": True} if method.dropout else {})))
        means = initial_means(layout, streams, 0.5, torch.float32)
        likelihood = Categorical() if task.classes else Gaussian(torch.zeros(task.replicas, device=task.device), True)
        fit = replicas.Fit(layout, method.posterior.begun([means], 0.02), method.prior(PriorSettings()), likelihood)
        settings = {"optimizer": task.optimizer, "momentum": MOMENTUM, "schedule": "constant", "compile": compile_}
        training = Training(epochs=1, batch=task.batch, lr=LR, **settings)
        return lambda: train(fit, data, streams, training)

    return build


def usual(task: Task, network: nn.Module, loss: Callable[[nn.Module, Tensor, Tensor], Tensor]) -> Fit:
    """The usual loop around a module, `loss` being that of a batch, which never changes."""
    network = network.to(task.device)
    choices = {"sgd": lambda p: torch.optim.SGD(p, LR, MOMENTUM), "adam": lambda p: torch.optim.Adam(p, LR)}
    optimizer = choices[task.optimizer](network.parameters())
    x, y = (stored.clone() for stored in task.rows(task.batch))

    def fit() -> None:
        for _ in range(task.steps):
            optimizer.zero_grad()
            loss(network, x, y).backward()
            optimizer.step()

    return fit


def plain(task: Task) -> Fit:
    distance = F.cross_entropy if task.classes else F.mse_loss
    return usual(task, task.network(), lambda net, x, y: distance(net(x), y))


def converted(task: Task, dense: Callable, convolution: Callable, container: type = nn.Sequential) -> nn.Module:
    """The task's network with another library's layers in the places of torch's."""

    def layer(module: nn.Module) -> nn.Module:
        if isinstance(module, nn.Linear):
            return dense(module.in_features, module.out_features)
        if isinstance(module, nn.Conv2d):
            return convolution(module.in_channels, module.out_channels, module.kernel_size)
        return module

    return container(*map(layer, task.network()))


def torchbnn(task: Task) -> Fit:
    from torchbnn import BayesConv2d, BayesLinear, BKLLoss

    divergence, n = BKLLoss(reduction="sum"), task.steps * task.batch

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        return F.cross_entropy(net(x), y) + divergence(net).sum() / n

    layers = (lambda *sizes: BayesLinear(0, 0.1, *sizes), lambda *sizes: BayesConv2d(0, 0.1, *sizes))
    return usual(task, converted(task, *layers), loss)


def bayesian_torch(task: Task) -> Fit:
    from bayesian_torch.layers import Conv2dReparameterization, LinearReparameterization

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        total = 0.0
        for layer in net:
            if isinstance(layer, LinearReparameterization | Conv2dReparameterization):
                x, divergence = layer(x)
                total = total + divergence
            else:
                x = layer(x)
        return F.cross_entropy(x, y) + total / (task.steps * task.batch)

    return usual(task, converted(task, LinearReparameterization, Conv2dReparameterization), loss)


def blitz(task: Task) -> Fit:
    from blitz.modules import BayesianConv2d, BayesianLinear
    from blitz.utils import variational_estimator

    @variational_estimator
    class Network(nn.Sequential):
        """The decorator adds methods to the class it is given, which had better not be torch's own."""

    def loss(net: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        n = task.steps * task.batch
        return net.sample_elbo(x, y, F.cross_entropy, sample_nbr=1, complexity_cost_weight=1 / n)

    return usual(task, converted(task, BayesianLinear, BayesianConv2d, Network), loss)


def torch_blue(task: Task) -> Fit:
    from torch_blue.vi import KullbackLeiblerLoss, convert_to_vimodule
    from torch_blue.vi.distributions import Categorical as Labels

    network = task.network()
    convert_to_vimodule(network)
    network.return_log_probs = True
    elbo = KullbackLeiblerLoss(Labels(), task.steps * task.batch)
    return usual(task, network, lambda net, x, y: elbo(net(x, samples=1), y))


PEERS: dict[str, Build] = {
    "torchbnn": torchbnn,
    "bayesian-torch": bayesian_torch,
    "blitz": blitz,
    "torch_blue": torch_blue,
}
