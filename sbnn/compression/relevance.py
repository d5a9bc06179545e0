"""From weights to nodes: path relevance psi of features and units, and its scaled form phi."""

import torch
from torch import Tensor

from sbnn.compression.chain import matrices
from sbnn.model.flat import Layout


def psi(layout: Layout, inclusion: Tensor) -> Tensor:
    """Relevance of every input feature, (R, D): the mean over all its paths of the product of p (Eq. 17)."""
    return from_outputs(layout, inclusion)[0]


def from_inputs(layout: Layout, inclusion: Tensor) -> list[Tensor]:
    """psi of every node from the input side, (R, width) for inputs, hidden layers and outputs.

    The mean, over all paths from any input to the node, of the product of p. The mean over paths is a product of the
    layers' inclusion matrices, each divided by the width it sums over.
    """
    first, *rest = matrices(layout, inclusion)  # (R, out, in) each
    found = [torch.ones_like(first[:, 0]), first.mean(2)]
    for matrix in rest:
        found.append((matrix @ found[-1].unsqueeze(2)).squeeze(2) / matrix.shape[2])
    return found


def from_outputs(layout: Layout, inclusion: Tensor) -> list[Tensor]:
    """psi of every node from the output side: the mean, over all paths from it to any output, of the product of p."""
    *rest, last = matrices(layout, inclusion)
    found = [torch.ones_like(last[:, :, 0]), last.mean(1)]
    for matrix in reversed(rest):
        found.append((matrix.mT @ found[-1].unsqueeze(2)).squeeze(2) / matrix.shape[1])
    return found[::-1]


def phi(relevance: Tensor) -> Tensor:
    """psi scaled to [0, 1] within each replica (Eq. 18)."""
    low, high = relevance.amin(-1, keepdim=True), relevance.amax(-1, keepdim=True)
    return (relevance - low) / torch.where(high > low, high - low, torch.ones_like(high))
