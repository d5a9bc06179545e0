"""Where to stop pruning without a droprate: thresholds that mean something, and an error that is still allowed."""

from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from sbnn.compression.pruning import EVERYWHERE, Pruning, droprate_curve
from sbnn.compression.scores import evidence
from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.model.priors.log_uniform import PRUNED, log_alpha


def by_evidence(fit: Fit) -> Tensor:
    """(R, M) bool: the weights that the data favour over a weight of zero (`scores.evidence`)."""
    return evidence(fit) >= 0


def by_alpha(fit: Fit) -> Tensor:
    """(R, M) bool: log alpha < 3, alpha = sigma^2 / m^2, as Sparse VD has it."""
    return log_alpha(fit.posterior.mean, fit.posterior.sigma) < PRUNED


def by_inclusion(fit: Fit) -> Tensor:
    """(R, M) bool: p > 1/2, the median probability model (Barbieri and Berger 2004)."""
    return fit.inclusion() > 0.5


# By the score whose threshold it is.
OPERATING_POINTS: dict[str, Callable[[Fit], Tensor]] = {
    "evidence": by_evidence,
    "snr": by_alpha,
    "inclusion": by_inclusion,
    "gate": by_inclusion,
}


def operating_points(fit: Fit, scores: Sequence[str]) -> Iterator[tuple[str, Tensor]]:
    """The mask (R, M) by the threshold of each of the scores that has one."""
    return ((score, mask(fit)) for score, mask in OPERATING_POINTS.items() if score in scores)


def largest_within(
    fit: Fit,
    data: ReplicaSource,
    droprates: Sequence[float],
    score: str,
    tolerance: float,
    pruning: Pruning = EVERYWHERE,
) -> Tensor:
    """The largest droprate up to which the error stays within (1 + tolerance) times the full network's, (R,).

    `droprates` rise, `data` are held back from training; 0 where the first of them is too much.
    """
    allowed = fit.errors(data) * (1 + tolerance)  # (R,)
    within = droprate_curve(fit, data, droprates, score, pruning) <= allowed  # (droprates, R)
    passed = within.long().cumprod(0).sum(0)  # how many in a row
    return torch.tensor([0.0, *droprates], dtype=torch.float64, device=within.device)[passed]
