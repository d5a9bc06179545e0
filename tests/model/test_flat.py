"""The flat view: the same outputs whichever way the replicas are run."""

import pytest
import torch
from torch import nn
from torch.func import functional_call

from sbnn.model.flat import Layout
from sbnn.networks import mlp


class Cosine(nn.Linear):
    def forward(self, x):
        return super().forward(x).cos()


RELU, SHARED = nn.ReLU(), nn.Linear(5, 5)


@pytest.mark.parametrize(
    ("network", "dense"),
    [
        (mlp(5, [7, 3]), True),
        (mlp(5, [7], dropout=True), True),
        (nn.Sequential(nn.Linear(5, 4, bias=False), nn.ReLU(), nn.Linear(4, 2)), True),
        (nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2)), False),
        (nn.Linear(5, 2), False),
        (nn.Sequential(nn.Linear(5, 4), RELU, nn.Linear(4, 4), RELU, nn.Linear(4, 2)), False),
        (nn.Sequential(SHARED, nn.ReLU(), SHARED), False),
        (nn.Sequential(Cosine(5, 2)), False),
    ],
)
def test_replicas_give_what_each_gives_alone(network, dense):
    layout = Layout(network.double().eval())
    assert layout.is_dense_chain == dense
    torch.manual_seed(0)
    weights, x = torch.randn(3, layout.size, dtype=torch.float64), torch.randn(3, 6, 5, dtype=torch.float64)
    outputs = layout.forward(weights, x)
    for row, inputs, output in zip(weights, x, outputs, strict=True):
        torch.testing.assert_close(functional_call(network, layout.unflatten(row), (inputs,)), output)
    torch.testing.assert_close(layout.forward(weights[:1], x[:1]), outputs[:1])


def test_each_replica_drops_at_its_own_rate():
    layout = Layout(mlp(1, [4000], dropout=True))
    weights, x = torch.zeros(3, layout.size), torch.ones(3, 2, 1)
    named = layout.unflatten(weights)
    named["0.bias"].fill_(1.0)
    named["3.weight"].fill_(1 / 4000)
    rates = torch.tensor([0.0, 0.2, 0.8])
    layout.network.train()
    torch.manual_seed(0)
    outputs = layout.forward(weights, x, {"2.rate": rates}).squeeze(2)  # the mean of 4000 kept units, rescaled
    torch.testing.assert_close(outputs[0], torch.ones(2))
    spread = (rates / (1 - rates) / 4000).sqrt()
    assert ((outputs[1:] - 1).abs() < 4 * spread[1:, None]).all()
    assert (outputs[1:, 0] != outputs[1:, 1]).all()
