"""Where one layer of a network feeds another and nothing else, so that units can be removed: read from its graph."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, fx, nn

from sbnn.compression.chain import ACTIVATIONS, POOLING
from sbnn.errors import SbnnError

Layer = nn.Linear | nn.Conv2d
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
WITHOUT_EFFECT = (nn.Dropout, nn.Dropout2d, nn.Identity)  # once a network is trained
ELEMENTWISE: tuple[Any, ...] = (
    F.relu, torch.relu, torch.relu_, F.leaky_relu, F.gelu, F.silu, torch.tanh, torch.sigmoid, F.dropout, "relu",
    "relu_", "tanh", "sigmoid",
)  # fmt: skip


@dataclass
class Joint:
    """A layer whose units go, each by itself, to one other layer and nowhere else."""

    before: Layer
    norms: list[nn.BatchNorm1d | nn.BatchNorm2d]
    steps: list[Callable[[Tensor], Tensor]]  # what a constant unit goes through, the norms among it
    after: Layer

    def constants(self) -> Tensor:
        """What units without an active input hand on, whatever the input: norms and activations of the bias, (out,)."""
        bias, weight = self.before.bias, self.before.weight
        values = weight.new_zeros(len(weight)) if bias is None else bias.clone()  # some activations work in place
        for step in self.steps:
            values = step(values)
        return values


def joints(network: nn.Module) -> list[Joint]:
    """In the order of the graph. Where an unknown operation, a sum or a second reader comes between, there is none."""
    graph, modules = _traced(network), dict(network.named_modules())
    plain = _plain_modules(network, graph)
    found = []
    for node in graph.nodes:
        layer = _layer(node, modules, plain)
        if layer is not None and (joint := _followed(layer, node, modules, plain)) is not None:
            found.append(joint)
    return found


def _traced(network: nn.Module) -> fx.Graph:
    try:
        return fx.Tracer().trace(network)
    except Exception as error:  # torch's and the network's own, of any kind
        raise SbnnError(
            f"{type(network).__name__} cannot be shrunk: its forward cannot be traced by torch.fx "
            f"({type(error).__name__}), perhaps since it looks at the values of its inputs."
        ) from error


def _plain_modules(network: nn.Module, graph: fx.Graph) -> set[str]:
    """Names of the modules that may change: called once, with parameters of their own that nothing else reads."""
    calls = Counter(node.target for node in graph.nodes if node.op == "call_module")
    read = {str(node.target).rpartition(".")[0] for node in graph.nodes if node.op == "get_attr"}
    owners = Counter(id(p) for _, p in network.named_parameters(remove_duplicate=False))
    aliases = Counter(id(module) for _, module in network.named_modules(remove_duplicate=False))
    return {
        name
        for name, module in network.named_modules()
        if calls[name] == 1
        and name not in read
        and aliases[id(module)] == 1
        and not (module._forward_hooks or module._forward_pre_hooks)
        and all(owners[id(parameter)] == 1 for parameter in module.parameters())
    }


def _layer(node: fx.Node, modules: dict[str, nn.Module], plain: set[str]) -> Layer | None:
    """A dense or ungrouped convolutional layer; subclasses may compute their weights from others."""
    module = modules[str(node.target)] if node.op == "call_module" and node.target in plain else None
    if type(module) is nn.Linear or (type(module) is nn.Conv2d and module.groups == 1):
        return module
    return None


def _followed(layer: Layer, node: fx.Node, modules: dict[str, nn.Module], plain: set[str]) -> Joint | None:
    joint, flat, units = Joint(layer, [], [], layer), False, len(layer.weight)
    while len(node.users) == 1:
        (node,) = node.users
        after = _layer(node, modules, plain)
        if after is not None:
            joint.after = after
            return joint if _fits(layer, after, flat) else None
        if _flattens(node, modules):
            flat = True
        elif (norm := _norm(node, modules, plain)) is not None and norm.num_features == units:
            joint.norms.append(norm)
            joint.steps.append(_normalised(norm))
        elif (step := _elementwise(node, modules)) is not None:
            joint.steps.append(step)
        elif flat or not _keeps_constants(node, modules):
            return None
    return None


def _fits(before: Layer, after: Layer, flat: bool) -> bool:
    """Whether the inputs of `after` are the units of `before`, one after another with all their pixels."""
    if isinstance(before, nn.Linear):
        return isinstance(after, nn.Linear) and after.in_features == before.out_features
    if isinstance(after, nn.Conv2d):
        return not flat and after.in_channels == before.out_channels
    return flat and after.in_features % before.out_channels == 0


def _norm(node: fx.Node, modules: dict[str, nn.Module], plain: set[str]) -> nn.BatchNorm1d | nn.BatchNorm2d | None:
    module = modules[str(node.target)] if node.op == "call_module" and node.target in plain else None
    return module if isinstance(module, NORMS) and module.running_mean is not None else None


def _normalised(norm: nn.BatchNorm1d | nn.BatchNorm2d) -> Callable[[Tensor], Tensor]:
    def step(values: Tensor) -> Tensor:
        mean, variance = norm.running_mean, norm.running_var
        return F.batch_norm(values[None], mean, variance, norm.weight, norm.bias, eps=norm.eps)[0]

    return step


def _elementwise(node: fx.Node, modules: dict[str, nn.Module]) -> Callable[[Tensor], Tensor] | None:
    if node.op == "call_module":
        module = modules[str(node.target)]
        return module if type(module) in (*ACTIVATIONS, nn.Sigmoid, nn.ELU, *WITHOUT_EFFECT) else None
    others = [value for value in (*node.args[1:], *node.kwargs.values()) if isinstance(value, fx.Node)]
    if node.target not in ELEMENTWISE or others:
        return None
    target, args, kwargs = node.target, node.args[1:], node.kwargs
    if target is F.dropout and dict(zip(("p", "training"), args, strict=False), **kwargs).get("training", True):
        return None  # some drop units when they predict, too: then none is constant
    if isinstance(target, str):
        return lambda values: getattr(values, target)(*args, **kwargs)
    return lambda values: target(values, *args, **kwargs)


def _keeps_constants(node: fx.Node, modules: dict[str, nn.Module]) -> bool:
    """Pooling that hands a constant channel on as it is; an average that counts padding would not."""
    module = modules[str(node.target)] if node.op == "call_module" else None
    if isinstance(module, nn.MaxPool2d):
        return not module.return_indices
    if isinstance(module, nn.AvgPool2d):
        padded = module.padding not in (0, (0, 0)) and module.count_include_pad
        return not padded and module.divisor_override is None
    if module is not None:
        return isinstance(module, POOLING)
    return node.target in (F.max_pool2d, F.adaptive_avg_pool2d)


def _flattens(node: fx.Node, modules: dict[str, nn.Module]) -> bool:
    """All but the first dimension as one."""
    if node.op == "call_module":
        module = modules[str(node.target)]
        return isinstance(module, nn.Flatten) and (module.start_dim, module.end_dim) == (1, -1)
    given = dict(zip(("start_dim", "end_dim"), node.args[1:], strict=False), **node.kwargs)
    return node.target in (torch.flatten, "flatten") and given in ({"start_dim": 1}, {"start_dim": 1, "end_dim": -1})
