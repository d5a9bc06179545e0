"""Copies of features that know nothing of the target: what a feature without effect would look like."""

import numpy as np
from scipy.special import ndtr, ndtri
from sklearn.covariance import ledoit_wolf

MARGIN = 0.999  # of the largest step away from the features for which the covariance below has a root


class Copies:
    r"""Knockoff copies of the columns of x (n, D), by Candès and others (2018), under a Gaussian copula.

    Ranks, ties broken at random, make every column standard normal, z; S is the (shrunk) correlation of z. Then

        z~ = z - z S^-1 diag(s) + N(0, 2 diag(s) - diag(s) S^-1 diag(s)),   s_j = g / (S^-1)_jj,

    g as large as the covariance of the noise allows, at most 1; and x~_j is the quantile of column j at Phi(z~_j). If
    the copula is right, a feature without an effect of its own and its copy can change places, also next to features
    that they correlate with, and nothing else changes in distribution: a model that prefers the feature does so by
    chance. Columns keep their values (a binary one stays binary).
    """

    def __init__(self, x: np.ndarray, rng: np.random.Generator):
        order = np.lexsort((rng.random(x.shape), x), axis=0)
        self.z = ndtri((np.argsort(order, axis=0) + 0.5) / len(x))
        self.values, self.rng = np.take_along_axis(x, order, axis=0), rng
        covariance, _ = ledoit_wolf(self.z)
        deviation = np.sqrt(np.diag(covariance))
        inverse = np.linalg.inv(covariance / np.outer(deviation, deviation))
        own = 1 / np.diag(inverse)  # what the other features leave unexplained of each
        scaled = inverse * np.sqrt(np.outer(own, own))
        step = own * min(1.0, MARGIN * 2 / np.linalg.eigvalsh(scaled)[-1])
        self.shift = inverse * step
        self.root = np.linalg.cholesky(np.diag(2 * step) - step[:, None] * self.shift)

    def draw(self) -> np.ndarray:
        """Other copies at every call, (n, D)."""
        noise = self.rng.standard_normal(self.z.shape) @ self.root.T
        place = ndtr(self.z - self.z @ self.shift + noise) * len(self.z)
        return np.take_along_axis(self.values, place.astype(int).clip(max=len(self.z) - 1), axis=0)
