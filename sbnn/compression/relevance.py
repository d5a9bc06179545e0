"""From weights to features: path relevance psi, and its scaled form phi."""

import torch
from torch import Tensor

from sbnn.model.flat import Layout


def psi(layout: Layout, inclusion: Tensor) -> Tensor:
    """Relevance of every input feature, (R, D): the mean over all paths of the product of p (Eq. 17).

    The mean over paths is a product of the layers' inclusion matrices, each divided by the width it sums over.
    """
    matrices = [p for p in layout.unflatten(inclusion).values() if p.dim() == 3]  # (R, out, in)
    product = matrices[0]
    for matrix in matrices[1:]:
        product = matrix @ product / product.shape[1]
    return product.mean(1)


def phi(relevance: Tensor) -> Tensor:
    """psi scaled to [0, 1] within each replica (Eq. 18)."""
    low, high = relevance.amin(-1, keepdim=True), relevance.amax(-1, keepdim=True)
    return (relevance - low) / torch.where(high > low, high - low, torch.ones_like(high))
