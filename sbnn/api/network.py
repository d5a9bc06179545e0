"""The user's network, as a copy that a posterior can be put on; theirs is left alone."""

import copy
import math

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter
from torch.nn.utils.parametrize import is_parametrized, remove_parametrizations

from sbnn.errors import ConfigError
from sbnn.model.flat import Layout


def own_copy(network: nn.Module, device: torch.device) -> nn.Module:
    """Ready to be trained: on the device, in float32 if it was coarser, its gradients dense, its weights plain.

    What a parametrization (weight norm, spectral norm) makes of its parameters becomes a weight as any other: a row
    of zeros has no norm to divide by.
    """
    check_network(network)
    try:
        own = copy.deepcopy(network)
    except RuntimeError as error:
        raise ConfigError(f"The network cannot be copied ({error}); use torch.nn.utils.parametrizations.") from error
    for module in own.modules():
        if is_parametrized(module):
            for name in list(module.parametrizations):  # type: ignore[arg-type]
                remove_parametrizations(module, name, leave_parametrized=True)
        if isinstance(module, nn.Embedding | nn.EmbeddingBag):
            module.sparse = False
    coarse = any(p.is_floating_point() and p.element_size() < 4 for p in own.parameters())
    return own.to(device, torch.float32) if coarse else own.to(device)


def check_network(network: object) -> None:
    """One sentence for what cannot work."""
    if not isinstance(network, nn.Module):
        raise ConfigError(f"network is a {type(network).__name__}; give an nn.Module.")
    for name, parameter in network.named_parameters():
        if isinstance(parameter, UninitializedParameter):
            raise ConfigError(
                f"{name} is a lazy parameter without a shape yet; call the network once on some data first."
            )
        if parameter.is_complex():
            raise ConfigError(
                f"{name} is complex; a posterior needs real weights: leave the layer out or split it in two."
            )
        if parameter.is_meta:
            raise ConfigError(f"{name} has a shape but no values; give a network that is not on the meta device.")


def spread(layout: Layout) -> float:
    """The root mean square of the network's own weights, biases left out."""
    row = layout.flatten()
    weights = row[~layout.is_bias.to(row.device)]
    size = float((weights if len(weights) else row).square().mean().sqrt())
    return size if math.isfinite(size) and size > 0 else 0.05


def dtype_of(network: nn.Module) -> torch.dtype:
    return next(p.dtype for p in network.parameters() if p.is_floating_point())


def placed(tensor: Tensor, device: torch.device, dtype: torch.dtype) -> Tensor:
    """On the device, real numbers in the network's own precision."""
    return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)


def device_of(choice: str | torch.device) -> torch.device:
    """`auto` is CUDA where it is there."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu") if choice == "auto" else torch.device(choice)
