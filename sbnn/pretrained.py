"""Weights that were trained elsewhere, read from a file without executing any code in it."""

from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from sbnn.errors import ConfigError


def load_weights(network: nn.Module, path: str) -> nn.Module:
    """Put a state dict, of safetensors or of `torch.save`, into a network that it fits name by name."""
    saved, own = read(Path(path)), network.state_dict()
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


def read(path: Path) -> dict[str, Tensor]:
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
