"""Plain networks, and weights for them from a file. Nothing here is Bayesian: posteriors are in `model/`."""

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from sbnn.errors import ConfigError


class ChannelsLast(nn.Module):
    """Images with their channels side by side in memory, in which convolutions and pooling are twice as fast on a CPU.

    A copy, not `contiguous`, which leaves images of one channel as they are: they count as laid out both ways.
    """

    def forward(self, x: Tensor) -> Tensor:
        return x.movedim(1, -1).clone(memory_format=torch.contiguous_format).movedim(-1, 1)


class Dropout(nn.Module):
    """Dropout whose rate is a buffer, so that replicas of one fit can each have their own."""

    rate: Tensor

    def __init__(self, rate: float = 0.0):
        super().__init__()
        self.register_buffer("rate", torch.tensor(rate))

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)


def mlp(
    inputs: int, hidden: Sequence[int], outputs: int = 1, dropout: bool = False, of_inputs: bool = False
) -> nn.Sequential:
    """ReLU layers of the given widths and a linear output.

    `dropout` follows every hidden layer, and comes before the first one too if it is also `of_inputs`.
    """
    layers: list[nn.Module] = [Dropout()] if dropout and of_inputs else []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        if dropout:
            layers.append(Dropout())
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, outputs))


def lenet_300_100() -> nn.Sequential:
    """266,200 weights and 410 biases."""
    layers = {"flat": nn.Flatten(), "fc1": nn.Linear(784, 300), "relu1": nn.ReLU()}
    layers |= {"fc2": nn.Linear(300, 100), "relu2": nn.ReLU(), "fc3": nn.Linear(100, 10)}
    return nn.Sequential(OrderedDict(layers))


def lenet_5() -> nn.Sequential:
    """Caffe's LeNet-5: 430,500 weights and 580 biases. Caffe has no ReLU after its convolutions; its users add it."""
    layers: dict[str, nn.Module] = {"last": ChannelsLast()}
    layers |= {"conv1": nn.Conv2d(1, 20, 5), "pool1": nn.MaxPool2d(2), "relu1": nn.ReLU()}
    layers |= {"conv2": nn.Conv2d(20, 50, 5), "pool2": nn.MaxPool2d(2), "relu2": nn.ReLU(), "flat": nn.Flatten()}
    layers |= {"fc1": nn.Linear(800, 500), "relu3": nn.ReLU(), "fc2": nn.Linear(500, 10)}
    return nn.Sequential(OrderedDict(layers))


LENETS = {"lenet_300_100": lenet_300_100, "lenet_5": lenet_5}  # by the names of the key `vary.network`


def vgg_like(width: float = 1.0) -> nn.Sequential:
    """13 convolutions and 2 dense layers for 32 x 32 colour images, normalised, without dropout: 15 million weights.

    `width` scales the channels. What batch norm follows needs no bias: it would be subtracted again.
    """
    layers: dict[str, nn.Module] = {"last": ChannelsLast()}
    inputs, number = 3, 0
    for block, plan in enumerate([[64] * 2, [128] * 2, [256] * 3, [512] * 3, [512] * 3], 1):
        for channels in (max(1, round(width * c)) for c in plan):
            number += 1
            layers[f"conv{number}"] = nn.Conv2d(inputs, channels, 3, padding=1, bias=False)
            layers |= {f"norm{number}": nn.BatchNorm2d(channels), f"relu{number}": nn.ReLU()}
            inputs = channels
        layers[f"pool{block}"] = nn.MaxPool2d(2)
    layers |= {"flat": nn.Flatten(), "fc1": nn.Linear(inputs, inputs, bias=False), "norm14": nn.BatchNorm1d(inputs)}
    layers |= {"relu14": nn.ReLU(), "fc2": nn.Linear(inputs, 10)}
    return nn.Sequential(OrderedDict(layers))


def load_weights(network: nn.Module, path: str) -> nn.Module:
    """Put a state dict, of safetensors or of `torch.save`, into a network that it fits name by name.

    Nothing in the file is executed.
    """
    saved, own = read_state_dict(Path(path)), network.state_dict()
    complaints = {
        "lacks": [name for name in own if name not in saved],
        "has no place for": [name for name in saved if name not in own],
        "has another shape for": [
            f"{name} ({tuple(saved[name].shape)} instead of {tuple(own[name].shape)})"
            for name in own
            if name in saved and saved[name].shape != own[name].shape
        ],
    }
    for complaint, names in complaints.items():
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise ConfigError(
                f"pretrained={path} does not fit the network: it {complaint} {', '.join(names[:3])}{more}."
            )
    network.load_state_dict(saved)
    return network


def read_state_dict(path: Path) -> dict[str, Tensor]:
    if not path.is_file():
        raise ConfigError(
            f"pretrained={path} is not a file; give the path of a state dict, .safetensors or torch.save's."
        )
    try:
        safe = path.suffix == ".safetensors"
        saved = load_file(path) if safe else torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        raise ConfigError(
            f"pretrained={path} cannot be read as a state dict ({type(error).__name__}); "
            "save network.state_dict() with safetensors or torch.save."
        ) from error
    if not isinstance(saved, dict) or not all(isinstance(value, Tensor) for value in saved.values()):
        raise ConfigError(f"pretrained={path} holds no state dict; save network.state_dict(), not the network itself.")
    return saved
