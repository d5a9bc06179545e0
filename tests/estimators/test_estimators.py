"""The estimators: scikit-learn's contract, predictions, how sure they are, and what is refused."""

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from sbnn.errors import ConfigError, DataError
from sbnn.estimators import SpikeSlabClassifier, SpikeSlabRegressor, SpikeSlabSelector

TINY = {"hidden": (8,), "steps": 60, "replicas": 2, "samples": 5}
SHORT = {"hidden": (16,), "steps": 400, "replicas": 0, "random_state": 0}


@pytest.fixture(scope="module")
def linear():
    """Features in units of their own, the first two with an effect, and the target."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 6))
    y = 3 * x[:, 0] - 2 * x[:, 1] + 0.5 * rng.standard_normal(200)
    return x * [1, 100, 0.01, 1, 1000, 1] + [0, 50, 0, -3, 0, 7], 10 + 4 * y


@pytest.fixture(scope="module")
def regressor(linear):
    return SpikeSlabRegressor(**SHORT).fit(*linear)


@parametrize_with_checks(
    [SpikeSlabRegressor(**TINY), SpikeSlabClassifier(**TINY), SpikeSlabSelector(SpikeSlabRegressor(**TINY))]
)
@pytest.mark.filterwarnings("ignore:No features were selected")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_regression_in_the_targets_own_units(linear, regressor):
    x, y = linear
    mean, std = regressor.predict(x, return_std=True)
    assert regressor.score(x, y) > 0.95
    np.testing.assert_array_equal(mean, regressor.predict(x))
    assert regressor.noise_ == pytest.approx(2, rel=0.5)
    assert (std > regressor.noise_).all()
    assert 0.8 < (np.abs(y - mean) < 1.645 * std).mean() < 1
    assert set(np.argsort(-regressor.feature_importances_)[:2]) == {0, 1}
    assert (regressor.feature_importances_.min(), regressor.feature_importances_.max()) == (0, 1)


def test_far_from_the_data_it_is_less_sure(linear, regressor):
    x, _ = linear
    _, near = regressor.predict(x[:5], return_std=True)
    _, far = regressor.predict(x[:5] + 20 * x.std(0), return_std=True)
    assert (far > 2 * near).all()


def test_units_of_the_inputs_and_the_target_change_nothing(linear, regressor):
    x, y = linear
    scaled = clone(regressor).fit(x * 8 - 16, y * 4)
    np.testing.assert_allclose(scaled.predict(x * 8 - 16), 4 * regressor.predict(x), rtol=1e-3)
    np.testing.assert_allclose(scaled.feature_importances_, regressor.feature_importances_, atol=1e-3)


@pytest.mark.parametrize("kind", [SpikeSlabRegressor, SpikeSlabClassifier])
def test_the_order_of_the_rows_changes_nothing(linear, kind):
    x, y = linear[0], linear[1] if kind is SpikeSlabRegressor else linear[1] > 10
    order = np.random.default_rng(1).permutation(len(x))
    model = kind(**TINY | {"random_state": 3})
    first, second = clone(model).fit(x, y), clone(model).fit(x[order], y[order])
    np.testing.assert_array_equal(first.inclusion_, second.inclusion_)
    np.testing.assert_array_equal(first.predict(x), second.predict(x))


def test_a_random_state_repeats_a_fit_and_leaves_torchs_generator_alone(linear):
    model = SpikeSlabRegressor(**TINY)
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    first, second, other = (clone(model).set_params(random_state=seed).fit(*linear) for seed in (1, 1, 2))
    assert torch.rand(1) == expected
    np.testing.assert_array_equal(first.coefs_[0], second.coefs_[0])
    assert (first.coefs_[0] != other.coefs_[0]).any()


def test_replicas_do_not_change_the_network_that_predicts(linear, regressor):
    more = clone(regressor).set_params(replicas=3).fit(*linear)
    np.testing.assert_allclose(more.predict(linear[0]), regressor.predict(linear[0]), rtol=1e-3)


def test_several_targets(linear):
    x, y = linear
    both = SpikeSlabRegressor(**SHORT).fit(x, np.column_stack([y, -100 * y]))
    mean, std = both.predict(x, return_std=True)
    assert mean.shape == std.shape == (200, 2)
    assert both.score(x, np.column_stack([y, -100 * y])) > 0.9
    np.testing.assert_allclose(both.noise_[1], 100 * both.noise_[0])


def test_classes_with_names_and_a_bent_border():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 4))
    y = np.array(["inner", "middle", "outer"])[np.digitize(np.abs(x[:, 0]), [0.4, 1])]
    model = SpikeSlabClassifier(**SHORT | {"steps": 800}).fit(x, y)
    probabilities = model.predict_proba(x)
    np.testing.assert_allclose(probabilities.sum(1), 1)
    assert model.score(x, y) > 0.85
    assert model.feature_importances_.argmax() == 0
    np.testing.assert_array_equal(model.predict(x), model.classes_[probabilities.argmax(1)])


def test_without_hidden_layers_it_is_linear(linear):
    x, y = linear
    model = SpikeSlabRegressor(**SHORT | {"hidden": ()}).fit(x, y)
    slopes = model.coefs_[0][:, 0] / x.std(0) * y.std()
    np.testing.assert_allclose(slopes[:2], Ridge(alpha=1e-6).fit(x, y).coef_[:2], rtol=0.1)


def test_in_a_pipeline_a_grid_and_a_selection_by_model(linear):
    x, y = linear
    model = SpikeSlabRegressor(**SHORT)
    grid = GridSearchCV(model, {"temperature": [0.5, 1000.0]}, cv=2).fit(x, y)
    assert grid.best_params_ == {"temperature": 0.5}
    kept = SelectFromModel(model, threshold=0.5).fit(x, y)
    assert set(np.flatnonzero(kept.get_support())) == {0, 1}
    selector = SpikeSlabSelector(model.set_params(replicas=5), n_features=2)
    pipeline = make_pipeline(selector, Ridge()).fit(x, y)
    assert pipeline.score(x, y) > 0.95
    assert pipeline[-1].n_features_in_ == 2


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"hidden": 50}, "hidden=50 must be a sequence"),
        ({"hidden": (0,)}, "hidden == 0"),
        ({"steps": 0}, "steps == 0"),
        ({"steps": "many"}, "steps must be an instance of int"),
        ({"temperature": float("nan")}, "temperature=nan must be a number"),
        ({"samples": 0}, "samples == 0"),
        ({"replicas": -1}, "replicas == -1"),
        ({"device": "abacus"}, "device='abacus' is not there"),
    ],
)
def test_refuses_parameters_before_training(changed, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        SpikeSlabRegressor(**TINY | changed).fit(np.eye(5), np.arange(5.0))


def test_refuses_data_that_cannot_be_learned_from():
    with pytest.raises(ConfigError, match=r"y holds one class only"):
        SpikeSlabClassifier(**TINY).fit(np.eye(5), np.ones(5, int))
    with pytest.raises(DataError, match="no finite variance"):
        SpikeSlabRegressor(**TINY).fit(np.eye(5) * 1e300, np.arange(5.0))
