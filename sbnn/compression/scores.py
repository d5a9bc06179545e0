"""What a weight is ranked by, (R, M): a higher score is kept longer."""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from sbnn.compression.paths import flow
from sbnn.model.fit import Fit
from sbnn.model.priors.base import Prior, exp
from sbnn.model.priors.spike_slab import SpikeSlabPrior

NODES = 64  # of the quadrature in `exact_inclusion`: within 1e-6 of the integral for the paper's priors


def inclusion(fit: Fit) -> Tensor:
    """s = m^2 + sigma^2: the order of the inclusion probability p, without p's ties at 0 and 1 in float32.

    The paper's. Right while sigma has hardly moved; a weight that feeds a dead unit returns to the slab, and its large
    sigma then ranks it high.
    """
    return fit.posterior.second_moment


def snr(fit: Fit) -> Tensor:
    """|m| / sigma, the signal-to-noise ratio: right wherever the data, not the prior, have set sigma."""
    return fit.posterior.mean.abs() / fit.posterior.sigma


def magnitude(fit: Fit) -> Tensor:
    """|m|, of the network as it is used: all that a point estimate has."""
    return fit.posterior.deployed.abs()


def relative(fit: Fit) -> Tensor:
    """|m| over the standard deviation of the weights that its layer has left.

    One threshold on it is Han and others' for every layer, a quality parameter times the deviation (2015): right where
    layers differ in scale, as a point estimate's do.
    """
    size, owner = magnitude(fit), fit.layout.module.to(fit.posterior.mean.device)
    left = (size > 0).to(size.dtype)
    sums = torch.stack([left, size.square()]).new_zeros(2, len(size), len(fit.layout.modules))
    count, squares = sums.index_add_(2, owner, torch.stack([left, size.square()]))  # (R, layers) each
    deviation = (squares / count.clamp_min(1)).sqrt()
    return size / deviation.clamp_min(torch.finfo(size.dtype).tiny)[:, owner]


def gate(fit: Fit) -> Tensor:
    """The logit of a weight's gate, in posteriors that have one: the order of P(open), without its ties."""
    if fit.posterior.inclusion is None:
        raise TypeError(f"{type(fit.posterior).__name__} has no gates.")
    return fit.posterior.theta[-1]


def saliency(fit: Fit) -> Tensor:
    """m^2 H / 2 with H = 1/sigma^2 - lambda: optimal brain damage, by the curvature that the posterior itself carries.

    Where sigma is at its optimum, 1/sigma^2 = H/T + lambda: H is the curvature of the data's loss, lambda the prior's
    pull, T the temperature, left at 1 here as it ranks nothing. The score is then the rise of the loss, in nats, if
    the weight is set to zero. A weight without curvature (H <= 0) costs nothing: it ranks below all others, at
    -1/snr among its like. Right for a converged sigma, also where snr is misled by the spike's own precision.
    """
    curvature = fit.posterior.sigma.pow(-2) - _prior(fit, "saliency").precision(fit.posterior.second_moment)
    return torch.where(curvature > 0, fit.posterior.mean.square() * curvature / 2, -1 / snr(fit))


def evidence(fit: Fit) -> Tensor:
    """log prior(0) - log q(0) = -energy(0) + log sigma + m^2 / (2 sigma^2), Savage and Dickey's ratio.

    The log Bayes factor of the weight as it is against a weight of zero; below 0 the data favour zero. Right as a
    threshold, which needs no droprate. The 1/2 log 2 pi of both densities cancels.
    """
    at_zero = _prior(fit, "evidence").energy(torch.zeros_like(fit.posterior.mean))
    return fit.posterior.sigma.log() + snr(fit).square() / 2 - at_zero


def path(fit: Fit) -> Tensor:
    """log(snr sqrt(f)), f the flow of |m| through the weight (`paths.flow`); logs, since products of layers underflow.

    Right in the tail, where few weights are left: a layer of few weights has much flow through each of them, so that
    none is starved.
    """
    return snr(fit).double().log() + flow(fit, magnitude(fit)).log() / 2


def exact_inclusion(fit: Fit) -> Tensor:
    r"""Log odds of E_q[p(w^2)], w ~ N(m, sigma^2), where Eq. 10 puts E_q[w^2] into p: log odds have no ties.

    With k = 1/tau0^2 - 1/tau1^2 and c the logit of p(0), 1 - p(w^2) = e^(-k w^2/2) / (e^c + e^(-k w^2/2)). Its
    numerator times q is another Gaussian; the rest is smooth on the scale of that one, so that Gauss-Hermite quadrature
    serves even where q is a thousand times wider than the spike:

        E_q[1 - p] = z E[1 / (e^c + e^(-k w^2/2))],   w ~ N(m/d, sigma^2/d),   d = 1 + k sigma^2,
        z = d^(-1/2) exp(-k m^2 / (2 d))

    Right where the inclusion probability itself is wanted: by Jensen's inequality p(E_q[w^2]) is too high for a wide q.
    """
    mean, variance = fit.posterior.mean, fit.posterior.sigma.square()
    if not isinstance(prior := fit.prior, SpikeSlabPrior):
        raise TypeError("Only a spike-and-slab prior has an inclusion probability to average.")
    k, odds = prior.spike - prior.slab, exp(prior.offset)
    d = 1 + k * variance
    smooth = torch.zeros_like(mean)
    for node, weight in zip(*np.polynomial.hermite_e.hermegauss(NODES), strict=True):
        w = mean / d + float(node) * (variance / d).sqrt()
        smooth += float(weight / np.sqrt(2 * np.pi)) / (odds + (-k / 2 * w.square()).exp())
    excluded = smooth.log() - d.log() / 2 - k * mean.square() / (2 * d)  # log E_q[1 - p]
    return torch.expm1(-excluded).log().where(excluded > -20, -excluded)  # e^20 does not notice the 1


SCORES: dict[str, Callable[[Fit], Tensor]] = {
    function.__name__: function
    for function in (inclusion, snr, magnitude, saliency, evidence, path, exact_inclusion, gate, relative)
}  # fmt: skip


def score(fit: Fit, name: str) -> Tensor:
    if name not in SCORES:
        raise ValueError(f"Unknown score {name!r}; choose one of {', '.join(SCORES)}.")
    return SCORES[name](fit)


def _prior(fit: Fit, what: str) -> Prior:
    if fit.prior is None:
        raise TypeError(f"A network without a prior has no {what}.")
    return fit.prior
