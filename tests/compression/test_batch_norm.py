"""The statistics of batch norm, taken again for other weights."""

import torch
from torch import nn

from sbnn.compression.batch_norm import restated
from sbnn.model.flat import Layout
from sbnn.networks import lenet_300_100


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()


def test_restated_statistics_are_those_of_all_batches():
    layout = Layout(normed())
    weights, auxiliary = torch.randn(2, layout.size).double(), layout.auxiliary(2)
    x = torch.randn(2, 50, 3).double()
    layout.network.eval()
    found = restated(layout, weights, x.split(10, dim=1), auxiliary)
    for r in range(2):
        named = {name: value[r] for name, value in layout.unflatten(weights).items()}
        hidden = x[r] @ named["0.weight"].T + named["0.bias"]
        parts = torch.stack([part.var(0) for part in hidden.split(10)])
        torch.testing.assert_close(found["1.running_mean"][r], hidden.mean(0))
        torch.testing.assert_close(found["1.running_var"][r], parts.mean(0))
    assert (auxiliary["1.running_mean"] == 0).all()  # those given are left alone
    assert layout.network[1].momentum == 0.1
    assert not layout.network[1].training


def test_statistics_of_a_network_without_norms_are_left_as_they_are():
    layout, auxiliary = Layout(lenet_300_100()), {}
    assert restated(layout, torch.zeros(1, layout.size), [], auxiliary) is auxiliary
