"""`load`: a result again, from the file that `save` wrote and the network it is of."""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from sbnn.api.network import device_of, own_copy
from sbnn.api.result import Result
from sbnn.api.task import KINDS, Loss, Output, Task, picker
from sbnn.errors import ConfigError
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Own
from sbnn.model.saved import read_saved


def load(
    path: str | Path,
    network: nn.Module,
    *,
    loss: Loss | None = None,
    output: Output = None,
    leave_out: Sequence[str] = (),
    device: str | torch.device = "auto",
) -> Result:
    """Nothing in the file is executed; `loss`, `output` and `leave_out` are given again where they were before."""
    saved = read_saved(Path(path))
    kind = KINDS[saved.likelihood]
    if (kind is Own) != (loss is not None):
        raise ConfigError(f"{path} was trained {'with' if kind is Own else 'without'} a loss= of one's own.")
    task = Task(kind, saved.arrangement, picker(output), loss)
    layout = Layout(own_copy(network, device_of(device)), leave_out, task.output)
    fit = saved.fit(layout, task.likelihood)
    return Result(fit, task, saved.history, None, next(network.parameters()).device)
