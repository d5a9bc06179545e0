"""Which features to keep, by their relevance, and how many, by cross-validation."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sbnn.compression.relevance import psi
from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit


def select_top(relevance: Tensor, share: float | Tensor) -> Tensor:
    """Z-hat, (R, D) bool: the `share` (a number, or one per replica) of features with the highest relevance.

    At least one feature is kept.
    """
    share = torch.as_tensor(share, dtype=torch.float64, device=relevance.device).expand(len(relevance))
    kept = (share * relevance.shape[-1]).round().clamp(min=1).unsqueeze(-1)  # (R, 1)
    rank = relevance.argsort(dim=-1, descending=True, stable=True).argsort(dim=-1)
    return rank < kept


def cross_validated_errors(
    train: Callable[[ReplicaData, str, Fit | None], Fit], data: ReplicaData, folds: int, shares: Sequence[float]
) -> Tensor:
    """Held-out mean squared error of every dataset, fold and share of features kept, (R, folds, shares).

    In each fold the features are ranked by a fit on the other folds; then one network per share is trained on
    its top features alone. All of them are replicas of two fits: `train(data, name, start)` is called twice,
    first for R x folds replicas, then for R x folds x shares, each started from the ranking fit of its fold.
    """
    count, n = data.rows.shape
    device, held = data.rows.device, n // folds
    turns = torch.stack([torch.arange(n, device=device).roll(-k * held) for k in range(folds)])  # held-out rows first
    rows = data.rows[:, turns].flatten(0, 1)  # (R folds, n)
    folded = data[torch.arange(count, device=device).repeat_interleave(folds)].trained_on(rows[:, held:])
    ranking = train(folded, "ranking", None)
    relevance = psi(ranking.layout, ranking.inclusion())

    wide = torch.arange(count * folds, device=device).repeat_interleave(len(shares))
    share = torch.tensor(shares, dtype=torch.float64, device=device).repeat(count * folds)
    selected = folded[wide].keeping(select_top(relevance[wide], share))
    refit = train(selected, "folds", ranking.take(wide))
    return refit.errors(selected.at(rows[wide, :held])).square().view(count, folds, len(shares))


def best_share(errors: Tensor, shares: Sequence[float], rule: str) -> Tensor:
    """The share of features to keep, (R,), from held-out errors (R, folds, shares), shares in rising order.

    `minimum` takes the lowest mean error; `one_se` the fewest features within one standard error of it.
    """
    mean, spread = errors.mean(1), errors.std(1) / errors.shape[1] ** 0.5  # (R, shares)
    low, where = mean.min(1, keepdim=True)
    if rule == "one_se":
        low = low + spread.gather(1, where)
    first = (mean <= low).double().argmax(1)  # argmax takes the first of equals: the smallest share
    return torch.tensor(shares, dtype=torch.float64, device=errors.device)[first]
