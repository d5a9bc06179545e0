"""The selector: copies that can stand in for features, probabilities that are right, sets of the promised error."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sbnn.errors import ConfigError
from sbnn.estimators import SpikeSlabClassifier, SpikeSlabRegressor, SpikeSlabSelector
from sbnn.estimators.copies import Copies
from sbnn.estimators.inclusion import inclusion_probabilities, largest_set

QUICK = {"hidden": (16,), "steps": 400, "replicas": 10, "random_state": 0}


@pytest.fixture(scope="module")
def sparse():
    """Twenty features, of which the last eight have an effect."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 20))
    return x, x[:, 12:] @ np.array([1, -1, 1, -1, 1, -1, 1, -1.0]) + 0.5 * rng.standard_normal(200)


def test_copies_correlate_with_other_features_as_the_features_do():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((4000, 6))
    x[:, 1:3] += 1.5 * x[:, :1]
    x[:, 3] = np.exp(x[:, 3] + x[:, 4])
    z = np.hstack([np.argsort(np.argsort(part, axis=0), axis=0) for part in (x, Copies(x, rng).draw())])
    correlation = np.corrcoef(z.T)
    own, crossed, copies = correlation[:6, :6], correlation[:6, 6:], correlation[6:, 6:]
    np.testing.assert_allclose(copies, own, atol=0.06)
    elsewhere = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(crossed[elsewhere], own[elsewhere], atol=0.06)
    assert (np.diag(crossed) < 0.85).all()  # their own feature they resemble no more than the others do


def test_copies_know_nothing_of_the_target_and_keep_the_features_values():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.integers(0, 2, 2000), rng.standard_normal(2000)])
    copies = Copies(x, rng)
    first, second = copies.draw(), copies.draw()
    assert set(first[:, 0]) == {0, 1}
    assert first[:, 0].mean() == pytest.approx(x[:, 0].mean(), abs=0.05)
    assert set(first[:, 1]) <= set(x[:, 1])
    assert (first[:, 1] != second[:, 1]).any()
    y = x @ [1, 1]
    assert np.abs([np.corrcoef(y, column)[0, 1] for column in first.T]).max() < 0.1


def test_copies_of_twins_of_constants_and_of_more_features_than_rows():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((10, 30))
    x[:, 1], x[:, 2] = x[:, 0], 5
    drawn = Copies(x, rng).draw()
    assert np.isfinite(drawn).all()
    assert (drawn[:, 2] == 5).all()


def test_probabilities_are_the_share_of_effects_at_a_margin():
    """Margins of which it is known how many come from an effect, in many replicas."""
    rng = np.random.default_rng(0)
    nothing, effect = rng.standard_normal((300, 40)), 2.5 + rng.standard_normal((300, 10))
    margin = np.hstack([nothing, effect])
    p = inclusion_probabilities(np.hstack([margin, np.zeros_like(margin)]))

    def density(x):
        return np.exp(-(x**2) / 2)

    exact = (10 * density(margin - 2.5) / (10 * density(margin - 2.5) + 40 * density(margin))) * (margin > 0)
    np.testing.assert_allclose(p[40:].mean(), exact[:, 40:].mean(), atol=0.03)
    np.testing.assert_allclose(p[:40].mean(), exact[:, :40].mean(), atol=0.03)


def test_probabilities_of_noise_are_low_and_of_ties_zero():
    rng = np.random.default_rng(0)
    assert inclusion_probabilities(rng.standard_normal((20, 60))).max() < 0.3
    assert (inclusion_probabilities(np.ones((3, 8))) == 0).all()


def test_one_win_alone_is_no_certainty():
    assert inclusion_probabilities(np.array([[1.0, 0.0]])) == 0


def test_largest_set_by_hand():
    p = np.array([0.5, 1.0, 0.9, 0.8])
    np.testing.assert_array_equal(largest_set(p, 0.1), [False, True, True, True])  # (0 + 0.1 + 0.2) / 3
    np.testing.assert_array_equal(largest_set(p, 0.09), [False, True, True, False])
    np.testing.assert_array_equal(largest_set(p, 0.21), [True, True, True, True])
    assert not largest_set(np.array([0.5, 0.2]), 0.1).any()


def test_selects_effects_at_a_rate_a_number_and_by_cross_validation(sparse):
    x, y = sparse
    effects = np.arange(20) >= 12
    selector = SpikeSlabSelector(SpikeSlabRegressor(**QUICK), fdr=0.1).fit(x, y)
    np.testing.assert_array_equal(selector.get_support(), effects)
    np.testing.assert_array_equal(selector.transform(x), x[:, effects])
    assert selector.inclusion_[effects].min() > selector.inclusion_[~effects].max()
    np.testing.assert_array_equal(selector.set_params(n_features=8).fit(x, y).support_, effects)
    assert selector.set_params(n_features=3).fit(x, y).support_.sum() == 3
    found = selector.set_params(n_features=None, cv=3).fit(x, y).support_
    assert found[effects].all()
    assert found.sum() < 20


def test_selects_nothing_from_noise(sparse):
    x, y = sparse
    selector = SpikeSlabSelector(SpikeSlabRegressor(**QUICK)).fit(x, np.random.default_rng(1).permutation(y))
    assert not selector.get_support().any()


def test_takes_classes_for_what_is_no_floating_point_and_its_own_random_state(sparse):
    x, y = sparse
    tiny = {"hidden": (4,), "steps": 5, "replicas": 2}
    labels = np.where(y > 0, "high", "low")
    selector = SpikeSlabSelector(SpikeSlabClassifier(**tiny), random_state=7).fit(x, labels)
    assert selector.estimator_.random_state == 7
    assert selector.estimator is not selector.estimator_
    assert selector.set_params(cv=2).fit(x, labels).support_.any()
    small = x[:20, :2]
    assert isinstance(SpikeSlabSelector().fit(small, labels[:20]).estimator_, SpikeSlabClassifier)
    assert isinstance(SpikeSlabSelector().fit(small, y[:20]).estimator_, SpikeSlabRegressor)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"fdr": float("nan")}, "fdr=nan must be a number between 0 and 1"),
        ({"fdr": "low"}, "fdr='low' must be a number between 0 and 1"),
        ({"fdr": 0}, "fdr=0 must be a number between 0 and 1"),
        ({"n_features": 21}, "n_features == 21, must be <= 20"),
        ({"cv": 1}, "cv == 1, must be >= 2"),
        ({"cv": 5, "n_features": 2}, "n_features=2 and cv=5 are two ways to choose"),
        ({"estimator": Ridge()}, r"estimator=Ridge\(\) must be a SpikeSlabRegressor"),
        ({"estimator": SpikeSlabRegressor(replicas=0)}, "replicas=0 leaves nothing to select by"),
    ],
)
def test_refuses_before_training(sparse, given, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        SpikeSlabSelector(**given).fit(*sparse)
    assert isinstance(refusal.value, ConfigError) or "==" in sentence
