"""The regressor and the classifier."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from sbnn.errors import ConfigError
from sbnn.estimators.base import SpikeSlab, canonical, spread
from sbnn.estimators.perceptron import array


class SpikeSlabRegressor(RegressorMixin, SpikeSlab):
    """Regression by a spike-and-slab Bayesian perceptron, which says how sure it is and which features it needs.

    Inputs and target are standardised inside. The order of the rows changes nothing. Several targets, y (n, outputs),
    share the hidden layers and, in units of their own standard deviations, the noise.

    Parameters
    ----------
    hidden : units of each hidden layer; none makes the model linear
    steps : of training; "auto" takes two a row, at least 500 and at most 5000
    temperature : weight of the penalty. Higher is smoother and sparser; worth a grid search around 0.15 to 1
    replicas : networks trained at the same time with copies of the features as controls, for `inclusion_`. They take
        most of the time, and 8 n D bytes each; 0 does without them
    samples : networks drawn from the posterior for a prediction
    random_state : as everywhere in scikit-learn
    device : "auto" is CUDA where there is one; any of torch's names

    Attributes
    ----------
    feature_importances_ : phi, the relevance of each feature scaled to [0, 1]: the mean, over all paths from it to the
        output, of the product of the weights' inclusion probabilities. A ranking; 1/2 is no threshold with a meaning
    inclusion_ : the probability that each feature has an effect; `SpikeSlabSelector` says how, and selects by it
    coefs_, intercepts_ : posterior means of the weights, layer by layer; `coefs_std_`, `intercepts_std_` their standard
        deviations, `coefs_inclusion_`, `intercepts_inclusion_` their inclusion probabilities
    noise_ : standard deviation of the noise, in units of the target
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        fit = self._learn(*self._prepared(X, y))
        noise = np.exp(array(fit.likelihood.parameters()[0])[0] / 2) * self._target_spread
        self.noise_ = noise[0] if self._is_single else noise
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """The posterior predictive's mean and, if wanted, its standard deviation, noise included, in y's own units."""
        sampled = self._sampled(X) * self._target_spread + self._target_center  # (samples, n, outputs)
        mean, std = sampled.mean(0), np.sqrt(sampled.var(0) + np.square(self.noise_))
        if self._is_single:
            mean, std = mean[:, 0], std[:, 0]
        return (mean, std) if return_std else mean

    def _prepared(self, X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, int]:
        x, target = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2)
        self._is_single = target.ndim == 1
        target = target.reshape(len(x), -1).astype(np.float64)
        order = canonical(x, target)
        target = target[order]
        self._target_center, self._target_spread = target.mean(0), spread(target)
        return self._standardise(x[order]), (target - self._target_center) / self._target_spread, target.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class SpikeSlabClassifier(ClassifierMixin, SpikeSlab):
    """Classification by a spike-and-slab Bayesian perceptron, into two classes or more.

    Parameters and attributes are `SpikeSlabRegressor`'s, with `classes_` in place of `noise_`.
    """

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        self._learn(*self._prepared(X, y))
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """The posterior predictive: the mean of the sampled networks' probabilities, (n, classes)."""
        return softmax(self._sampled(X), axis=-1).mean(0)

    def predict(self, X: ArrayLike) -> np.ndarray:
        best = self.predict_proba(X).argmax(1)
        return self.classes_[best]

    def _prepared(self, X: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, int]:
        x, given = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(given)
        self.classes_, labels = np.unique(given, return_inverse=True)
        if len(self.classes_) < 2:
            raise ConfigError(f"y holds one class only, {self.classes_[0]!r}; a classifier needs two classes or more.")
        order = canonical(x, labels)
        return self._standardise(x[order]), labels[order], len(self.classes_)
