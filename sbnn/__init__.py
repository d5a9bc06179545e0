"""Spike-and-slab Bayesian neural networks: train, prune, select features, and check the paper's claims."""

from sbnn.api.compress import compress
from sbnn.api.load import load
from sbnn.api.result import Result
from sbnn.compression.pruning import Pruning, prune_mask
from sbnn.compression.relevance import phi, psi
from sbnn.compression.scores import score
from sbnn.data.replicas import ReplicaData
from sbnn.errors import SbnnError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.settings import Training

__version__ = "0.1.0"
__all__ = [
    "Categorical",
    "Fit",
    "Gaussian",
    "Layout",
    "MeanField",
    "Pruning",
    "ReplicaData",
    "Result",
    "SbnnError",
    "SpikeSlabPrior",
    "Streams",
    "Training",
    "compress",
    "load",
    "phi",
    "prune_mask",
    "psi",
    "score",
    "train",
]
