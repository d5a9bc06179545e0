"""Rank, mask, and the error as more and more weights are set to zero."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import torch
from torch import Tensor

from sbnn.checked import Flag, OneOf, Settings
from sbnn.compression.scores import score as score_of
from sbnn.compression.units import last_places
from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout


class Pruning(Settings):
    """What competes: the `pruning` node of the configuration."""

    # one ranking of all weights, the same droprate in each module, or one ranking of all hidden units
    scope: Annotated[str, OneOf("global", "layer", "unit")] = "global"
    biases: Flag = True  # biases are ranked and counted, or left alone (except a removed unit's) and not counted

    def counted(self, layout: Layout) -> Tensor:
        """(M,) bool: the weights that a droprate is a share of."""
        return torch.ones(layout.size, dtype=torch.bool) if self.biases else ~layout.is_bias


EVERYWHERE = Pruning()


def ranked(scores: Tensor, layout: Layout, pruning: Pruning) -> list[Tensor]:
    """For every group of weights that compete, their columns from the lowest score to the highest, (R, group)."""
    if pruning.scope == "unit":
        raise ValueError("pruning.scope=unit ranks the units of a fit, not weights by their scores; use prune_masks.")
    groups = [pruning.counted(layout)]
    if pruning.scope == "layer":
        groups = [groups[0] & (layout.module == i) for i in range(len(layout.modules))]
    columns = [group.nonzero().squeeze(1).to(scores.device) for group in groups]
    return [own[scores[:, own].argsort(dim=1, stable=True)] for own in columns]


def kept(order: list[Tensor], scores: Tensor, droprate: float) -> Tensor:
    """(R, M) bool, False for the `droprate` share of each group with the lowest scores."""
    keep = torch.ones_like(scores, dtype=torch.bool)
    for group in order:
        keep.scatter_(1, group[:, : dropped(droprate, group.shape[1])], False)
    return keep


def kept_units(places: Tensor, counted: Tensor, droprate: float) -> Tensor:
    """(R, M) bool, False for the weights of the first units to go: as few as take the `droprate` share along.

    `places` (R, M) says with which unit a weight goes. The share may end up larger, since units go whole, or
    smaller where only what never goes (infinity) is left.
    """
    order = places[:, counted.to(places.device)].sort(1).values  # (R, counted)
    count = dropped(droprate, order.shape[1])
    last = order[:, count - 1 : count] if count else -1
    return (places > last) | places.isinf()


def dropped(droprate: float, weights: int) -> int:
    """How many of so many weights go."""
    if not 0 <= droprate < 1:
        raise ValueError(f"droprate={droprate} must lie in [0, 1).")
    return round(droprate * weights)


def prune_mask(scores: Tensor, layout: Layout, droprate: float, pruning: Pruning = EVERYWHERE) -> Tensor:
    """(R, M) bool, False where a weight is set to zero: the `droprate` share with the lowest scores."""
    return kept(ranked(scores, layout, pruning), scores, droprate)


def prune_masks(fit: Fit, droprates: Sequence[float], score: str, pruning: Pruning = EVERYWHERE) -> Iterator[Tensor]:
    """The mask (R, M) of every droprate, ranked by a score of the fit; the ranking is made once."""
    if pruning.scope == "unit":
        places, counted = last_places(fit, score), pruning.counted(fit.layout)
        return (kept_units(places, counted, droprate) for droprate in droprates)
    scores = score_of(fit, score)
    order = ranked(scores, fit.layout, pruning)
    return (kept(order, scores, droprate) for droprate in droprates)


def droprate_curve(
    fit: Fit, data: ReplicaSource, droprates: Sequence[float], score: str, pruning: Pruning = EVERYWHERE
) -> Tensor:
    """Error of every replica at every droprate, (droprates, R); nothing is retrained."""
    masks = prune_masks(fit, droprates, score, pruning)
    return torch.stack([fit.errors(data, fit.posterior.deployed * mask) for mask in masks])
