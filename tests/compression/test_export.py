"""Files of pruned networks: small, read back as they were, and refused in one sentence where they cannot be."""

import json
import struct

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from test_shrink import BUILDS, SHAPES, pruned
from torch import nn

from sbnn.compression.export import export, load_dense, load_sparse
from sbnn.compression.packing import packed, unpacked
from sbnn.compression.shrink import shrink
from sbnn.compression.sparse import SparseLinear
from sbnn.errors import SbnnError
from sbnn.networks import lenet_5, lenet_300_100, mlp, vgg_like


def exact(network):
    """float64 parameters that float16 and float32 can hold."""
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(parameter.half())
    return network


def unlike(network):
    """The same architecture with other weights."""
    torch.manual_seed(7)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.copy_(torch.randn_like(parameter))
    return network


@pytest.mark.parametrize("places", [[], [0], [254], [255], [256], [765, 766], [0, 40000, 79999], [79999]])
@pytest.mark.parametrize("shape", [(80000,), (200, 400), (4, 100, 20, 10)])
def test_gaps_of_any_length_come_back(places, shape):
    weight = torch.zeros(80000)
    weight[places] = torch.arange(1.0, len(places) + 1)
    parts = packed(weight.view(shape), "float32")
    assert len(parts["values"]) == len(places)
    assert unpacked(parts, shape).equal(weight.view(shape))


def test_a_weight_takes_its_value_and_one_byte():
    torch.manual_seed(0)
    weight = torch.randn(300, 784) * (torch.rand(300, 784) < 0.02)
    count = int(weight.count_nonzero())
    for precision, size in (("float32", 4), ("float16", 2), ("int8", 1)):
        parts = packed(weight, precision)
        assert parts["values"].nbytes == size * count
        assert parts["gaps"].dtype == torch.uint8
        assert parts["gaps"].nbytes < 1.01 * count
    assert packed(weight * (torch.rand(300, 784) < 1e-3), "int8")["gaps"].dtype == torch.int16


def test_what_has_few_zeros_is_stored_whole_and_as_precise():
    torch.manual_seed(0)
    weight = torch.randn(30, 20, 3, 3)
    weight[4] = 0
    assert packed(weight, "float32") is None  # nothing to gain
    assert packed(weight[0, 0, 0], "int8") is None  # a vector stays as it is
    half, byte = packed(weight, "float16"), packed(weight, "int8")
    assert (sorted(half), half["values"].nbytes) == (["values"], weight.nbytes / 2)
    assert (sorted(byte), byte["values"].nbytes) == (["scale", "values"], weight.nbytes / 4)
    assert unpacked(half, weight.shape).equal(weight.half().float())
    assert (unpacked(byte, weight.shape) - weight).abs().max() < weight.abs().max() / 250


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("values", ["float32", "float16"])
def test_a_network_comes_back_exactly(name, values, tmp_path):
    network = exact(pruned(BUILDS[name](), 0.95))
    path, x = tmp_path / "net.safetensors", torch.randn(4, *SHAPES[name], dtype=torch.float64)
    other = unlike(BUILDS[name]().double())
    before = {key: value.clone() for key, value in other.state_dict().items()}
    for small in (network, exact(shrink(network))):
        export(small, path, values)
        dense, sparse = load_dense(path, other), load_sparse(path, other)
        assert all(value.equal(dense.state_dict()[key]) for key, value in small.state_dict().items())
        torch.testing.assert_close(dense.eval()(x), small(x), rtol=0, atol=1e-12)
        for batch in (x, x[:1]):
            torch.testing.assert_close(sparse(batch), small(batch), rtol=1e-12, atol=1e-9)
    assert all(value.equal(before[key]) for key, value in other.state_dict().items())


def test_sparse_layers_are_those_that_have_few_weights(tmp_path):
    network = nn.Sequential(nn.Linear(50, 40), nn.Linear(40, 30, bias=False), nn.Linear(30, 20))
    with torch.no_grad():
        network[0].weight.mul_(torch.rand(40, 50) < 0.05)
        network[1].weight.mul_(torch.rand(30, 40) < 0.05)
    export(network, tmp_path / "net")
    fast = load_sparse(tmp_path / "net", network)
    assert [type(layer) for layer in fast] == [SparseLinear, SparseLinear, nn.Linear]
    assert [type(layer) for layer in network] == [nn.Linear] * 3
    assert not fast.training
    assert "weights=" in str(fast[0])


@pytest.mark.parametrize("shape", [(40,), (0, 40), (1, 40), (3, 40), (64, 40), (2, 3, 40), (8, 8, 40), (1, 1, 40)])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("outputs", [30, 900])  # a small layer, and one that is not
def test_a_sparse_layer_is_the_dense_one(shape, bias, outputs):
    linear = nn.Linear(40, outputs, bias).double()
    with torch.no_grad():
        linear.weight.mul_(torch.rand(outputs, 40) < 0.1)
        sparse, x = SparseLinear(linear), torch.randn(shape, dtype=torch.float64)
        torch.testing.assert_close(sparse(x), linear(x))
    assert sparse.weight.equal(linear.weight)


def test_int8_rounds_by_a_127th_of_a_rows_largest_weight(tmp_path):
    network = pruned(nn.Sequential(nn.Linear(100, 50)), 0.9).float()
    export(network, tmp_path / "net", "int8")
    moved = (load_dense(tmp_path / "net", network)[0].weight - network[0].weight).abs()
    assert (moved <= 0.501 * network[0].weight.abs().amax(1, keepdim=True) / 127).all()
    assert moved.max() > 0
    assert load_dense(tmp_path / "net", network)[0].bias.equal(network[0].bias)


