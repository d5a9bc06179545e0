"""Units by their paths and by their saliency, and pruning of whole ones."""

from itertools import product

import pytest
import torch
from torch import nn

from sbnn.compression.chain import ends, layers
from sbnn.compression.pruning import Pruning, prune_mask, prune_masks
from sbnn.compression.relevance import from_inputs, from_outputs, psi
from sbnn.compression.scores import score
from sbnn.compression.units import UNIT_SCORES, unit_scores, widths
from sbnn.errors import ConfigError, SbnnError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.networks import lenet_5, lenet_300_100, mlp, vgg_like

UNITS = Pruning(scope="unit")


def small_images():
    """2 channels of 5 x 5 to 3 of 2 x 2 (pooled) to 4 units to 2."""
    layers = nn.Conv2d(2, 3, 2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(), nn.Linear(12, 4), nn.ReLU(), nn.Linear(4, 2)
    return nn.Sequential(*layers)


def fitted(network, shape=None, replicas=2):
    torch.manual_seed(0)
    layout = Layout(network.double())
    mean = 0.3 * torch.randn(replicas, layout.size, dtype=torch.float64)
    posterior = MeanField(mean, torch.rand_like(mean) - 3)
    return Fit(layout, posterior, SpikeSlabPrior(), Categorical(), shape=shape)


def test_relevance_of_units_is_the_mean_over_the_paths_through_them():
    fit = fitted(mlp(3, [4, 2], 2))
    p = fit.inclusion()
    first, second, last = (m for m in fit.layout.unflatten(p).values() if m.dim() == 3)
    before, after, both = from_inputs(fit.layout, p), from_outputs(fit.layout, p), unit_scores(fit, "inclusion")
    for r, b in product(range(2), range(2)):
        into = torch.stack([first[r, a, j] * second[r, b, a] for j, a in product(range(3), range(4))])
        out = last[r, :, b]
        torch.testing.assert_close(before[2][r, b], into.mean())
        torch.testing.assert_close(after[2][r, b], out.mean())
        torch.testing.assert_close(both[r, 4 + b], torch.outer(into, out).mean())
    outputs = [first[0, a, j] * second[0, b, a] * last[0, 1, b] for j, a, b in product(range(3), range(4), range(2))]
    torch.testing.assert_close(before[3][0, 1], torch.stack(outputs).mean())
    assert (before[0] == 1).all()
    assert (after[3] == 1).all()
    torch.testing.assert_close(after[0], psi(fit.layout, p))


def test_relevance_of_channels_is_the_mean_over_the_paths_through_their_kernels():
    fit = fitted(small_images())
    p = fit.inclusion()
    kernel, middle, last = (w[0] for name, w in fit.layout.unflatten(p).items() if name.endswith("weight"))
    for c in range(3):
        into = kernel[c].flatten()  # one path for each input channel and pixel of the kernel
        out = [middle[u, 4 * c + pixel] * last[o, u] for u, pixel, o in product(range(4), range(4), range(2))]
        expected = torch.outer(into, torch.stack(out)).mean()
        torch.testing.assert_close(unit_scores(fit, "inclusion")[0, c], expected)


def test_saliency_of_a_unit_is_that_of_its_cheaper_side():
    fit = fitted(small_images())
    named = {name: w[0].clamp_min(0) for name, w in fit.layout.unflatten(score(fit, "saliency")).items()}
    found = unit_scores(fit, "saliency")[0]
    for c in range(3):
        into, out = named["0.weight"][c].sum() + named["0.bias"][c], named["4.weight"][:, 4 * c : 4 * c + 4].sum()
        torch.testing.assert_close(found[c], torch.minimum(into, out))
    for u in range(4):
        into, out = named["4.weight"][u].sum() + named["4.bias"][u], named["6.weight"][:, u].sum()
        torch.testing.assert_close(found[3 + u], torch.minimum(into, out))


@pytest.mark.parametrize("network", [mlp(6, [5, 4], 2), small_images()])
@pytest.mark.parametrize("name", UNIT_SCORES)
@pytest.mark.parametrize("biases", [True, False])
def test_units_go_whole_from_the_lowest_score_and_no_more_than_needed(network, name, biases):
    fit, pruning = fitted(network), Pruning(scope="unit", biases=biases)
    counted = pruning.counted(fit.layout)
    source, target = ends(fit.layout)
    first = layers(fit.layout)[0].outputs
    hidden = slice(0, first), slice(first, None)
    scores = unit_scores(fit, name)
    order = scores.argsort(dim=1)
    for droprate, keep in zip((0.0, 0.3, 0.6), prune_masks(fit, (0.0, 0.3, 0.6), name, pruning), strict=True):
        asked = round(droprate * int(counted.sum()))
        for r in range(2):
            best = [scores[r, own].argmax() + own.start for own in hidden]
            free = order[r][~torch.isin(order[r], torch.stack(best))]
            for gone in range(len(free) + 1):  # units one by one, until enough of the weights are gone
                units = free[:gone]
                expected = ~(torch.isin(source, units) | torch.isin(target, units))
                if (~expected & counted).sum() >= asked:
                    break
            assert torch.equal(keep[r], expected)


def test_a_removed_channel_takes_its_kernels_its_bias_and_its_block_of_the_dense_layer():
    fit = fitted(small_images(), (2, 5, 5), replicas=1)
    for name, value in fit.layout.unflatten(fit.posterior.mean).items():
        if name == "4.weight":
            value[:, :, 4:8] = 0  # nothing leaves channel 1
    (keep,) = prune_masks(fit, [0.1], "magnitude", UNITS)
    named = {name: ~value[0] for name, value in fit.layout.unflatten(keep).items()}
    assert named["0.weight"][1].all()
    assert named["0.bias"].tolist() == [False, True, False]
    assert named["4.weight"][:, 4:8].all()
    assert int((~keep).sum()) == 8 + 1 + 16
    assert widths(fit, keep).tolist() == [[2, 2, 4]]


def test_no_layer_is_lost_whatever_is_asked():
    fit = fitted(mlp(6, [5, 4], 2))
    for name in UNIT_SCORES:
        (keep,) = prune_masks(fit, [0.99], name, UNITS)
        assert widths(fit, keep).tolist() == [[6, 1, 1]] * 2
    with pytest.raises(SbnnError, match="no hidden units"):
        prune_masks(fitted(mlp(3, [])), [0.5], "snr", UNITS)


def test_widths_count_inputs_and_units_on_active_paths():
    fit = fitted(mlp(3, [4, 2]), replicas=1)
    keep = torch.zeros(1, fit.layout.size, dtype=torch.bool)
    named = fit.layout.unflatten(keep)
    named["0.weight"][0, 1, :2] = True  # inputs 0 and 1 to unit 1
    named["0.weight"][0, 2, 2] = True  # input 2 to unit 2, which leads nowhere
    named["2.weight"][0, 0, 1] = True
    named["4.weight"][0, 0, :] = True  # also from a unit that nothing leads to
    assert widths(fit, keep).tolist() == [[2, 1, 1]]
    assert widths(fit, torch.ones_like(keep)).tolist() == [[3, 4, 2]]


@pytest.mark.parametrize(
    ("network", "expected"),
    [
        (lenet_300_100, [784, 300, 100]),
        (lenet_5, [1, 20, 50, 500]),
        (lambda: vgg_like(1 / 16), [3, 4, 4, 8, 8, 16, 16, 16, *[32] * 7]),
    ],
)
def test_the_suites_networks_are_chains(network, expected):
    layout = Layout(network())
    assert [layer.inputs for layer in layers(layout)] == expected
    source, target = ends(layout)
    assert source.max() == target.max() == sum(expected[1:])
    per_unit = torch.bincount(target[~layout.is_bias])[:-1]
    fan_in = [shape[1:].numel() for shape in layout.shapes if len(shape) > 1][:-1]
    assert per_unit.tolist() == [count for count, width in zip(fan_in, expected[1:], strict=True) for _ in range(width)]


class Custom(nn.Module):
    def __init__(self):
        super().__init__()
        self.only = nn.Linear(3, 1)

    def forward(self, x):
        return self.only(x)


def test_networks_without_known_units_are_refused_in_a_sentence():
    grouped = nn.Sequential(nn.Conv2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(4, 1))
    tied = nn.Linear(3, 3)
    for network in (Custom(), nn.Linear(3, 1), grouped, nn.Sequential(tied, nn.ReLU(), tied)):
        with pytest.raises(SbnnError, match="Units are known in"):
            layers(Layout(network))
    with pytest.raises(SbnnError, match="; 2, of Linear"):
        layers(Layout(mlp(3, [4]), leave_out=["2.*"]))


def test_units_are_ranked_by_scores_of_units():
    fit = fitted(mlp(3, [4]))
    with pytest.raises(ConfigError, match="not ranked by evidence"):
        prune_masks(fit, [0.5], "evidence", UNITS)
    with pytest.raises(ValueError, match="use prune_masks"):
        prune_mask(score(fit, "snr"), fit.layout, 0.5, UNITS)
