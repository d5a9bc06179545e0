"""Experiment 7: CIFAR-10, flattened, with two hidden layers, as it is and augmented, against Bayes by Backprop."""

from sbnn.experiments.perceptrons import USES, check, run

__all__ = ["USES", "check", "run"]
