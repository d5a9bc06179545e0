"""scikit-learn estimators: a regressor, a classifier and a selector of features."""

from sbnn.estimators.prediction import SpikeSlabClassifier, SpikeSlabRegressor
from sbnn.estimators.selector import SpikeSlabSelector

__all__ = ["SpikeSlabClassifier", "SpikeSlabRegressor", "SpikeSlabSelector"]
