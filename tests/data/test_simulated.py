"""The data of Experiments 1 to 4 against their formulas, and the small parts that feed the tables."""

import math

import numpy as np
import pytest
import torch

from sbnn.data.simulated import pair, ramp
from sbnn.networks import Dropout, mlp
from sbnn.streams import Streams, seed_of


def test_pair_is_the_papers_mixture():
    data = pair(50_000, 0.3, "test")
    noise = data.y[0, :, 0] - 0.7 * data.x[0, :, 0] - 0.3 * data.x[0, :, 1]
    assert noise.mean().item() == pytest.approx(0, abs=0.02)
    assert noise.std().item() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(noise, data.x[0, :, 1])[0, 1] == pytest.approx(0, abs=0.02)


def test_ramp_is_the_papers_sum():
    data = ramp(20_000, 10, 2.0, "nonlinear", 0.5, "test")
    x, active = data.x[0], data.active[0]
    f = torch.exp(x.abs()) - 2 * x + torch.sin(2 * math.pi * x)
    beta = torch.arange(1, 11) / 2
    torch.testing.assert_close(data.beta[0], beta)
    noise = data.y[0, :, 0] - (f * beta * active).sum(1)
    assert (noise.mean().item(), noise.std().item()) == pytest.approx((0, 1), abs=0.03)
    assert 0 < active.sum() < 10


def test_active_share_is_the_probability_of_taking_part():
    shares = [ramp(2, 100, 1, "linear", 0.2, "share", i).active.double().mean() for i in range(200)]
    assert np.mean(shares) == pytest.approx(0.2, abs=0.01)
    assert not ramp(2, 10, 1, "linear", 0.0, "none").active.any()
    assert ramp(2, 10, 1, "linear", 1.0, "all").active.all()
    assert all(ramp(2, 5, 1, "linear", 0.05, "few", i).active.any() for i in range(50))


def test_streams_are_named_not_spelled():
    assert seed_of(0, "alpha", 2) == seed_of(0, "alpha", 2.0) != seed_of(0, "alpha", 2.5)
    first, second = (Streams([seed_of(1), seed_of(2)]).normal_(torch.empty(2, 1000)) for _ in range(2))
    assert torch.equal(first, second)
    assert np.corrcoef(first)[0, 1] == pytest.approx(0, abs=0.1)
    shuffles = Streams([3, 4]).permutations(50)
    assert (shuffles.sort(1).values == torch.arange(50)).all()
    assert not torch.equal(*shuffles)


def test_dropout_drops_its_rate_and_keeps_the_mean():
    torch.manual_seed(0)
    layer, ones = Dropout(0.3), torch.ones(200_000)
    dropped = layer(ones)
    assert (dropped == 0).double().mean().item() == pytest.approx(0.3, abs=0.01)
    assert dropped.mean().item() == pytest.approx(1, abs=0.01)
    assert torch.equal(layer.eval()(ones), ones)


@pytest.mark.parametrize("of_inputs", [False, True])
def test_dropout_of_inputs_comes_first(of_inputs):
    network = mlp(4, [3, 2], dropout=True, of_inputs=of_inputs)
    layers = [type(layer).__name__ for layer in network]
    hidden = ["Linear", "ReLU", "Dropout", "Linear", "ReLU", "Dropout", "Linear"]
    assert layers == ["Dropout"] * of_inputs + hidden
    assert "Dropout" not in [type(layer).__name__ for layer in mlp(4, [3], of_inputs=of_inputs)]