def test_int8_is_as_precise_as_the_posterior(tmp_path):
    network = pruned(mlp(60, (50, 40), 3), 0.9).float()
    sigmas = {"0.weight": torch.full((50, 60), 1.0), "2.weight": torch.full((40, 50), 1e-5)}
    export(network, tmp_path / "net", "int8", sigmas)
    stored = load_file(tmp_path / "net")
    kinds = {name: stored[f"{name}:values"].dtype for name in ("0.weight", "2.weight", "4.weight")}
    assert kinds == {"0.weight": torch.int8, "2.weight": torch.float16, "4.weight": torch.float16}
    moved = (load_dense(tmp_path / "net", network)[0].weight - network[0].weight).abs()
    assert 0 < moved.max() < 1
    with pytest.raises(SbnnError, match=r"sigmas has 0.weight of shape \(50, 61\)"):
        export(network, tmp_path / "net", "int8", {"0.weight": torch.ones(50, 61)})


def test_what_float16_cannot_hold_stays_float32(tmp_path):
    network = pruned(nn.Sequential(nn.Linear(100, 50)), 0.9).float()
    with torch.no_grad():
        network[0].weight[3, 4] = 1e6
    export(network, tmp_path / "net", "float16")
    assert load_dense(tmp_path / "net", network)[0].weight.equal(network[0].weight)


def test_shared_parameters_are_stored_once(tmp_path):
    network = pruned(nn.Sequential(nn.Linear(20, 20), nn.ReLU(), nn.Linear(20, 20)), 0.9)
    network[2].weight = network[0].weight
    export(exact(network), tmp_path / "net")
    assert not [name for name in load_file(tmp_path / "net") if name.startswith("2.weight")]
    x = torch.randn(3, 20, dtype=torch.float64)
    torch.testing.assert_close(load_sparse(tmp_path / "net", network)(x), network(x))


def test_a_transformer_runs_from_its_file(tmp_path):
    layer = nn.TransformerEncoderLayer(16, 2, 64, batch_first=True)
    network = exact(pruned(nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), 0.95))
    export(network, tmp_path / "net")
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    fast = load_sparse(tmp_path / "net", network)
    assert isinstance(fast.layers[0].linear1, SparseLinear)
    with torch.inference_mode():
        torch.testing.assert_close(fast(x), network(x))


def rewritten(path, **changes):
    """The file with other metadata."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<Q", raw[:8])
    header = json.loads(raw[8 : 8 + length])
    header["__metadata__"] |= changes
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + raw[8 + length :])


def test_bad_files_are_refused_in_one_sentence(tmp_path):
    path, network = tmp_path / "net.safetensors", pruned(mlp(20, (30,), 2), 0.9)

    def refused(match, own=network):
        with pytest.raises(SbnnError, match=match) as caught:
            load_sparse(path, own)
        assert str(path) in str(caught.value)
        assert "\n" not in str(caught.value)

    refused("is not a file")
    path.write_bytes(b"not at all")
    refused("was not written by sbnn.export, or is damaged")
    save_file(network.state_dict(), path)
    refused("its header does not say")
    export(network, path)
    rewritten(path, version="2")
    refused("has version 2 of its format")
    export(network, path)
    rewritten(path, parameters='{"0.weight": 3}')
    refused("is damaged")
    export(network, path)
    path.write_bytes(path.read_bytes()[:-8])
    refused("is damaged")
    export(network, path)
    refused("lacks 4.weight, 4.bias", mlp(20, (30, 2), 2).double())
    refused(r"has another shape for .*0.weight \(\(30, 20\) instead of \(29, 20\)\)", mlp(20, (29,), 2))
    refused("also holds 2.bias, 2.weight", nn.Sequential(nn.Linear(20, 30)))
    contents = load_file(path)
    contents["0.weight:gaps"] = contents["0.weight:gaps"][:-1]
    with safe_open(path, "pt") as file:
        metadata = file.metadata()
    save_file(contents, path, metadata)
    refused("weights and their places do not match")
    contents["0.weight:values"] = contents["0.weight:values"].double()
    save_file(contents, path, metadata)
    refused("values of torch.float64 are unknown")


def test_export_writes_whole_or_not_at_all(tmp_path):
    network = pruned(mlp(20, (30,), 2), 0.9)
    with pytest.raises(SbnnError, match="values=int4 is unknown; choose one of float32, float16, int8"):
        export(network, tmp_path / "net", "int4")
    with torch.no_grad():
        network[2].bias[0] = torch.nan
    with pytest.raises(SbnnError, match=r"2\.bias has values that are not finite"):
        export(network, tmp_path / "net")
    assert not list(tmp_path.iterdir())


def test_a_shrunk_file_makes_a_layer_as_narrow(tmp_path):
    network = pruned(vgg_like(0.125), 0.99)
    small = shrink(network)
    export(small, tmp_path / "net")
    loaded = load_dense(tmp_path / "net", vgg_like(0.125))
    assert [str(m) for m in loaded.modules() if isinstance(m, nn.Conv2d)] == [
        str(m) for m in small.modules() if isinstance(m, nn.Conv2d)
    ]


def test_sizes_of_the_lenets(tmp_path):
    """What the paper's networks come to at the droprates of its tables, whatever the weights."""
    for network, droprate, factor in ((lenet_300_100(), 0.98, 30), (lenet_5(), 0.99, 55)):
        small = pruned(network, droprate).float()
        export(small, tmp_path / "net", "float32")
        dense = sum(value.nbytes for value in small.state_dict().values())
        assert dense / (tmp_path / "net").stat().st_size > factor
