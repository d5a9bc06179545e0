"""R replicas of one network: what training moves, and afterwards what it has found."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from sbnn.data.source import ReplicaSource
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Likelihood
from sbnn.model.posteriors.base import Posterior
from sbnn.model.priors.base import Prior


@dataclass
class Fit:
    """A posterior over the weights of a network, with all that its predictions depend on."""

    layout: Layout
    posterior: Posterior
    prior: Prior | None
    likelihood: Likelihood
    auxiliary: dict[str, Tensor] = field(default_factory=dict)  # exempt parameters and buffers, (R, ...) each
    dropout: bool = False  # whether it is trained with it, at rates that are among the buffers
    shape: tuple[int, ...] | None = None  # of one example
    chunk: int = 100  # replicas measured at once
    chunks: int = 1  # that all replicas come in, of which these are one: what is compiled for it serves the others

    def __post_init__(self) -> None:
        """A network's own exempt parameters and buffers are what every replica starts with."""
        self.auxiliary = self.auxiliary or self.layout.auxiliary(len(self.posterior.mean))

    @property
    def exempt(self) -> dict[str, Tensor]:
        return {name: self.auxiliary[name] for name in self.layout.exempt}

    @property
    def buffers(self) -> dict[str, Tensor]:
        return {name: value for name, value in self.auxiliary.items() if name not in self.layout.exempt}

    def movable(self) -> list[Tensor]:
        """All that the optimiser moves: the rows of theta, then exempt parameters, then the likelihood's own."""
        return [*self.posterior.theta, *self.exempt.values(), *self.likelihood.parameters()]

    def inclusion(self) -> Tensor:
        """Every weight's posterior inclusion probability, (R, M)."""
        own = self.posterior.inclusion
        if own is not None:
            return own
        if self.prior is None:
            raise TypeError("A network without a prior has no inclusion probabilities.")
        return self.prior.inclusion(self.posterior.second_moment)

    def module(self, keep: Tensor | None = None, replica: int = 0) -> nn.Module:
        """The network itself at a replica's posterior mean, or with only the weights in `keep` (R, M) left of it."""
        mean = self.posterior.deployed if keep is None else self.posterior.deployed * keep
        own = {name: values[replica] for name, values in self.auxiliary.items()}
        return self.layout.load(mean[replica], own)

    def take(self, replicas: Tensor) -> "Fit":
        """Some of the replicas, in the given order, repeats allowed."""
        auxiliary = {name: values[replicas] for name, values in self.auxiliary.items()}
        taken, likelihood = self.posterior.take(replicas), self.likelihood.take(replicas)
        return replace(self, posterior=taken, likelihood=likelihood, auxiliary=auxiliary)

    @staticmethod
    def joined(parts: Sequence["Fit"]) -> "Fit":
        """Fits of the same network as one; a single one is passed through uncopied."""
        first = parts[0]
        if len(parts) == 1:
            return first
        names = first.auxiliary
        return replace(
            first,
            posterior=first.posterior.joined([part.posterior for part in parts]),
            likelihood=first.likelihood.joined([part.likelihood for part in parts]),
            auxiliary={name: torch.cat([part.auxiliary[name] for part in parts]) for name in names},
        )

    @torch.no_grad()
    def errors(self, data: ReplicaSource, weights: Tensor | None = None) -> Tensor:
        """Root mean squared error, or share of wrong labels, of every replica on its rows, (R,).

        Predictions are those of the posterior mean, or of the given weights (R, M): a pruned copy, say.
        """
        weights = self.posterior.deployed if weights is None else weights
        errors = []
        for part in chunks(len(data), self.chunk):
            x, y = data[part].all()
            auxiliary = {name: values[part] for name, values in self.auxiliary.items()}
            errors.append(self.likelihood.error(self.layout.forward(weights[part], x, auxiliary), y))
        return torch.cat(errors)


def chunks(total: int, size: int) -> list[slice]:
    return [slice(begin, min(begin + size, total)) for begin in range(0, total, size)]
