"""The method and its rivals, one line each: what every one puts into the one training loop, and what it is called.

No method's name is spelled anywhere else. A new one is a line here, and a file in `priors` or `posteriors` if those
lack what it needs. Figures take colours by the order of the table.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sbnn.model.posteriors.base import Posterior
from sbnn.model.posteriors.gated import Gated
from sbnn.model.posteriors.hard_concrete import HardConcrete
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.base import Prior, exp
from sbnn.model.priors.count import CountPrior
from sbnn.model.priors.gaussian import GaussianPrior
from sbnn.model.priors.log_uniform import LogUniformPrior
from sbnn.model.priors.point_mass import PointMassPrior
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
    scores: tuple[str, ...]  # what its weights can be ranked by: its own score first; the key `scores` chooses
    dropout: bool = False  # trained, and measured, with dropout
    is_rival: bool = False  # can be named in the key `rivals`
    comeback: str | None = None  # pruned while it is trained, and not otherwise: as `trainer.gradual.comeback`

    @property
    def score(self) -> str:
        """Its own."""
        return self.scores[0]

    def offered(self, wanted: Sequence[str]) -> list[str]:
        """Its own score, and those that are wanted and that it has."""
        return list(dict.fromkeys([self.score, *(score for score in wanted if score in self.scores)]))


def _mixture(kind: type[SpikeSlabPrior]) -> BuildPrior:
    return lambda settings: kind(settings.log_tau1, settings.log_tau0, settings.pi)


def _slab_alone(settings: PriorSettings) -> Prior:
    return GaussianPrior(settings.log_tau1)


def _weight_decay(settings: PriorSettings) -> Prior | None:
    return None if settings.log_decay is None else GaussianPrior(settings.log_decay)


def _log_uniform(settings: PriorSettings) -> Prior:
    return LogUniformPrior()


def _point_mass(settings: PriorSettings) -> Prior:
    return PointMassPrior(settings.log_tau1, settings.pi)


def _count(settings: PriorSettings) -> Prior:
    return CountPrior(settings.cost, 0.0 if settings.log_decay is None else exp(-2 * settings.log_decay))


def _no_prior(settings: PriorSettings) -> None:
    return None


SPREAD = ("snr", "magnitude", "saliency", "evidence", "path")  # scores of any posterior with a mean and a deviation
MIXTURE = ("inclusion", *SPREAD, "exact_inclusion")  # and where the prior has two components
POINT = ("magnitude", "relative")


SBNN = Method("sBNN", "sBNN", _mixture(SpikeSlabPrior), MeanField, MIXTURE)
BBB = Method("BbB", "BbB", _mixture(ScaleMixturePrior), MeanField, ("snr", *MIXTURE), is_rival=True)
BNN = Method("BNN", "BNN", _slab_alone, MeanField, SPREAD)
NN = Method("NN", "NN", _weight_decay, Deterministic, POINT, is_rival=True)
NN_DR = Method("NN_Dr", "MC dropout", _weight_decay, Deterministic, POINT, dropout=True, is_rival=True)
# Sun, Song and Liang 2021: the same prior without the variance
MAP = Method("MAP", "MAP", _mixture(SpikeSlabPrior), Deterministic, POINT, is_rival=True)
# a Gaussian network, pruned where reducing its prior to zero raises the evidence
BMR = Method("BMR", "BMR", _slab_alone, MeanField, ("evidence", *SPREAD), is_rival=True)
# Zhu and Gupta 2017: the weights of least magnitude leave during training
GMP = Method("GMP", "GMP", _weight_decay, Deterministic, POINT, is_rival=True, comeback="never")
DC = replace(GMP, name="DC", label="Deep Compression, pruned")  # Han and others 2015: in few stages, layers alike
RIGL = replace(GMP, name="RigL", label="RigL", comeback="gradient")
DNS = replace(GMP, name="DNS", label="DNS", comeback="magnitude")
SPARSE_VD = Method("SparseVD", "Sparse VD", _log_uniform, MeanField, ("snr", "magnitude", "path"), is_rival=True)
SVBNN = Method("SVBNN", "SVBNN", _point_mass, Gated, ("gate", "magnitude"), is_rival=True)
L0 = Method("L0", "L0", _count, HardConcrete, ("gate", "magnitude"), is_rival=True)
LM = Method("LM", "LM", _no_prior, Deterministic, POINT)  # a network without hidden layers: least squares
BNN_VS = replace(SBNN, name="BNN_VS", label="BNN_VS")  # on the top share of the features
BNN_VS_CV = replace(SBNN, name="BNN_VS_CV", label="BNN_VS_CV")  # on a share that cross-validation chose
NN_DR_IN = replace(NN_DR, name="NN_Dr_in", label="MC dropout, inputs too", is_rival=False)

METHODS = {
    method.name: method
    for method in (
        SBNN, BBB, BNN, NN, NN_DR, LM, BNN_VS, BNN_VS_CV, MAP, BMR, GMP, DC, RIGL, DNS, SPARSE_VD, SVBNN, L0, NN_DR_IN,
    )
}  # fmt: skip
