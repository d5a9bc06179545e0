"""Rank, mask, and the error as more and more weights are set to zero."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import torch
from torch import Tensor

from sbnn.checked import Flag, OneOf, Settings
from sbnn.compression.scores import score as score_of
from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout


class Pruning(Settings):
    """Which weights compete: the `pruning` node of the configuration."""

    scope: Annotated[str, OneOf("global", "layer")] = "global"  # one ranking, or the same droprate in each module
    biases: Flag = True  # biases are ranked and counted, or left alone and not counted


EVERYWHERE = Pruning()


def ranked(scores: Tensor, layout: Layout, pruning: Pruning) -> list[Tensor]:
    """For every group of weights that compete, their columns from the lowest score to the highest, (R, group)."""
    prunable = torch.ones(layout.size, dtype=torch.bool) if pruning.biases else ~layout.is_bias
    if pruning.scope == "global":
        groups = [prunable]
    else:
        groups = [prunable & (layout.module == i) for i in range(int(layout.module.max()) + 1)]
    columns = [group.nonzero().squeeze(1).to(scores.device) for group in groups]
    return [own[scores[:, own].argsort(dim=1, stable=True)] for own in columns]


def kept(order: list[Tensor], scores: Tensor, droprate: float) -> Tensor:
    """(R, M) bool, False for the `droprate` share of each group with the lowest scores."""
    if not 0 <= droprate < 1:
        raise ValueError(f"droprate={droprate} must lie in [0, 1).")
    keep = torch.ones_like(scores, dtype=torch.bool)
    for group in order:
        keep.scatter_(1, group[:, : round(droprate * group.shape[1])], False)
    return keep


def prune_mask(scores: Tensor, layout: Layout, droprate: float, pruning: Pruning = EVERYWHERE) -> Tensor:
    """(R, M) bool, False where a weight is set to zero: the `droprate` share with the lowest scores."""
    return kept(ranked(scores, layout, pruning), scores, droprate)


def prune_masks(fit: Fit, droprates: Sequence[float], score: str, pruning: Pruning = EVERYWHERE) -> Iterator[Tensor]:
    """The mask (R, M) of every droprate, ranked by a score of the fit; the ranking is made once."""
    scores = score_of(fit.posterior, score)
    order = ranked(scores, fit.layout, pruning)
    return (kept(order, scores, droprate) for droprate in droprates)


def droprate_curve(
    fit: Fit, data: ReplicaSource, droprates: Sequence[float], score: str, pruning: Pruning = EVERYWHERE
) -> Tensor:
    """Error of every replica at every droprate, (droprates, R); nothing is retrained."""
    masks = prune_masks(fit, droprates, score, pruning)
    return torch.stack([fit.errors(data, fit.posterior.mean * mask) for mask in masks])
