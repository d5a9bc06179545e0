"""The selector: which features have an effect, with a bound on the share of errors among them."""

from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted, validate_data

from sbnn.compression.selection import best_share, cross_validated_errors
from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.estimators.base import SpikeSlab
from sbnn.estimators.inclusion import largest_set
from sbnn.estimators.perceptron import stored
from sbnn.estimators.prediction import SpikeSlabClassifier, SpikeSlabRegressor
from sbnn.model.fit import Fit
from sbnn.streams import seed_of

SIZES = 10  # that cross-validation chooses from, at most


class SpikeSlabSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """Selects features by the probability that they have an effect.

    Every replica of the estimator is trained on the features together with copies of them that know nothing of the
    target (knockoffs: `Copies`), from a start of its own; they all are one training. If w_jr is the relevance of
    feature j minus that of its copy in replica r, and l(a) the share of negative w among those of size a,

        p_j = mean over r of [w_jr > 0] (1 - l(w_jr) / (1 - l(w_jr))),      S = the largest set with mean (1 - p) <= fdr

    (`inclusion_probabilities`). All replicas use all rows: on half samples they find far fewer effects, and without
    copies no threshold of the relevance has a known rate of errors (in bootstrap samples of pure noise the same
    features are relevant again and again).

    The copies are right if features are, up to monotone transformations, about jointly Gaussian; other dependence
    between them, or far fewer rows than features, leave the rate an approximation. It is measured on simulated designs,
    not proven: `results/selection_rates`. Features that are nearly functions of each other are rarely told apart from
    their copies, and not selected.

    Parameters
    ----------
    estimator : a `SpikeSlabRegressor` or `SpikeSlabClassifier` with the settings to use. None is the first where y is
        of floating point, and the second where it is not (whole numbers are classes)
    fdr : the share of features without an effect that is accepted among those selected
    n_features : select so many instead, by `inclusion_`, then by relevance
    cv : select instead as many as predict best in so many folds: their top features, ranked within each fold
    random_state : takes the place of the estimator's, if it is given

    Attributes
    ----------
    inclusion_, feature_importances_ : the fitted estimator's
    support_ : which features are selected
    estimator_ : fitted on all features
    """

    def __init__(
        self,
        estimator: SpikeSlab | None = None,
        *,
        fdr: float = 0.1,
        n_features: int | None = None,
        cv: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.fdr = fdr
        self.n_features = n_features
        self.cv = cv
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        x, target = validate_data(self, X, y, dtype=np.float64, multi_output=True, ensure_min_samples=2)
        self._check(*x.shape)
        estimator = default(target) if self.estimator is None else clone(self.estimator)
        if self.random_state is not None:
            estimator.set_params(random_state=self.random_state)
        self.estimator_ = estimator.fit(x, target)
        self.inclusion_, self.feature_importances_ = estimator.inclusion_, estimator.feature_importances_
        size = self.n_features if self.cv is None else best_size(estimator, x, target, self.cv)
        if size is None:
            self.support_ = largest_set(self.inclusion_, self.fdr)
        else:
            order = np.lexsort((self.feature_importances_, self.inclusion_))
            self.support_ = np.isin(np.arange(x.shape[1]), order[-size:])
        return self

    def _check(self, rows: int, features: int) -> None:
        if self.estimator is not None and not isinstance(self.estimator, SpikeSlab):
            raise ConfigError(f"estimator={self.estimator!r} must be a SpikeSlabRegressor or a SpikeSlabClassifier.")
        if self.estimator is not None and self.estimator.replicas == 0:
            raise ConfigError("The estimator's replicas=0 leaves nothing to select by; give it 10 or more.")
        if not isinstance(self.fdr, Real) or not 0 < self.fdr < 1:
            raise ConfigError(f"fdr={self.fdr!r} must be a number between 0 and 1, such as 0.1.")
        if self.n_features is not None and self.cv is not None:
            raise ConfigError(f"n_features={self.n_features} and cv={self.cv} are two ways to choose; give one.")
        if self.n_features is not None:
            check_scalar(self.n_features, "n_features", Integral, min_val=1, max_val=features)
        if self.cv is not None:
            check_scalar(self.cv, "cv", Integral, min_val=2, max_val=rows)

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def default(y: np.ndarray) -> SpikeSlab:
    return SpikeSlabRegressor() if y.dtype.kind == "f" else SpikeSlabClassifier()


def best_size(estimator: SpikeSlab, X: np.ndarray, y: np.ndarray, folds: int) -> int:
    """The number of features whose networks predict held-out rows best: two trainings, whatever the folds and sizes."""
    x, target, outputs = estimator._prepared(X, y)
    recipe, seed = estimator._recipe(len(x), outputs), estimator._seed
    rows = np.random.default_rng(seed).permutation(len(x))
    data = stored(x[rows][None], target[rows], estimator.device).standardised(inputs=True, target=target.ndim > 1)
    features = x.shape[1]
    shares = np.unique(np.geomspace(1, features, min(features, SIZES)).round()) / features

    def train(data: ReplicaData, name: str, origin: Fit | None) -> Fit:
        return recipe.train(data, [seed_of(seed, name, r) for r in range(len(data))], origin)

    with torch.no_grad():
        errors = cross_validated_errors(train, data, folds, shares.tolist())
    return round(float(best_share(errors, shares.tolist(), "minimum")) * features)
