"""Flow and active weights against paths that are walked one by one."""

from collections import defaultdict
from itertools import pairwise, product

import pytest
import torch
from torch import nn

from sbnn.compression.paths import active, flow
from sbnn.errors import SbnnError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.posteriors.point import Deterministic
from sbnn.networks import mlp, vgg_like


def fitted(network, replicas=2, shape=None):
    layout = Layout(network.double())
    generator = torch.Generator().manual_seed(0)
    mean = torch.randn(replicas, layout.size, generator=generator, dtype=torch.float64)
    return Fit(layout, Deterministic(mean), None, Categorical(), shape=shape)


def dense_edges():
    """Of a 3-4-2-2 network: from each node, the columns of the weights that leave it and where they lead."""
    edges, begin, sizes = defaultdict(list), 0, (3, 4, 2, 2)
    for level, (inputs, outputs) in enumerate(pairwise(sizes), 1):
        for o, i in product(range(outputs), range(inputs)):
            edges[level - 1, i].append((begin + o * inputs + i, (level, o)))
        begin += outputs * inputs
        edges["bias"] += [(begin + o, (level, o)) for o in range(outputs)]
        begin += outputs
    return edges, [(0, i) for i in range(3)], {(3, 0), (3, 1)}


def image_edges():
    """Of 2 x 4 x 4 images, a padded 3 x 3 convolution to 3 channels, pooling by 2, and a dense layer to 2."""
    edges = defaultdict(list)
    columns, dense = torch.arange(54).view(3, 2, 3, 3), torch.arange(57, 57 + 24).view(2, 3, 2, 2)
    for c, i, y, x, dy, dx in product(range(3), range(2), range(4), range(4), range(3), range(3)):
        edges["in", i, y + dy - 1, x + dx - 1].append((columns[c, i, dy, dx].item(), (c, y // 2, x // 2)))
    for c, y, x in product(range(3), range(4), range(4)):
        edges["bias"].append((54 + c, (c, y // 2, x // 2)))
    for o, c, y, x in product(range(2), range(3), range(2), range(2)):
        edges[c, y, x].append((dense[o, c, y, x].item(), "out"))
    edges["bias"] += [(81, "out"), (82, "out")]
    return edges, [("in", i, y, x) for i, y, x in product(range(2), range(4), range(4))], {"out"}


def paths(edges, node, outputs):
    """Every path from a node to an output, as the columns of its weights."""
    if node in outputs:
        yield []
    for column, there in edges[node]:
        yield from ([column, *rest] for rest in paths(edges, there, outputs))


def walked(row, edges, inputs, outputs):
    """The sum of the products along all paths through each weight; of a bias, those that begin at it."""
    found = torch.zeros_like(row)
    for node in inputs:
        for path in paths(edges, node, outputs):
            found[path] += row[path].prod()
    for path in paths(edges, "bias", outputs):
        found[path[0]] += row[path].prod()
    return found


def pooled(pool=nn.MaxPool2d):
    return nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), pool(2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 2))


CASES = [(mlp(3, [4, 2], 2), None, dense_edges()), (pooled(), (2, 4, 4), image_edges())]


@pytest.mark.parametrize(("network", "shape", "graph"), CASES)
@pytest.mark.parametrize("replicas", [1, 2])
def test_flow_is_the_sum_over_all_paths(network, shape, graph, replicas):
    fit = fitted(network, replicas, shape)
    weights = fit.posterior.mean.abs()
    expected = torch.stack([walked(row, *graph) for row in weights])
    torch.testing.assert_close(flow(fit, weights), expected)


@pytest.mark.parametrize(("network", "shape", "graph"), CASES)
@pytest.mark.parametrize("share", [0.2, 0.4, 0.7])
def test_active_weights_are_those_on_a_path_of_kept_ones(network, shape, graph, share):
    fit = fitted(network, 3, shape)
    keep = torch.rand(fit.posterior.mean.shape, generator=torch.Generator().manual_seed(1)) < share
    expected = torch.stack([walked(row.double(), *graph) > 0 for row in keep])
    found = active(fit, keep)
    assert torch.equal(found, expected)
    assert (keep | ~found).all()


def test_weights_that_are_not_active_change_the_outputs_by_a_constant_at_most():
    fit = fitted(pooled(), 1, (2, 4, 4))
    keep = torch.rand(fit.posterior.mean.shape, generator=torch.Generator().manual_seed(2)) < 0.3
    keep[:, 63:69] = keep[:, 75:81] = False  # most of what leaves the channels
    keep[:, :18] = False  # all that leads to the first
    found = active(fit, keep)
    x = torch.randn(1, 20, 2, 4, 4).double()
    change = fit.layout.forward(fit.posterior.mean * keep, x) - fit.layout.forward(fit.posterior.mean * found, x)
    assert (keep & ~found).any()
    torch.testing.assert_close(change, change[:, :1].expand_as(change))


def test_batch_norm_multiplies_by_the_size_of_its_scale_alone():
    norm = nn.BatchNorm1d(4)
    fit = fitted(nn.Sequential(nn.Linear(3, 4), norm, nn.ReLU(), nn.Linear(4, 2)), 2, (3,))
    for value in fit.auxiliary.values():
        value.copy_(torch.randn(value.shape))
    fit.auxiliary["1.running_var"].abs_()
    norm.train()
    plain = fitted(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)), 2)
    weights, scale = fit.posterior.mean.abs(), fit.auxiliary["1.weight"].abs()
    scaled = weights.clone()
    for name, value in plain.layout.unflatten(scaled).items():
        if name.startswith("0"):
            value *= (scale if value.dim() == 2 else scale.unsqueeze(2)) / (1 + norm.eps) ** 0.5
    torch.testing.assert_close(flow(fit, weights), flow(plain, scaled))
    assert norm.training  # as it was


def test_flow_leaves_the_network_as_it_was():
    fit = fitted(pooled(), 1, (2, 4, 4))
    x = torch.randn(1, 5, 2, 4, 4).double()
    fit.layout.network.train()
    before = fit.layout.forward(fit.posterior.mean, x)
    flow(fit, fit.posterior.mean.abs())
    assert torch.equal(fit.layout.forward(fit.posterior.mean, x), before)
    assert all(module.training for module in fit.layout.network.modules())


def test_deep_networks_stay_in_range():
    """VGG's fifteen layers, down to maps of a single pixel, whose kernels reach beyond the image."""
    fit = fitted(vgg_like(1 / 16), 1, (3, 32, 32))
    through = flow(fit, 1e-6 * fit.posterior.mean.abs())
    last = [name for name in fit.layout.names if name.startswith("conv")][-1]
    kernels = fit.layout.unflatten(through)[last][0]  # (out, in, 3, 3) on 2 x 2 pixels
    assert (through[:, ~fit.layout.is_bias] > 0).all()
    assert (kernels > 0).all()
    assert active(fit, torch.ones_like(through, dtype=torch.bool)).all()


def test_what_has_no_paths_is_refused_in_a_sentence():
    with pytest.raises(SbnnError, match="give the fit a `shape`"):
        flow(fit := fitted(pooled()), fit.posterior.mean.abs())
    normed = fitted(nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(4, 1)), 1, (3,))
    with pytest.raises(SbnnError, match="through LayerNorm"):
        flow(normed, normed.posterior.mean.abs())
    deep = fitted(mlp(3, [4] * 80), 1)
    with pytest.raises(SbnnError, match="overflows"):
        flow(deep, 1e6 * deep.posterior.mean.abs())
