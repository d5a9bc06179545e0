"""From a method and a network to trained replicas: first they are built, then they go through the loop."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit, chunks
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian, Likelihood
from sbnn.model.methods import Method
from sbnn.model.posteriors.base import Posterior, initial_means
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.settings import ModelSettings
from sbnn.streams import Streams
from sbnn.training.history import History
from sbnn.training.loop import train
from sbnn.training.schedule import Plan
from sbnn.training.session import Session
from sbnn.training.settings import Training


@dataclass
class Start:
    """What the replicas of a fit are before they are trained."""

    method: Method
    network: nn.Module  # of its own weights nothing matters except their shape, unless they come in `origin`
    settings: ModelSettings = field(default_factory=ModelSettings)
    origin: Fit | None = None  # begin where this fit, of as many replicas, ended; its method may be another
    dropout: Tensor | None = None  # (R,) the rate of each replica
    keep: Tensor | None = None  # (R, M) the weights that are left

    def tensors(self) -> list[Tensor]:
        """What it begins with besides the settings and a seed."""
        origin = [] if self.origin is None else [*self.origin.posterior.theta, *self.origin.auxiliary.values()]
        return [*origin, *(given for given in (self.dropout, self.keep) if given is not None)]

    def replicas(self, data: ReplicaSource, part: slice, streams: Streams, session: Session) -> Fit:
        """Some of the replicas, at their starting point."""
        layout, origin = Layout(on_device(self.network, session), self.settings.leave_out), self.origin
        means = initial_means(layout, streams, self.settings.init.mean_scale, session.dtype)
        likelihood = self._likelihood(data, means) if origin is None else origin.likelihood.take(part)
        if origin is None:
            theta, auxiliary = [means], layout.auxiliary(len(streams))
        else:
            own = origin.posterior
            rows = own.theta if isinstance(own, self.method.posterior) else [own.deployed]
            theta = [row[part] for row in rows]
            auxiliary = {name: values[part].clone() for name, values in origin.auxiliary.items()}
        if self.dropout is not None:
            auxiliary |= {name: self.dropout[part] for name in auxiliary if name.endswith("rate")}
        prior = self.method.prior(self.settings.prior)
        posterior = self._posterior(theta, part)
        dropout, shape = self.dropout is not None, shape_of(data[part], session)
        return Fit(layout, posterior, prior, likelihood, auxiliary, dropout, shape, session.chunk)

    def _posterior(self, theta: Sequence[Tensor], part: slice) -> Posterior:
        spike, sigma = self.settings.prior.log_tau0, self.settings.init.sigma
        posterior = self.method.posterior.begun(theta, math.exp(spike) if sigma is None else sigma)
        posterior.keep = None if self.keep is None else self.keep[part]
        posterior.mean.copy_(posterior.masked(posterior.mean))
        return posterior

    def _likelihood(self, data: ReplicaSource, means: Tensor) -> Likelihood:
        """Labels are classes; any other target is a regression's."""
        if not data.y.is_floating_point():
            return Categorical()
        noise = self.settings.likelihood
        return Gaussian(torch.full_like(means[:, 0], noise.log_variance), noise.learned)


def fit(
    start: Start,
    data: ReplicaSource,
    training: Training,
    seeds: Sequence[int],
    name: str,
    session: Session,
    fingerprint: str = "",
) -> Fit:
    """Train every replica of `data`, each from a seed of its own, and return them as one fit.

    Replicas go through the loop `session.chunk` at a time, which keeps them in cache and changes no number (except
    with dropout, whose masks come from one stream a chunk). The session keeps the history of all of them together.
    """
    parts = chunks(len(data), session.chunk)
    plan = Plan(training, start.method.prior(start.settings.prior), data.size)
    bar = session.bar(name if len(data) == 1 else f"{name}, {len(data)} replicas", len(parts) * plan.steps)
    fits, histories = [], []
    for number, part in enumerate(parts):
        streams = Streams(list(seeds[part]), session.device)
        fits.append(replace(start.replicas(data, part, streams, session), chunks=len(parts)))
        own_name = f"{name}-{number}"
        checkpoint = session.checkpoint(own_name, fingerprint)
        histories.append(train(fits[-1], data[part], streams, training, checkpoint, bar, session.world))
        session.note(own_name, checkpoint)
    bar.close()
    session.histories[name] = History.joined(histories)
    return Fit.joined(fits)


def as_fit(network: nn.Module, settings: ModelSettings, data: ReplicaSource, session: Session) -> Fit:
    """A network trained elsewhere, for a fit to start from."""
    layout, shape = Layout(on_device(network, session), settings.leave_out), shape_of(data, session)
    return Fit(layout, Deterministic(layout.flatten()[None]), None, Categorical(), shape=shape, chunk=session.chunk)


def shape_of(data: ReplicaSource, session: Session) -> tuple[int, ...]:
    """Of one example, as it is read."""
    first, _ = data.read(torch.zeros(len(data), 1, dtype=torch.long, device=session.device))
    return tuple(first.shape[2:])


def on_device(network: nn.Module, session: Session) -> nn.Module:
    """Moved there, unless it is of shapes only and has nothing to move."""
    return network if any(p.is_meta for p in network.parameters()) else network.to(session.device, session.dtype)
