"""Error, likelihood and coverage against second derivations."""

import itertools
import math

import numpy as np
import pytest
import torch
from torch import nn

from sbnn.compression.evaluation import ECE_BINS, Classified, Predictive, scores_of
from sbnn.data.images import ImageData
from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.networks import mlp


@pytest.fixture
def line():
    """Two replicas of y = w x with w ~ N(2, 0.3^2), noise variance 0.5, on a target of scale 3."""
    torch.manual_seed(0)
    x = torch.randn(4000, 1, dtype=torch.float64)
    spread = (0.3 * x**2 * 0.3 + 0.5).sqrt()
    y = 3 * (2 * x + spread * torch.randn(4000, 1, dtype=torch.float64))
    data = ReplicaData.of(x, y, replicas=2)
    one = torch.ones(2, 1, 1, dtype=torch.float64)
    data = ReplicaData(**{**vars(data), "y_shift": 0 * one, "y_scale": 3 * one})
    layout = Layout(nn.Sequential(nn.Linear(1, 1, bias=False)).double())
    posterior = MeanField.around(torch.full((2, 1), 2.0, dtype=torch.float64), sigma=0.3)
    likelihood = Gaussian(torch.full((2,), math.log(0.5), dtype=torch.float64), learned=False)
    return Fit(layout, posterior, None, likelihood, chunk=10), data, x[:, 0].numpy(), y[:, 0].numpy()


def test_a_gaussian_posterior_has_the_likelihood_and_coverage_of_its_closed_form(line):
    fit, data, x, y = line
    found = Predictive(fit, data, 3000, [1, 2]).measure(torch.ones(2, 1, dtype=torch.bool))
    variance = 9 * (0.09 * x**2 + 0.5)
    nll = 0.5 * np.mean((y - 6 * x) ** 2 / variance + np.log(2 * np.pi * variance))
    np.testing.assert_allclose(found["nll"], nll, atol=0.01)
    np.testing.assert_allclose(found["coverage"], 0.95, atol=0.01)
    np.testing.assert_allclose(found["rmse"], np.sqrt(np.mean((y - 6 * x) ** 2)))


def test_a_pruned_weight_has_neither_mean_nor_spread(line):
    fit, data, _, y = line
    found = Predictive(fit, data, 5, [1, 2]).measure(torch.tensor([[False], [True]]))
    assert found["rmse"][0] == pytest.approx(np.sqrt(np.mean(y**2)))
    assert found["nll"][0] == pytest.approx(0.5 * np.mean(y**2 / 4.5 + np.log(2 * np.pi * 4.5)))
    assert found["rmse"][1] < found["rmse"][0]


def test_a_point_estimate_is_one_network_and_dropout_many(line):
    _, data, _, _ = line
    torch.manual_seed(1)
    network = mlp(1, [8], dropout=True).double()
    layout, means = Layout(network), torch.randn(2, 25, dtype=torch.float64)
    likelihood = Gaussian(torch.zeros(2, dtype=torch.float64), learned=False)
    everything = torch.ones(2, 25, dtype=torch.bool)
    point = Fit(layout, Deterministic(means), None, likelihood, chunk=10)
    rates = {"2.rate": torch.tensor([0.0, 0.5], dtype=torch.float64)}
    dropped = Fit(layout, Deterministic(means), None, likelihood, chunk=10, auxiliary=rates, dropout=True)
    predictive = Predictive(dropped, data, 20, [1, 2])
    one, many = Predictive(point, data, 20, [1, 2]).measure(everything), predictive.measure(everything)
    for metric in ("rmse", "nll", "coverage"):
        assert many[metric][0] == pytest.approx(float(one[metric][0]))  # rate 0 drops nothing
        assert many[metric][1] != pytest.approx(float(one[metric][1]))
        assert torch.equal(many[metric], predictive.measure(everything)[metric])  # the same masks every time
    assert many["coverage"][1] > one["coverage"][1]
    assert not network.training


def test_scores_of_classifiers_by_hand():
    generator = torch.Generator().manual_seed(0)
    probabilities = torch.rand(2, 500, 4, generator=generator, dtype=torch.float64).pow(3)
    probabilities /= probabilities.sum(-1, keepdim=True)
    y = torch.randint(4, (2, 500), generator=generator)
    found = scores_of(probabilities, y)
    for r in range(2):
        p, label = probabilities[r].numpy(), y[r].numpy()
        confidence, right = p.max(1), p.argmax(1) == label
        assert found["error"][r] == pytest.approx(1 - right.mean())
        assert found["nll"][r] == pytest.approx(-np.log(p[np.arange(500), label]).mean())
        edges, ece = np.linspace(0, 1, ECE_BINS + 1), 0.0
        for low, high in itertools.pairwise(edges):
            inside = (confidence >= low) & ((confidence < high) | (high == 1))
            if inside.any():
                ece += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
        assert found["ece"][r] == pytest.approx(ece)


def test_a_label_held_impossible_costs_a_finite_likelihood():
    certain = torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])
    assert scores_of(certain, torch.tensor([[1, 0]]))["nll"].isfinite().all()


def test_classified_measures_the_pruned_mean_and_the_average_of_samples():
    torch.manual_seed(0)
    layout = Layout(mlp(4, [5], 3))
    x = torch.randint(256, (1070, 1, 2, 2), dtype=torch.uint8)  # more than are measured at a time
    y = torch.randint(3, (1070,), dtype=torch.uint8)
    data = ImageData(x, y, torch.arange(1070)[None], torch.zeros(1, 1, 1), torch.full((1, 1, 1), 100.0))
    posterior = MeanField.around(torch.randn(1, layout.size), sigma=0.5)
    fit = Fit(layout, posterior, None, Categorical(), chunk=1)
    keep = torch.rand(1, layout.size) > 0.3
    classified = Classified(fit, data, 4, [1])
    found = classified.measure(keep, sampled=True)

    def probabilities(weights):
        network = layout.load((weights * keep)[0])
        return network(x.flatten(1) / 100).softmax(-1)[None]

    with torch.no_grad():
        expected = scores_of(probabilities(posterior.mean), y.long()[None])
        mixed = scores_of(sum(probabilities(draw) for draw in classified.draws) / 4, y.long()[None])
    for metric in ("error", "nll", "ece"):
        torch.testing.assert_close(found[metric], expected[metric])
        torch.testing.assert_close(found[f"sampled_{metric}"], mixed[metric])
    assert set(classified.measure(keep, sampled=False)) == {"error", "nll", "ece"}

    full, everything = classified.right(), torch.ones_like(keep)
    assert full.float().mean() == pytest.approx(1 - float(classified.measure(everything)["error"]))
    assert classified.measure(everything, full=full)["switched"] == 0
    pruned = probabilities(posterior.mean).argmax(-1) == y
    assert classified.measure(keep, full=full)["switched"] == pytest.approx((pruned != full).float().mean().item())
