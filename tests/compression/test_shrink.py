"""Shrinking removes what cannot be seen at the outputs, and nothing else."""

import copy
import importlib.util
import io
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from sbnn.compression.shrink import shrink
from sbnn.errors import SbnnError
from sbnn.networks import lenet_5, lenet_300_100, mlp, vgg_like

SHAPES = {"mlp": (6,), "lenet_300_100": (1, 28, 28), "lenet_5": (1, 28, 28), "vgg": (3, 32, 32)}
BUILDS = {
    "mlp": lambda: mlp(6, (30, 20), 3, dropout=True),
    "lenet_300_100": lenet_300_100,
    "lenet_5": lenet_5,
    "vgg": lambda: vgg_like(0.125),
}


def pruned(network, droprate, seed=0):
    """In float64, with random weights, biases and statistics, most of the weights zero."""
    torch.manual_seed(seed)
    network = network.double().eval()
    with torch.no_grad():
        for name, value in [*network.named_parameters(), *network.named_buffers()]:
            if value.is_floating_point() and not name.endswith("rate"):
                value.copy_(torch.rand_like(value) + 0.5 if "var" in name else torch.randn_like(value))
            if value.dim() > 1:
                value.mul_(torch.rand_like(value) >= droprate)
    return network


def weights(network):
    return sum(parameter.numel() for parameter in network.parameters())


def same(network, small, *shape):
    x = torch.randn(5, *shape, dtype=torch.float64)
    torch.testing.assert_close(small(x), network(x), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("droprate", [0.0, 0.9, 0.99, 1.0])
def test_outputs_stay_and_units_without_a_path_go(name, droprate):
    network = pruned(BUILDS[name](), droprate)
    before = copy.deepcopy(network.state_dict())
    small = shrink(network)
    same(network, small, *SHAPES[name])
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    assert (weights(small) < weights(network)) == (droprate > 0)
    assert weights(shrink(small)) == weights(small)  # all that could go is gone
    if droprate == 1:
        assert {m.out_features for m in small.modules() if isinstance(m, nn.Linear)} <= {1, 3, 10}


def test_what_is_left_is_what_a_hand_finds():
    network = pruned(mlp(2, (4, 3), 1), 0.0)
    with torch.no_grad():
        network[0].weight[1] = 0  # unit 1 is constant: it moves into the next bias
        network[2].weight[:, 2] = 0  # unit 2 leads nowhere
        network[2].weight[0, [0, 3]] = 0  # then unit 0 of the second layer is constant too
        network[0].bias[1] = 2.0
    small = shrink(network)
    assert small[0].weight.equal(network[0].weight[[0, 3]])
    assert small[2].weight.equal(network[2].weight[1:][:, [0, 3]])
    torch.testing.assert_close(small[2].bias, (network[2].bias + 2.0 * network[2].weight[:, 1])[1:])
    handed_on = F.relu(network[2].bias[0] + 2.0 * network[2].weight[0, 1])
    torch.testing.assert_close(small[4].bias, network[4].bias + handed_on * network[4].weight[:, 0])
    assert (small[2].in_features, small[2].out_features) == (2, 2)
    same(network, small, 2)


@pytest.mark.parametrize(("padding", "mode", "left"), [(0, "zeros", 2), (1, "zeros", 3), (1, "circular", 2)])
def test_constant_channels_before_zero_padding_become_one(padding, mode, left):
    next_layer = nn.Conv2d(6, 2, 3, padding=padding, padding_mode=mode, bias=False)
    network = pruned(nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.Tanh(), next_layer), 0.0)
    with torch.no_grad():
        network[0].weight[1:5] = 0
    small = shrink(network)
    assert (small[0].out_channels, small[1].num_features, small[3].in_channels) == (left, left, left)
    assert (small[3].bias is None) == (left == 3)
    same(network, small, 1, 8, 8)


def test_averages_that_count_padding_keep_their_channels():
    pool = nn.AvgPool2d(3, padding=1)
    network = pruned(nn.Sequential(nn.Conv2d(1, 4, 3), pool, nn.Flatten(), nn.Linear(16, 2)), 0.0)
    with torch.no_grad():
        network[0].weight[1:] = 0
    assert shrink(network)[0].out_channels == 4
    network[1] = nn.AvgPool2d(3, padding=1, count_include_pad=False)
    assert shrink(network)[0].out_channels == 1
    same(network, shrink(network), 1, 8, 8)


