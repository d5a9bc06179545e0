"""Spike-and-slab Bayesian neural networks: train, prune, select features, and check the paper's claims."""

__version__ = "0.1.0"
