"""What a fit says of examples: predictions, and how good they are."""

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from sbnn.api.examples import ROWS, Examples
from sbnn.compression.batch_norm import restated
from sbnn.compression.evaluation import TWO_SIDED_95, scores_of
from sbnn.data.nested import Inputs, each, tensors
from sbnn.model.fit import Fit
from sbnn.model.likelihoods import Gaussian
from sbnn.streams import Streams, seed_of

STATISTICS = 10_000  # examples from which batch norm is taken again


@torch.no_grad()
def outputs(fit: Fit, weights: Tensor, x: Inputs, auxiliary: dict[str, Tensor]) -> Tensor:
    """Of weights (R, M) at the same inputs (n, ...) for all replicas: (R, n, ...), some rows at a time."""
    fit.layout.network.eval()
    replicas, rows = len(weights), len(tensors(x)[0])
    found = []
    for begin in range(0, rows, ROWS):
        part = each(
            lambda tensor, begin=begin: tensor[begin : begin + ROWS].expand(
                replicas, *tensor[begin : begin + ROWS].shape
            ),
            x,
        )
        found.append(fit.layout.forward(weights, part, auxiliary))
    return torch.cat(found, dim=1)


def statistics(fit: Fit, weights: Tensor, train: Examples | None) -> dict[str, Tensor]:
    """The auxiliary values that belong to these weights: batch norm's are taken again where there is any."""
    if train is None or not fit.layout.norms:
        return fit.auxiliary
    batches = (batch.all()[0] for batch in train.batches(STATISTICS) if batch.size > 1)
    return restated(fit.layout, weights, batches, fit.auxiliary)


def samples_of(fit: Fit, keep: Tensor, samples: int, seed: int) -> Iterator[Tensor]:
    """Weights (R, M) of the deployed network, or of so many networks drawn from the posterior."""
    if not samples:
        yield fit.posterior.deployed * keep
        return
    posterior = fit.posterior
    streams = Streams([seed_of(seed, "predict", replica) for replica in range(len(keep))], keep.device)
    for _ in range(samples):
        yield posterior.sample(streams.normal_(posterior.empty_noise())) * keep


def mixture(fit: Fit, drawn: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the predictive distribution, from outputs (S, R, n, ...) of drawn networks.

    Replicas are pooled with the draws. A regression's deviation has the noise in it; that of classes is of their
    probabilities between the draws.
    """
    likelihood, pooled = fit.likelihood, drawn.flatten(0, 1)
    if isinstance(likelihood, Gaussian):
        noise = likelihood.log_variance.detach().exp().mean()
        return pooled.mean(0), (pooled.var(0, correction=0) + noise).sqrt()
    pooled = likelihood.probabilities(pooled) if likelihood.is_classification else pooled
    return pooled.mean(0), pooled.std(0, correction=0)


def scores(fit: Fit, drawn: Tensor, y: Tensor) -> dict[str, float]:
    """Error, negative log-likelihood an example and calibration, of the mixture over draws and replicas (S, R, n, ...).

    Calibration is the share of targets inside the central 95 % (`coverage`), or the expected calibration error (`ece`).
    """
    mean, deviation = mixture(fit, drawn)
    likelihood = fit.likelihood
    if isinstance(likelihood, Gaussian):
        nll = deviation.log() + ((y - mean) / deviation).square() / 2 + math.log(2 * math.pi) / 2
        inside = (y - mean).abs() <= TWO_SIDED_95 * deviation
        rmse = (y - mean).square().mean().sqrt()
        return {"error": float(rmse), "nll": float(nll.sum(-1).mean()), "coverage": float(inside.float().mean())}
    if not likelihood.is_classification:
        loss = float(likelihood.nll(mean[None], y[None]))
        return {"error": loss, "nll": loss}
    labels = y.flatten()
    counted = (
        torch.ones_like(labels, dtype=torch.bool) if likelihood.left_out is None else labels != likelihood.left_out
    )
    found = scores_of(mean.flatten(0, -2)[counted][None], labels[counted][None])
    return {name: float(value) for name, value in found.items()}
