"""What is wrong with data is said before training starts, not blamed on the learning rate afterwards."""

import torch

from sbnn.data.nested import tensors
from sbnn.data.source import ReplicaSource
from sbnn.errors import DataError
from sbnn.model.fit import Fit


@torch.no_grad()
def check_data(fit: Fit, data: ReplicaSource) -> None:
    """Raise a sentence if numbers are not finite, or if targets cannot be compared with the network's outputs."""
    for kind, values in (*(("inputs", tensor) for tensor in tensors(data.x)), ("targets", data.y)):
        if values.is_floating_point() and not bool(values.isfinite().all()):
            bad = int((~values.isfinite()).sum())
            raise DataError(f"{bad} of the {values.numel()} {kind} are not finite numbers; remove or replace them.")
    rows = torch.arange(min(2, data.size), device=data.y.device).expand(len(data), -1)
    x, y = data.at(rows).all()
    fit.layout.network.eval()
    outputs = fit.layout.forward(fit.posterior.deployed, x, fit.auxiliary)
    if fit.likelihood.is_classification:
        labels = data.y if fit.likelihood.left_out is None else data.y[data.y != fit.likelihood.left_out]
        low, high, last = int(labels.min()), int(labels.max()), fit.likelihood.probabilities(outputs).shape[-1] - 1
        if low < 0 or high > last:
            raise DataError(f"The labels run from {low} to {high}, and the network's classes from 0 to {last}.")
    fit.likelihood.nll(outputs, y)  # which refuses targets of another shape
