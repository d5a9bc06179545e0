"""What a weight is ranked by, (R, M): a higher score is kept longer."""

from collections.abc import Callable

from torch import Tensor

from sbnn.model.posteriors.base import Posterior


def inclusion(posterior: Posterior) -> Tensor:
    """s = m^2 + sigma^2: the order of the inclusion probability p, without p's ties at 0 and 1 in float32."""
    return posterior.second_moment


def snr(posterior: Posterior) -> Tensor:
    """|m| / sigma, the signal-to-noise ratio."""
    return posterior.mean.abs() / posterior.sigma


def magnitude(posterior: Posterior) -> Tensor:
    """|m|: all that a point estimate has."""
    return posterior.mean.abs()


SCORES: dict[str, Callable[[Posterior], Tensor]] = {"inclusion": inclusion, "snr": snr, "magnitude": magnitude}


def score(posterior: Posterior, name: str) -> Tensor:
    if name not in SCORES:
        raise ValueError(f"Unknown score {name!r}; choose one of {', '.join(SCORES)}.")
    return SCORES[name](posterior)
