"""Experiment 6: MNIST with two hidden layers, by width and as weights are pruned, against Bayes by Backprop."""

from sbnn.experiments.perceptrons import USES, check, run

__all__ = ["USES", "check", "run"]