class Written(nn.Module):
    """As people write networks: functions between layers, a residual sum, a layer used twice."""

    def __init__(self):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.conv3 = nn.Conv2d(8, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.fc1, self.fc2, self.fc3 = nn.Linear(8 * 16, 12), nn.Linear(12, 12), nn.Linear(12, 2)

    def forward(self, x):
        x = F.relu(self.norm1(self.conv1(x)))
        x = x + self.conv3(F.dropout(F.relu(self.conv2(x)), 0.5, self.training))
        x = torch.flatten(F.max_pool2d(x, 2), 1)
        x = self.fc1(x).relu()
        return self.fc3(torch.tanh(self.fc2(torch.tanh(self.fc2(x)))))


def test_a_network_of_ones_own_shrinks_where_that_is_safe():
    network = pruned(Written(), 0.0)
    with torch.no_grad():
        for layer in (network.conv1, network.conv2, network.fc1, network.fc2):
            layer.weight[:6] = 0
    small = shrink(network, torch.randn(2, 1, 8, 8, dtype=torch.float64))
    same(network, small, 1, 8, 8)
    assert small.conv2.out_channels == small.conv3.in_channels == 3  # one of them is the constant
    assert (small.conv1.out_channels, small.fc1.out_features, small.fc2.out_features) == (8, 12, 12)
    assert type(small) is Written


class Between(nn.Module):
    """Two layers with a function between them."""

    def __init__(self, function):
        super().__init__()
        self.conv, self.fc, self.function = nn.Conv2d(1, 4, 3), nn.Linear(16, 2), function

    def forward(self, x):
        return self.fc(self.function(self.conv(x)))


@pytest.mark.parametrize(
    ("function", "left"),
    [
        (lambda x: torch.flatten(x, start_dim=1), 1),
        (lambda x: x.relu().flatten(1, end_dim=-1), 1),
        (lambda x: torch.flatten(F.dropout(x, 0.5, training=False), 1), 1),
        (lambda x: torch.flatten(F.dropout(x, 0.5), 1), 4),  # drops units at random, even now
        (lambda x: torch.flatten(x.transpose(1, 2), 1), 4),  # pixels come in another order
        (lambda x: torch.flatten(x.softmax(1), 1), 4),  # units depend on one another
        (lambda x: torch.cat([x[:, :2], x[:, 2:]], 1).flatten(1), 4),
    ],
)
def test_functions_between_layers_are_known_or_left_alone(function, left):
    network = pruned(Between(function), 0.0)
    with torch.no_grad():
        network.conv.weight[1:] = 0
    small = shrink(network)
    assert small.conv.out_channels == left
    torch.manual_seed(3)
    x = torch.randn(5, 1, 4, 4, dtype=torch.float64)
    torch.manual_seed(4)
    expected = network(x)
    torch.manual_seed(4)
    torch.testing.assert_close(small(x), expected)


@pytest.mark.parametrize("shared", ["tied", "normed", "grouped"])
def test_what_is_not_a_plain_layer_stays(shared):
    first, second = nn.Conv2d(4, 4, 1, groups=2 if shared == "grouped" else 1), nn.Conv2d(4, 4, 1)
    network = nn.Sequential(first, nn.ReLU(), second, nn.ReLU(), nn.Conv2d(4, 2, 1))
    if shared == "tied":
        second.weight = first.weight
    if shared == "normed":
        nn.utils.parametrizations.weight_norm(second)
    network = pruned(network, 0.0)
    with torch.no_grad():
        first.weight[:2] = 0
    small = shrink(network)
    assert (small[0].out_channels, small[2].in_channels) == (4, 4)
    same(network, small, 4, 3, 3)


def test_errors_are_one_sentence():
    class Looks(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    class Scales(nn.Sequential):
        def forward(self, x):
            return super().forward(x) * self[0].out_features

    with pytest.raises(SbnnError, match=r"^Looks cannot be shrunk: .*traced.*\.$"):
        shrink(Looks())
    network = pruned(Scales(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)), 0.0)
    with torch.no_grad():
        network[0].weight[1:] = 0
    with pytest.raises(SbnnError, match=r"differ by .* on the example"):
        shrink(network, torch.randn(4, 3, dtype=torch.float64))


@pytest.mark.parametrize("name", BUILDS)
def test_a_shrunk_network_needs_no_sbnn(name, tmp_path):
    network = pruned(BUILDS[name](), 0.95)
    small = shrink(network)
    assert not [m for m in small.modules() if type(m).__module__.startswith("sbnn")]
    x = torch.randn(3, *SHAPES[name], dtype=torch.float64)
    torch.save((small, x, network(x)), tmp_path / "small.pt")
    code = (
        "import sys, torch; small, x, y = torch.load(sys.argv[1], weights_only=False); "
        "assert not [name for name in sys.modules if name.startswith('sbnn')]; torch.testing.assert_close(small(x), y)"
    )
    subprocess.run([sys.executable, "-c", code, tmp_path / "small.pt"], check=True)


def test_a_shrunk_network_can_be_trained_on_and_traced():
    small = shrink(pruned(lenet_5(), 0.95))
    x = torch.randn(2, 1, 28, 28, dtype=torch.float64)
    small(x).sum().backward()
    assert all(parameter.grad is not None for parameter in small.parameters())
    torch.testing.assert_close(torch.export.export(small, (x,)).module()(x), small(x))


@pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnx", "onnxscript")),
    reason="onnx and onnxscript are not installed",
)
@pytest.mark.parametrize("name", BUILDS)
def test_exports_to_onnx(name):
    small = shrink(pruned(BUILDS[name](), 0.95)).float()
    file = io.BytesIO()
    torch.onnx.export(small, (torch.randn(2, *SHAPES[name]),), file)
    assert file.getvalue()
