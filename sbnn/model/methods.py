"""The method and its rivals, one line each: what every one puts into the one training loop, and what it is called.

No method's name is spelled anywhere else. A new one is a line here, and a file in `priors` or `posteriors` if those
lack what it needs. Figures take colours by the order of the table.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sbnn.model.posteriors.base import Posterior
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.base import Prior
from sbnn.model.priors.gaussian import GaussianPrior
from sbnn.model.priors.scale_mixture import ScaleMixturePrior
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.model.settings import PriorSettings

BuildPrior = Callable[[PriorSettings], Prior | None]


@dataclass(frozen=True)
class Method:
    """One line of the table."""

    name: str  # in rows and on the command line
    label: str  # in print
    prior: BuildPrior
    posterior: type[Posterior]
    scores: tuple[str, ...]  # what its weights can be ranked by: its own score first
    dropout: bool = False  # trained, and measured, with dropout
    is_rival: bool = False  # can be named in the key `rivals`

    @property
    def score(self) -> str:
        """Its own."""
        return self.scores[0]


def _mixture(kind: type[SpikeSlabPrior]) -> BuildPrior:
    return lambda settings: kind(settings.log_tau1, settings.log_tau0, settings.pi)


def _slab_alone(settings: PriorSettings) -> Prior:
    return GaussianPrior(settings.log_tau1)


def _weight_decay(settings: PriorSettings) -> Prior | None:
    return None if settings.log_decay is None else GaussianPrior(settings.log_decay)


def _no_prior(settings: PriorSettings) -> None:
    return None


SBNN = Method("sBNN", "sBNN", _mixture(SpikeSlabPrior), MeanField, ("inclusion", "snr", "magnitude"))
BBB = Method("BbB", "BbB", _mixture(ScaleMixturePrior), MeanField, ("snr",), is_rival=True)
BNN = Method("BNN", "BNN", _slab_alone, MeanField, ("snr",))
NN = Method("NN", "NN", _weight_decay, Deterministic, ("magnitude",), is_rival=True)
NN_DR = Method("NN_Dr", "MC dropout", _weight_decay, Deterministic, ("magnitude",), dropout=True, is_rival=True)
LM = Method("LM", "LM", _no_prior, Deterministic, ("magnitude",))  # a network without hidden layers: least squares
BNN_VS = replace(SBNN, name="BNN_VS", label="BNN_VS")  # on the top share of the features
BNN_VS_CV = replace(SBNN, name="BNN_VS_CV", label="BNN_VS_CV")  # on a share that cross-validation chose

METHODS = {method.name: method for method in (SBNN, BBB, BNN, NN, NN_DR, LM, BNN_VS, BNN_VS_CV)}
