"""A network as a chain of layers: which units each layer joins. A channel of a convolution is a unit."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sbnn.errors import SbnnError
from sbnn.model.flat import Layout
from sbnn.networks import ChannelsLast, Dropout

ACTIVATIONS = (nn.ReLU, nn.LeakyReLU, nn.GELU, nn.SiLU, nn.Tanh)
POOLING = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d)
OTHERS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.Flatten, nn.Identity, nn.Dropout, Dropout, ChannelsLast)
UNIT_BY_UNIT = (*ACTIVATIONS, *POOLING, *OTHERS)  # what a unit goes through alone


@dataclass(frozen=True)
class Layer:
    """A dense or convolutional layer."""

    name: str
    inputs: int  # units that feed it: after flattening, channels and not pixels
    outputs: int


def layers(layout: Layout) -> list[Layer]:
    """The layers of an `nn.Sequential` in order, each fed by all units of the one before."""
    found: list[Layer] = []
    for name, module in layout.network.named_modules(remove_duplicate=False):
        if type(module) is nn.Sequential or isinstance(module, UNIT_BY_UNIT):
            continue
        inputs, outputs = _sizes(module) if name and f"{name}.weight" in layout.names else (0, 0)
        before = found[-1].outputs if found else inputs
        if not inputs or inputs % before:
            raise SbnnError(
                "Units are known in an nn.Sequential of dense and ungrouped convolutional layers that all have a "
                f"posterior; {name or 'this network'}, of {type(module).__name__}, is something else."
            )
        found.append(Layer(name, before, outputs))
    return found


def matrices(layout: Layout, values: Tensor) -> list[Tensor]:
    """Values of weights (R, M) from unit to unit, (R, outputs, inputs) a layer: means over kernels and pixels."""
    return [weight.mean(-1) for weight in _by_unit(layout, values)]


def ends(layout: Layout) -> tuple[Tensor, Tensor]:
    """The hidden unit that every weight comes from, and the one it leads to, (M,) each.

    Hidden units are numbered from layer to layer; an input, an output and what a bias comes from have the next number.
    """
    chain, columns = layers(layout), torch.arange(layout.size).unsqueeze(0)
    hidden = [layer.outputs for layer in chain[:-1]]
    units = torch.arange(sum(hidden)).split(hidden)
    source, target = torch.full((2, layout.size), sum(hidden))
    weights, biases = [own[0] for own in _by_unit(layout, columns)], layout.unflatten(columns[0])
    for weight, own in zip(weights[1:], units, strict=True):
        source[weight] = own.view(1, -1, 1).expand_as(weight)
    for layer, weight, own in zip(chain, weights, units, strict=False):
        target[weight] = own.view(-1, 1, 1).expand_as(weight)
        if f"{layer.name}.bias" in biases:
            target[biases[f"{layer.name}.bias"]] = own
    return source, target


def _by_unit(layout: Layout, values: Tensor) -> list[Tensor]:
    """Values of weights (R, M), a layer each: (R, outputs, inputs, pixels of the kernel or the flattened map)."""
    named = layout.unflatten(values)
    chain = [(named[f"{layer.name}.weight"], layer) for layer in layers(layout)]
    return [weight.reshape(len(values), layer.outputs, layer.inputs, -1) for weight, layer in chain]


def _sizes(module: nn.Module) -> tuple[int, int]:
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    if isinstance(module, nn.Conv2d) and module.groups == 1:
        return module.in_channels, module.out_channels
    return 0, 0
