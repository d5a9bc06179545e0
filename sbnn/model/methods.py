"""The method and its rivals by the paper's names: what each puts into the one training loop."""

import math
from dataclasses import dataclass, field, replace

import torch
from omegaconf import DictConfig
from torch import Tensor, nn

from sbnn.data.images import ImageData
from sbnn.data.replicas import ReplicaData
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.posteriors.mean_field import Deterministic, Masked, MeanField, initial_means
from sbnn.model.priors.spike_slab import GaussianPrior, ScaleMixturePrior, SpikeSlabPrior
from sbnn.runs.context import Run
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.schedule import Plan, Training

METHODS = ("sBNN", "BNN", "BbB", "NN", "NN_Dr")
POINT_ESTIMATES = ("NN", "NN_Dr")
# What a method's weights can be ranked by where networks are pruned: its own score first.
SCORES = {"sBNN": ("inclusion", "snr", "magnitude"), "BbB": ("snr",), "NN": ("magnitude",), "NN_Dr": ("magnitude",)}


@dataclass
class Fit:
    """R trained replicas of one network."""

    layout: Layout
    posterior: MeanField | Deterministic
    prior: SpikeSlabPrior | GaussianPrior | None
    likelihood: Gaussian | Categorical
    chunk: int
    beside: dict[str, Tensor] = field(default_factory=dict)  # parameters set aside and buffers, (R, ...) each
    dropout: bool = False  # whether it was trained with it, at rates that are among the buffers

    def inclusion(self) -> Tensor:
        """Every weight's posterior inclusion probability, (R, M)."""
        return self.prior.inclusion(self.posterior.second_moment)

    def take(self, replicas: Tensor) -> "Fit":
        """Some of the replicas, in the given order, repeats allowed."""
        posterior = type(self.posterior)(self.posterior.theta[:, replicas])
        beside = {name: values[replicas] for name, values in self.beside.items()}
        return replace(self, posterior=posterior, likelihood=self.likelihood.take(replicas), beside=beside)

    @torch.no_grad()
    def errors(self, data: ReplicaData, weights: Tensor | None = None) -> Tensor:
        """Root mean squared error, or share of wrong labels, of every replica on its rows, (R,).

        Predictions are those of the posterior mean, or of the given weights (R, M): a pruned copy, say.
        """
        weights = self.posterior.mean if weights is None else weights
        errors = []
        for part in chunks(len(data), self.chunk):
            x, y = data[part].all()
            beside = {name: values[part] for name, values in self.beside.items()}
            errors.append(self.likelihood.error(self.layout.forward(weights[part], x, beside), y))
        return torch.cat(errors)


def prior_of(method: str, cfg: DictConfig) -> SpikeSlabPrior | GaussianPrior | None:
    if method == "sBNN":
        return SpikeSlabPrior(cfg.prior.log_tau1, cfg.prior.log_tau0, cfg.prior.pi)
    if method == "BbB":
        return ScaleMixturePrior(cfg.prior.log_tau1, cfg.prior.log_tau0, cfg.prior.pi)
    if method == "BNN":
        return GaussianPrior(cfg.prior.log_tau1)
    return None if cfg.prior.log_decay is None else GaussianPrior(cfg.prior.log_decay)


def fit(
    run: Run,
    method: str,
    network: nn.Module,
    data: ReplicaData | ImageData,
    cfg: DictConfig,
    seeds: list[int],
    name: str,
    start: Fit | None = None,
    dropout: Tensor | None = None,
    keep: Tensor | None = None,
) -> Fit:
    """Train every replica of `data` and return them as one fit.

    Replicas go through the loop `chunk` at a time, which keeps them in cache and changes no number (but for
    dropout, whose masks come from one stream a chunk). `start` begins where another fit of as many replicas
    ended, whose method may be another; `dropout` (R,) gives each replica its rate; a point estimate is held to the
    weights in `keep` (R, M). Of the network's own weights nothing matters but their shape.
    """
    on_device(network, run)
    layout, prior, training = Layout(network, cfg.network.leave_out), prior_of(method, cfg), Training(**cfg.trainer)
    beside = layout.beside(len(data)) if start is None else {n: values.clone() for n, values in start.beside.items()}
    if dropout is not None:
        beside |= {name: dropout for name in beside if name.endswith("rate")}
    parts = chunks(len(data), cfg.chunk)
    bar = run.bar(
        name if len(data) == 1 else f"{name}, {len(data)} replicas", len(parts) * Plan(training, prior, data.size).steps
    )
    thetas, likelihoods = [], []
    for number, part in enumerate(parts):
        streams = Streams(seeds[part], run.device)
        means = initial_means(layout, streams, cfg.init.mean_scale, run.dtype)
        likelihood = likelihood_of(data, cfg, means) if start is None else start.likelihood.take(part)
        theta = means[None] if start is None else start.posterior.theta[:, part]
        posterior = posterior_of(method, cfg, theta, None if keep is None else keep[part])
        own = {name: values[part] for name, values in beside.items()}
        checkpoint = run.checkpoint(f"{name}-{number}", cfg)
        train(layout, posterior, prior, likelihood, data[part], streams, training, own, checkpoint, bar, run.world)
        run.trained.append(checkpoint.seconds)
        thetas.append(posterior.theta)
        likelihoods.append(likelihood)
    bar.close()
    theta = thetas[0] if len(thetas) == 1 else torch.cat(thetas, 1)
    posterior = (Deterministic if method in POINT_ESTIMATES else MeanField)(theta)
    joined = type(likelihood).joined(likelihoods)
    return Fit(layout, posterior, prior, joined, cfg.chunk, beside, dropout is not None)


def posterior_of(method: str, cfg: DictConfig, theta: Tensor, keep: Tensor | None) -> MeanField | Deterministic:
    """A copy of a fit's theta, or of means (1, R, M), to train on: what a method asks for beyond that starts afresh."""
    if method in POINT_ESTIMATES:
        return Deterministic(theta[:1].clone()) if keep is None else Masked(theta[:1], keep)
    if len(theta) > 1:
        return MeanField(theta.clone())
    sigma = math.exp(cfg.prior.log_tau0) if cfg.init.sigma is None else cfg.init.sigma
    return MeanField.around(theta[0], sigma)


def as_fit(network: nn.Module, run: Run, cfg: DictConfig) -> Fit:
    """A network trained elsewhere, to start from."""
    layout = Layout(on_device(network, run), cfg.network.leave_out)
    return Fit(layout, Deterministic(layout.flatten()[None, None]), None, Categorical(), cfg.chunk, layout.beside(1))


def on_device(network: nn.Module, run: Run) -> nn.Module:
    """Moved there, unless it is of shapes only and has nothing to move."""
    return network if any(p.is_meta for p in network.parameters()) else network.to(run.device, run.dtype)


def likelihood_of(data: ReplicaData | ImageData, cfg: DictConfig, means: Tensor) -> Gaussian | Categorical:
    """Labels are classes; any other target is a regression's."""
    if not data.y.is_floating_point():
        return Categorical()
    return Gaussian(torch.full_like(means[:, 0], cfg.likelihood.log_variance), cfg.likelihood.learned)


def chunks(total: int, size: int) -> list[slice]:
    return [slice(begin, min(begin + size, total)) for begin in range(0, total, size)]
