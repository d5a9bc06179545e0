"""The plain networks, and weights for them from a file."""

import pytest
import torch
from safetensors.torch import save_file

from sbnn.errors import ConfigError
from sbnn.model.flat import Layout
from sbnn.networks import ChannelsLast, lenet_5, lenet_300_100, load_weights, vgg_like


@pytest.mark.parametrize(
    ("network", "shape", "weights", "biases"),
    [
        (lenet_300_100(), (1, 28, 28), 266_200, 410),
        (lenet_5(), (1, 28, 28), 430_500, 580),
        (vgg_like(), (3, 32, 32), 14_977_728, 10),
        (vgg_like(0.25), (3, 32, 32), 937_392, 10),
    ],
)
def test_networks_have_the_published_sizes(network, shape, weights, biases):
    layout = Layout(network)
    assert int((~layout.is_bias).sum()) == weights
    assert int(layout.is_bias.sum()) == biases
    assert network.eval()(torch.rand(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("network", [lenet_5(), vgg_like(0.05)])
def test_replicas_of_a_network_see_their_own_weights(network):
    layout, x = Layout(network.eval()), torch.rand(2, 3, *((1, 28, 28) if len(network) < 12 else (3, 32, 32)))
    weights, auxiliary = 0.1 * torch.randn(2, layout.size), layout.auxiliary(2)
    alone = [
        layout.forward(weights[r : r + 1], x[r : r + 1], {n: v[r : r + 1] for n, v in auxiliary.items()})
        for r in (0, 1)
    ]
    torch.testing.assert_close(layout.forward(weights, x, auxiliary), torch.cat(alone))


def test_vgg_has_thirteen_convolutions_and_two_dense_layers():
    layers = Layout(vgg_like(0.125)).modules
    assert [sum(name.startswith(kind) for name in layers) for kind in ("conv", "fc")] == [13, 2]


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_last_changes_where_numbers_lie_and_nothing_else(channels):
    x = torch.rand(2, channels, 4, 5)
    moved = ChannelsLast()(x)
    assert torch.equal(moved, x)
    assert moved.stride() == (20 * channels, 1, 5 * channels, channels)


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_weights_from_elsewhere(tmp_path, suffix):
    saved, path = vgg_like(0.125).state_dict(), tmp_path / f"weights.{suffix}"
    if suffix == "pt":
        torch.save(saved, path)
    else:
        save_file(saved, path)
    loaded = load_weights(vgg_like(0.125), str(path)).state_dict()
    assert all(torch.equal(saved[name], loaded[name]) for name in saved)


def test_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "weights.pt"

    def complaint(saved) -> str:
        torch.save(saved, path)
        with pytest.raises(ConfigError) as caught:
            load_weights(lenet_5(), str(path))
        return str(caught.value)

    own = lenet_5().state_dict()
    assert "lacks conv1.weight" in complaint({name: value for name, value in own.items() if name != "conv1.weight"})
    assert "has no place for extra" in complaint({**own, "extra": torch.zeros(1)})
    assert "has another shape for fc1.bias ((3,) instead of (500,))" in complaint({**own, "fc1.bias": torch.zeros(3)})
    some = {name: own[name] for name in ("fc1.weight", "fc1.bias")}
    assert "lacks conv1.weight, conv1.bias, conv2.weight and 3 more" in complaint(some)
    assert "holds no state dict" in complaint({"model": own})
    assert "cannot be read as a state dict" in complaint(lenet_5())  # a whole module, which would execute code
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ConfigError, match="cannot be read as a state dict"):
        load_weights(lenet_5(), str(path))
    with pytest.raises(ConfigError, match="is not a file"):
        load_weights(lenet_5(), str(tmp_path / "nowhere.safetensors"))
