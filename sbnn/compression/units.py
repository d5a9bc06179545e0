"""Whole units instead of single weights: what ranks them, when their weights go, and how many are left."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from sbnn.compression.chain import ends, layers, matrices
from sbnn.compression.paths import active
from sbnn.compression.relevance import from_inputs, from_outputs
from sbnn.compression.scores import magnitude, saliency, snr
from sbnn.errors import ConfigError, SbnnError
from sbnn.model.fit import Fit


def relevance(fit: Fit, values: Tensor) -> Tensor:
    """The mean over all paths through a unit of the product of `values` (R, M): psi of one side times the other's."""
    sides = from_inputs(fit.layout, values.double()), from_outputs(fit.layout, values.double())
    return torch.cat([before * after for before, after in list(zip(*sides, strict=True))[1:-1]], 1)


def unit_saliency(fit: Fit) -> Tensor:
    """What a unit is worth, in nats: the saliency of all that leads to it or of all that leaves it, whichever is less.

    Without either of them it is gone.
    """
    source, target = (end.to(fit.posterior.mean.device) for end in ends(fit.layout))
    own = saliency(fit).clamp_min(0)  # (R, M)
    sums = own.new_zeros(2, len(own), 1 + int(torch.maximum(source, target).max()))
    return torch.minimum(sums[0].index_add_(1, source, own), sums[1].index_add_(1, target, own))[:, :-1]


UNIT_SCORES: dict[str, Callable[[Fit], Tensor]] = {
    "inclusion": lambda fit: relevance(fit, fit.inclusion()),  # the paper's psi, for any node
    "snr": lambda fit: relevance(fit, snr(fit)),
    "magnitude": lambda fit: relevance(fit, magnitude(fit)),
    "saliency": unit_saliency,
}


def unit_scores(fit: Fit, name: str) -> Tensor:
    """Score of every hidden unit and channel, (R, U), layer by layer: a higher one is kept longer."""
    if name not in UNIT_SCORES:
        raise ConfigError(f"Units are not ranked by {name}; choose one of {', '.join(UNIT_SCORES)}.")
    if len(layers(fit.layout)) < 2:
        raise SbnnError("The network has no hidden units to rank; use pruning.scope=global.")
    return UNIT_SCORES[name](fit)


def last_places(fit: Fit, name: str) -> Tensor:
    """When every weight goes, (R, M), if units go one by one from the lowest score: with the first of its two ends.

    A unit takes along the weights that lead to it, its bias and the weights that leave it. The best unit of every layer
    stays, and so does what joins no hidden unit, such as an output's bias: infinity.
    """
    scores = unit_scores(fit, name).clone()
    for layer in scores.split([layer.outputs for layer in layers(fit.layout)[:-1]], dim=1):
        layer.scatter_(1, layer.argmax(1, keepdim=True), torch.inf)
    places = scores.argsort(dim=1, stable=True).argsort(dim=1).double().masked_fill(scores.isinf(), torch.inf)
    source, target = (F.pad(places, (0, 1), value=torch.inf)[:, end.to(places.device)] for end in ends(fit.layout))
    return torch.minimum(source, target)


def widths(fit: Fit, keep: Tensor) -> Tensor:
    """How many inputs, and units of every hidden layer, are left on active paths, (R, 1 + hidden layers)."""
    left = matrices(fit.layout, active(fit, keep).double())  # (R, out, in) each
    return torch.stack([(matrix > 0).any(1).sum(1) for matrix in left], 1)
