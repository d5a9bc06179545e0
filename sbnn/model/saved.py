"""A fit in a file: safetensors by name, so that others can read it and nothing in it is executed."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.files import written_whole
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Gaussian, Likelihood
from sbnn.model.posteriors.base import Posterior
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.spike_slab import SpikeSlabPrior

FORMAT = "sbnn posterior 1"


def write_fit(fit: Fit, path: Path, history: Sequence[dict[str, float]] = (), arrangement: str = "as it is") -> None:
    """`mean/fc1.weight` and so on, (R, ...) each: means, deviations, inclusion probabilities, what is left of a mask,
    and under `other/` the parameters and buffers that have no posterior.
    """
    posterior, prior = fit.posterior, fit.prior
    kinds = {"mean": posterior.mean}
    if posterior.is_random:
        kinds["sigma"] = posterior.sigma
        if prior is not None or posterior.inclusion is not None:
            kinds["inclusion"] = fit.inclusion()
    if posterior.keep is not None:
        kinds["keep"] = posterior.keep
    tensors = {f"{kind}/{name}": t for kind, row in kinds.items() for name, t in fit.layout.unflatten(row).items()}
    tensors |= {f"other/{name}": value for name, value in fit.auxiliary.items()}
    if isinstance(fit.likelihood, Gaussian):
        tensors["likelihood/log_variance"] = fit.likelihood.log_variance
    widths = [prior.log_tau1, prior.log_tau0, prior.pi] if isinstance(prior, SpikeSlabPrior) else None
    facts = {
        "format": FORMAT,
        "prior": json.dumps(widths),
        "likelihood": type(fit.likelihood).__name__,
        "arrangement": arrangement,
        "history": json.dumps(list(history)),
    }
    with written_whole(path) as temporary:
        save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, temporary, facts)


@dataclass(frozen=True)
class Saved:
    """What such a file holds."""

    path: Path
    tensors: dict[str, Tensor]
    prior: SpikeSlabPrior | None
    likelihood: str  # its class's name
    arrangement: str  # of the network's outputs, for the likelihood
    history: list[dict[str, float]]

    def fit(self, layout: Layout, likelihood: Callable[[int, Tensor], Likelihood]) -> Fit:
        """Of the network in `layout`, on its device; the likelihood is made of the replicas' number and variance."""
        device = layout.flatten().device
        named = {name: value.to(device) for name, value in self.tensors.items()}
        own = {f"mean/{name}": shape for name, shape in zip(layout.names, layout.shapes, strict=True)}
        given = {name: value.shape[1:] for name, value in named.items() if name.startswith("mean/")}
        wrong = [name for name in own | given if own.get(name) != given.get(name)]
        if wrong:
            names = ", ".join(name.removeprefix("mean/") for name in wrong[:3])
            raise ConfigError(f"{self.path} is of another network: {names} do not go together.")

        def row(kind: str) -> Tensor | None:
            if f"{kind}/{layout.names[0]}" not in named:
                return None
            return torch.cat([named[f"{kind}/{name}"].flatten(1) for name in layout.names], dim=1)

        mean, sigma = torch.cat([named[name].flatten(1) for name in own], dim=1), row("sigma")
        posterior: Posterior = Deterministic(mean) if sigma is None else MeanField(mean, sigma.expm1().log())
        posterior.keep = row("keep")
        auxiliary = {name.removeprefix("other/"): value for name, value in named.items() if name.startswith("other/")}
        variance = named.get("likelihood/log_variance", mean.new_zeros(len(mean))).exp()
        return Fit(layout, posterior, self.prior, likelihood(len(mean), variance), auxiliary)


def read_saved(path: Path) -> Saved:
    try:
        with safe_open(path, "pt") as file:
            facts = file.metadata() or {}
            if facts.get("format") == FORMAT:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
                widths, history = json.loads(facts["prior"]), json.loads(facts["history"])
                prior = None if widths is None else SpikeSlabPrior(*widths)
                return Saved(path, tensors, prior, facts["likelihood"], facts["arrangement"], history)
    except Exception as error:
        raise ConfigError(f"{path} cannot be read ({type(error).__name__}); give a file that save wrote.") from error
    raise ConfigError(f"{path} is not a posterior of this version ({FORMAT}); give a file that save wrote.")
