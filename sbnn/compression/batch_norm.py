"""The statistics that batch norm keeps, taken again for a network that has been pruned."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from sbnn.model.flat import Layout


@torch.no_grad()
def restated(
    layout: Layout, weights: Tensor, batches: Iterable[Tensor], auxiliary: dict[str, Tensor]
) -> dict[str, Tensor]:
    """`auxiliary` with the running statistics of batch norm taken again: plain averages over batches (R, B, ...).

    Those of training are of sampled weights, and of all of them; a pruned network's, at its means, are others.
    """
    if not layout.norms:
        return auxiliary
    fresh = {name: value.clone() for name, value in auxiliary.items()}
    momenta: list[Any] = [norm.momentum for norm in layout.norms]
    for name, value in fresh.items():
        if name.endswith("num_batches_tracked"):
            value.zero_()
    for norm in layout.norms:
        norm.train()
        norm.momentum = None  # type: ignore[assignment]  # every batch counts alike
    for x in batches:
        layout.forward(weights, x, fresh)
    for norm, momentum in zip(layout.norms, momenta, strict=True):
        norm.eval()
        norm.momentum = momentum
    return fresh
