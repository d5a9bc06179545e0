"""Data that cannot be learned from are named before training."""

import pytest
import torch
from torch import nn

from sbnn.data.replicas import ReplicaData
from sbnn.errors import DataError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.settings import Training

X = torch.randn(40, 3, generator=torch.Generator().manual_seed(0))


def learn(network, x, y, likelihood):
    layout = Layout(network)
    fit = Fit(layout, MeanField.around(layout.flatten()[None], 0.02), SpikeSlabPrior(), likelihood)
    before = torch.stack(fit.posterior.theta)
    try:
        train(fit, ReplicaData.of(x, y), Streams([0]), Training(epochs=1, batch=20, lr=0.01))
    except DataError:
        assert torch.equal(torch.stack(fit.posterior.theta), before)
        raise
    return fit


def with_value(values, value):
    changed = values.clone()
    changed[3, 0] = value
    return changed


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, X[:, 0], r"targets of a batch have the shape \(1, 2\) .* should be \(1, 2, 1\)"),
        (X, X[:, :2], r"targets of a batch have the shape \(1, 2, 2\)"),
        (with_value(X, torch.nan), X[:, :1], r"1 of the 120 inputs are not finite numbers"),
        (X, with_value(X[:, :1], torch.inf), r"1 of the 40 targets are not finite numbers"),
    ],
)
def test_regression(x, y, message):
    with pytest.raises(DataError, match=message):
        learn(nn.Linear(3, 1), x, y, Gaussian(torch.zeros(1), learned=True))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (torch.full((40,), 2), "labels run from 2 to 2, and the network's classes from 0 to 1"),
        (torch.full((40,), -1), "labels run from -1 to -1"),
        (torch.zeros(40, 1, dtype=torch.long), r"targets of a batch have the shape \(1, 2, 1\)"),
    ],
)
def test_classes(y, message):
    with pytest.raises(DataError, match=message):
        learn(nn.Linear(3, 2), X, y, Categorical())


def test_errors_are_not_measured_against_targets_of_another_shape():
    with pytest.raises(DataError):
        Gaussian.error(torch.zeros(1, 5, 1), torch.zeros(1, 5))
    with pytest.raises(DataError):
        Categorical.error(torch.zeros(1, 5, 2), torch.zeros(1, 5, 1, dtype=torch.long))


def test_what_needs_no_gradient_is_a_constant():
    network = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    network[0].weight.requires_grad_(False)
    network[1].bias.requires_grad_(False)
    frozen = {name: network.get_parameter(name).clone() for name in ("0.weight", "1.bias")}
    fit = learn(network, X, (X[:, 0] > 0).long(), Categorical())
    assert fit.layout.names == ["0.bias", "3.weight", "3.bias"]
    assert fit.layout.exempt == ["1.weight"]
    assert (fit.auxiliary["1.weight"] != 1).any()
    module = fit.module(torch.zeros_like(fit.posterior.mean, dtype=torch.bool))
    assert all(torch.equal(module.get_parameter(name), value) for name, value in frozen.items())
    assert (module[3].weight == 0).all()


def test_the_module_of_a_fit_has_what_its_norms_have_learned():
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    fit = learn(network, 50 + 9 * X, (X[:, 0] > 0).long(), Categorical())
    expected = fit.layout.forward(fit.posterior.mean, (50 + 9 * X)[None], fit.auxiliary)[0]
    torch.testing.assert_close(fit.module().eval()(50 + 9 * X), expected)
    with pytest.raises(ValueError, match="give them too"):
        fit.layout.load(fit.posterior.mean[0])
