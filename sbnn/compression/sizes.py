"""Layers that take on other sizes."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

RESIZABLE = (nn.Linear, nn.Conv2d, nn.BatchNorm1d, nn.BatchNorm2d)


@torch.no_grad()
def put(module: nn.Module, values: Mapping[str, Tensor]) -> None:
    """Give a module parameters and buffers by name, of its own dtype and device, and the sizes that they have.

    A bias may be new to it.
    """
    for name, value in values.items():
        own = module._parameters.get(name, module._buffers.get(name))
        if own is not None and own.shape == value.shape and not own.is_meta:
            own.copy_(value)  # others may share it
            continue
        like = next(module.parameters()) if own is None else own
        value = value.to(like.dtype if like.is_meta else like)
        if value.dim() == 4 and like.is_contiguous(memory_format=torch.channels_last):
            value = value.contiguous(memory_format=torch.channels_last)
        if name in module._parameters:
            module._parameters[name] = nn.Parameter(value, like.requires_grad)
        else:
            module._buffers[name] = value
    if isinstance(module, nn.Linear):
        module.out_features, module.in_features = module.weight.shape
    elif isinstance(module, nn.Conv2d):
        module.out_channels, module.in_channels = len(module.weight), module.weight.shape[1] * module.groups
    elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d) and module.running_mean is not None:
        module.num_features = len(module.running_mean)


def may_become(network: nn.Module, name: str, shapes: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether shrinking could have given a parameter or buffer its shape: a layer gets narrower, or a bias."""
    owner, _, leaf = name.rpartition(".")
    module = dict(network.named_modules()).get(owner)
    if type(module) not in RESIZABLE or f"{owner}.weight" not in shapes:
        return False
    own, shape = getattr(module, leaf, None), shapes[name]
    if own is None:
        return leaf == "bias" and shape == shapes[f"{owner}.weight"][:1]
    same_kernel = tuple(own.shape[2:]) == shape[2:]
    return (
        len(own.shape) == len(shape) and same_kernel and all(0 < n <= m for n, m in zip(shape, own.shape, strict=True))
    )
