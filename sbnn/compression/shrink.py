"""A pruned network without the units that nothing leads to or from: smaller layers, the same outputs."""

from copy import deepcopy

import torch
from torch import Tensor, nn

from sbnn.compression.joints import Joint, Layer, joints
from sbnn.compression.sizes import put
from sbnn.errors import SbnnError
from sbnn.networks import ChannelsLast, Dropout

TOLERANCE = 1e-4  # of an example's outputs, relative to the largest: far above rounding, far below a mistake


@torch.no_grad()
def shrink(network: nn.Module, example: Tensor | None = None) -> nn.Module:
    """A copy, in evaluation mode, without the units and channels that have no active path from input to output.

    Outputs stay the same up to rounding. A unit none of whose weights is left still hands on a constant, such as
    relu(bias): it moves into the bias of the next layer, or, where that layer pads with zeros and the edges would
    differ, all such channels of a layer become one. A unit from which no weight leads on just goes. Each layer keeps at
    least one unit; inputs and outputs stay as they are.

    Units go where a Linear or Conv2d feeds another through batch norm, pooling, flattening, dropout and activations, in
    modules or functions, alone. Around anything else, such as a residual sum, an unknown module, groups or shared
    weights, units stay. Modules of sbnn become torch's. `example`, a batch of inputs, is put through both networks, and
    a difference is an error.
    """
    small = deepcopy(network).eval()
    _without_ours(small)
    found = joints(small)
    for joint in found:
        _fold_constants(joint)
    for joint in reversed(found):
        used = _columns(joint).ne(0).any(2).any(0)  # (units,)
        _keep(joint, used)
    if example is not None:
        _compare(network, small, example)
    return small


def _fold_constants(joint: Joint) -> None:
    """Remove the units that no weight leads to, and have the next layer do without what they handed on."""
    constant, values = ~joint.before.weight.flatten(1).ne(0).any(1), joint.constants()
    if constant.all():
        constant[0] = False  # a layer of no units is none
    columns = _columns(joint)  # (out, units, pixels)
    gone = columns[:, constant] * values[constant][None, :, None]
    if not _pads(joint.after):
        shift = gone.sum((1, 2))
        bias = shift if joint.after.bias is None else joint.after.bias + shift
        put(joint.after, {"bias": bias} if shift.any() else {})
    elif (values[constant] != 0).any():
        last = int(torch.where(constant, values.abs(), -1).argmax())  # the largest: dividing by it is safe
        columns[:, last] = gone.sum(1) / values[last]
        constant[last] = False
        put(joint.after, {"weight": columns.view_as(joint.after.weight)})
    _keep(joint, ~constant)


def _keep(joint: Joint, kept: Tensor) -> None:
    """Leave only these units (units,) of a joint, one at least."""
    if not kept.any():
        kept[0] = True
    if kept.all():
        return
    columns = _columns(joint)[:, kept]
    after = columns.flatten(1) if isinstance(joint.after, nn.Linear) else columns.unflatten(2, joint.after.kernel_size)
    put(joint.after, {"weight": after})
    for module in (joint.before, *joint.norms):
        own = {**module._parameters, **module._buffers}
        put(module, {name: value[kept] for name, value in own.items() if value is not None and value.dim()})


def _columns(joint: Joint) -> Tensor:
    """The weights that lead on from each unit: (out, units, pixels of the kernel or the flattened map)."""
    weight = joint.after.weight.detach()
    return weight.reshape(len(weight), len(joint.before.weight), -1).clone()


def _pads(layer: Layer) -> bool:
    """With zeros, next to which a constant is none."""
    if not isinstance(layer, nn.Conv2d) or layer.padding_mode != "zeros" or layer.padding == "valid":
        return False
    return layer.padding == "same" or any(layer.padding)


def _without_ours(network: nn.Module) -> None:
    """Modules of sbnn become torch's: a layout of memory is the weights', and dropout does nothing."""
    for parent in list(network.modules()):
        for name, module in list(parent.named_children()):
            if isinstance(module, Dropout):
                setattr(parent, name, nn.Dropout(float(module.rate)))
            elif isinstance(module, ChannelsLast):
                setattr(parent, name, nn.Identity())
                network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]


def _compare(network: nn.Module, small: nn.Module, example: Tensor) -> None:
    whole = deepcopy(network).eval()(example)
    difference = (whole - small(example)).abs().max()
    if not difference <= TOLERANCE * whole.abs().max():
        raise SbnnError(
            f"The shrunk network's outputs differ by {difference:g} on the example: the network computes something "
            "that its traced graph does not show, so that it cannot be shrunk."
        )
