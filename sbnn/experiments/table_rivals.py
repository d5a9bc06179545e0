"""What scikit-learn makes of the same rows: a linear model, gradient boosting and a plain MLP, at its defaults."""

import warnings
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from torch import Tensor

from sbnn.data.replicas import ReplicaData


def rivals(data: ReplicaData, test: ReplicaData, hidden: Sequence[int], seed: int) -> Iterator[tuple[str, Tensor]]:
    """The name of each model, and its error (R,) on the test rows: RMSE in the target's units, or the share wrong."""
    regression = data.y.is_floating_point()
    scale = torch.ones(len(data)) if data.y_scale is None else data.y_scale.flatten().cpu()
    for name in models(regression, hidden, seed):
        errors = []
        for r in range(len(data)):
            model = models(regression, hidden, seed)[name]
            (x, y), (test_x, test_y) = rows_of(data, r), rows_of(test, r)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                predicted = model.fit(x, y).predict(test_x)
            wrong = (predicted - test_y) ** 2 if regression else predicted != test_y
            errors.append(wrong.mean() ** (0.5 if regression else 1))
        yield name, torch.tensor(errors) * scale


def models(regression: bool, hidden: Sequence[int], seed: int) -> dict[str, BaseEstimator]:
    """Not trained yet. Boosting does not hold rows back to stop early: a rare class may have too few."""
    width, random = tuple(hidden), seed % 2**32
    if regression:
        return {
            "ridge": RidgeCV(np.logspace(-3, 3, 13)),
            "gradient boosting": HistGradientBoostingRegressor(early_stopping=False, random_state=random),
            "MLP": MLPRegressor(hidden_layer_sizes=width, max_iter=500, random_state=random),
        }
    return {
        "logistic regression": LogisticRegression(max_iter=1000),
        "gradient boosting": HistGradientBoostingClassifier(early_stopping=False, random_state=random),
        "MLP": MLPClassifier(hidden_layer_sizes=width, max_iter=500, random_state=random),
    }


def rows_of(data: ReplicaData, replica: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs and targets of one replica."""
    x, y = (values[0].cpu().numpy() for values in data[replica : replica + 1].all())
    return x.astype(np.float64), y.squeeze(-1).astype(np.float64) if y.ndim == 2 else y
