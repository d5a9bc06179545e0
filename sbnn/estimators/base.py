"""What regressor and classifier share: data made ready, one training for prediction and for selection."""

from abc import abstractmethod
from collections.abc import Sequence
from itertools import islice
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from sbnn.compression.relevance import phi, psi
from sbnn.errors import ConfigError, DataError
from sbnn.estimators.copies import Copies
from sbnn.estimators.inclusion import inclusion_probabilities
from sbnn.estimators.perceptron import Recipe, array, drawn, layers, outputs, stored
from sbnn.model.fit import Fit
from sbnn.streams import seed_of


class SpikeSlab(BaseEstimator):
    """A perceptron under a spike-and-slab prior, and replicas of it with copies of the features as controls."""

    def __init__(
        self,
        hidden: Sequence[int] = (50,),
        *,
        steps: int | str = "auto",
        temperature: float = 0.5,
        replicas: int = 20,
        samples: int = 30,
        random_state: Any = None,
        device: str = "auto",
    ):
        self.hidden = hidden
        self.steps = steps
        self.temperature = temperature
        self.replicas = replicas
        self.samples = samples
        self.random_state = random_state
        self.device = device

    def _recipe(self, rows: int, outputs: int) -> Recipe:
        """The parameters, checked before anything is trained."""
        if isinstance(self.hidden, str | Integral):
            raise ConfigError(f"hidden={self.hidden!r} must be a sequence of layers' widths, such as (50,).")
        for width in self.hidden:
            check_scalar(width, "hidden", Integral, min_val=1)
        by_size = min(max(500, 2 * rows), 5000)
        steps = check_scalar(by_size if self.steps == "auto" else self.steps, "steps", Integral, min_val=1)
        check_scalar(self.temperature, "temperature", Real, min_val=0, include_boundaries="neither")
        check_scalar(self.replicas, "replicas", Integral, min_val=0)
        check_scalar(self.samples, "samples", Integral, min_val=1)
        return Recipe(self.hidden, outputs, steps, self.temperature)

    @abstractmethod
    def _prepared(self, X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, int]:
        """Standardised rows (n, D) in canonical order, their labels (n,) or targets (n, outputs), and the outputs."""

    def _learn(self, x: np.ndarray, y: np.ndarray, outputs: int) -> Fit:
        """Train on what `_prepared` gives.

        The first replica reads zeros in place of copies: it is the one that predicts. The others have copies each.
        """
        recipe = self._recipe(len(x), outputs)
        seed = self._seed = check_random_state(self.random_state).randint(2**31 - 1)
        features, everything = x.shape[1], np.zeros((1 + self.replicas, len(x), 2 * x.shape[1]), np.float32)
        everything[..., :features] = x
        if self.replicas:
            copies = Copies(x, np.random.default_rng(seed))
            for own in everything[1:]:
                own[:, features:] = copies.draw()
        fit = recipe.train(stored(everything, y, self.device), [seed_of(seed, r) for r in range(len(everything))])
        inclusion = fit.inclusion()
        relevance = psi(fit.layout, inclusion)  # (1 + R, 2 D)
        self.feature_importances_ = array(phi(relevance[0, :features]))
        if self.replicas:
            self.inclusion_ = inclusion_probabilities(array(relevance[1:]))
        self.coefs_, self.intercepts_ = layers(fit, fit.posterior.mean, features)
        self.coefs_std_, self.intercepts_std_ = layers(fit, fit.posterior.sigma, features)
        self.coefs_inclusion_, self.intercepts_inclusion_ = layers(fit, inclusion, features)
        return fit

    def _standardise(self, x: np.ndarray) -> np.ndarray:
        self._center, self._spread = x.mean(0), spread(x)
        return (x - self._center) / self._spread

    def _sampled(self, X: ArrayLike) -> np.ndarray:
        """What each of the sampled networks says of rows X, (samples, n, outputs)."""
        check_is_fitted(self)
        x = (validate_data(self, X, dtype=np.float64, reset=False) - self._center) / self._spread
        means, deviations = [*self.coefs_, *self.intercepts_], [*self.coefs_std_, *self.intercepts_std_]
        depth, networks = len(self.coefs_), islice(drawn(means, deviations, self._seed), self.samples)
        return np.stack([outputs(x, weights[:depth], weights[depth:]) for weights in networks])


def canonical(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The order in which rows are taken, whatever order they come in, so that fits do not depend on that."""
    return np.lexsort(np.column_stack([y, x]).T)


def spread(x: np.ndarray) -> np.ndarray:
    """Standard deviations of the columns; 1 where one is nothing but the rounding of a constant."""
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = x.std(0)
    if not np.isfinite(deviation).all():
        raise DataError(
            f"Numbers as large as {np.abs(x).max():.1g} have no finite variance; divide them by a constant."
        )
    return np.where(deviation <= 1e-12 * np.abs(x).max(0), 1.0, deviation)
