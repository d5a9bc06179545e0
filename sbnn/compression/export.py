"""A pruned network in a small file, and back: a plain network again, or one that multiplies sparse matrices.

The file is safetensors, never pickle. A parameter that gets smaller so is stored as `name:gaps`, `name:values` and, of
int8, `name:scale` (see `packing`); all else as it is. The header's metadata hold `format`, `version` and, in
`parameters`, the shapes of the parameters so stored, as JSON.
"""

import json
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from sbnn.compression.packing import PRECISIONS, packed, unpacked
from sbnn.compression.sizes import may_become, put
from sbnn.compression.sparse import with_sparse_layers
from sbnn.errors import ConfigError, SbnnError
from sbnn.files import written_whole
from sbnn.networks import Dropout

FORMAT, VERSION = "sbnn sparse network", "1"


@torch.no_grad()
def export(
    network: nn.Module, path: str | Path, values: str = "float32", sigmas: Mapping[str, Tensor] | None = None
) -> None:
    """Write a pruned network to one file, whole or not at all: two to five bytes a weight that is left.

    `values` is how precise these are: float32, float16 or int8. int8 has one step for every row of a matrix, 1/127 of
    its largest weight. If the posterior's standard deviations are given, by parameter, then a parameter becomes int8
    only if rounding moves 99 % of its weights by less than theirs, and float16 otherwise. Matrices with few zeros are
    stored whole, as precise; biases with few, and buffers, stay as they are.
    """
    if values not in PRECISIONS:
        raise ConfigError(f"values={values} is unknown; choose one of {', '.join(PRECISIONS)}.")
    stored, parameters = _stored(network), dict(network.named_parameters())
    for name, sigma in (sigmas or {}).items():
        if name not in parameters or parameters[name].shape != sigma.shape:
            raise ConfigError(f"sigmas has {name} of shape {tuple(sigma.shape)}, which the network has not.")
    tensors: dict[str, Tensor] = {}
    shapes: dict[str, list[int]] = {}
    for name, value in stored.items():
        own = value.cpu()
        if value.is_floating_point() and not own.isfinite().all():
            raise SbnnError(f"{name} has values that are not finite; nothing is written.")
        deviation = None if sigmas is None else sigmas.get(name, torch.zeros(())).cpu()  # what has none is not rounded
        parts = packed(own, values, deviation) if name in parameters and own.is_floating_point() else None
        if parts is None:
            tensors[name] = own.clone(memory_format=torch.contiguous_format)
        else:
            tensors |= {f"{name}:{part}": content for part, content in parts.items()}
            shapes[name] = list(value.shape)
    metadata = {"format": FORMAT, "version": VERSION, "parameters": json.dumps(shapes)}
    with written_whole(Path(path)) as temporary:
        save_file(tensors, temporary, metadata)


def load_dense(path: str | Path, network: nn.Module) -> nn.Module:
    """A copy of a network with the weights of a file in place of its own.

    The file may be that of the network or of what `shrink` made of it: layers then become as narrow as they are there.
    """
    stored = _read(Path(path), network)
    copy = deepcopy(network)
    for owner, module in copy.named_modules():
        own = {name.rpartition(".")[2]: name for name in stored if name.rpartition(".")[0] == owner}
        put(module, {leaf: stored[name] for leaf, name in own.items()})
    return copy


def load_sparse(path: str | Path, network: nn.Module) -> nn.Module:
    """The same, to use and not to train: dense layers with at most a fifth of their weights left multiply only these.

    Convolutions stay as they are; to make them smaller, `shrink` a network before it is exported.
    """
    return with_sparse_layers(load_dense(path, network).eval())


def _stored(network: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, those that modules share once; a rate of dropout means nothing after training."""
    named = {**dict(network.named_parameters()), **dict(network.named_buffers())}
    dropout = {f"{name}.rate" for name, module in network.named_modules() if isinstance(module, Dropout)}
    kept = network.state_dict().keys() - dropout
    return {name: value for name, value in named.items() if name in kept}


def _read(path: Path, network: nn.Module) -> dict[str, Tensor]:
    """What a file holds, if it fits the network."""
    if not path.is_file():
        raise SbnnError(f"{path} is not a file; give one that sbnn.export wrote.")
    try:
        with safe_open(path, framework="pt") as file:
            shapes = _shapes(file, path)
            _check(shapes, path, network)
            return {name: _tensor(file, name, shape) for name, shape in shapes.items()}
    except SbnnError:
        raise
    except Exception as error:  # what a damaged file makes of those who read it is of many kinds
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise SbnnError(f"{path} was not written by sbnn.export, or is damaged ({reason}).") from error


def _shapes(file: Any, path: Path) -> dict[str, tuple[int, ...]]:
    """Of all that the file holds."""
    header = file.metadata() or {}
    if header.get("format") != FORMAT:
        raise SbnnError(f"{path} was not written by sbnn.export: its header does not say `{FORMAT}`.")
    if header.get("version") != VERSION:
        raise SbnnError(
            f"{path} has version {header.get('version')} of its format and this sbnn reads {VERSION}; update sbnn."
        )
    whole = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys() if ":" not in name}  # noqa: SIM118
    return whole | {name: tuple(shape) for name, shape in json.loads(header["parameters"]).items()}


def _check(shapes: dict[str, tuple[int, ...]], path: Path, network: nn.Module) -> None:
    own = _stored(network)
    complaints = {
        "lacks": [name for name in own if name not in shapes],
        "also holds": [name for name in shapes if name not in own and not may_become(network, name, shapes)],
        "has another shape for": [
            f"{name} ({shape} instead of {tuple(own[name].shape)})"
            for name, shape in shapes.items()
            if name in own and shape != own[name].shape and not may_become(network, name, shapes)
        ],
    }
    for complaint, names in complaints.items():
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            raise SbnnError(f"{path} does not fit the network: it {complaint} {', '.join(names[:3])}{more}.")


def _tensor(file: Any, name: str, shape: tuple[int, ...]) -> Tensor:
    stored = file.keys()
    if name in stored:
        return file.get_tensor(name)
    parts = ("gaps", "values", "scale")
    return unpacked({part: file.get_tensor(f"{name}:{part}") for part in parts if f"{name}:{part}" in stored}, shape)
