import pytest
import torch

from sbnn.compression.pruning import Pruning, prune_mask
from sbnn.model.flat import Layout
from sbnn.networks import mlp

LAYOUT = Layout(mlp(4, [5]))  # 20 + 5 + 5 + 1 weights
SCORES = torch.rand(3, LAYOUT.size, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("droprate", [0.0, 0.1, 0.5, 0.97])
def test_global_mask_drops_the_lowest_share(droprate):
    keep = prune_mask(SCORES, LAYOUT, droprate)
    assert ((~keep).sum(1) == round(droprate * LAYOUT.size)).all()
    for row, kept in zip(SCORES, keep, strict=True):
        if droprate:
            assert row[~kept].max() < row[kept].min()


def test_layer_scope_drops_the_same_share_of_each():
    keep = prune_mask(SCORES, LAYOUT, 0.4, Pruning(scope="layer"))
    for module, size in enumerate((25, 6)):  # weights and biases of a layer compete together
        assert ((~keep[:, LAYOUT.module == module]).sum(1) == round(0.4 * size)).all()


def test_biases_can_be_left_alone_and_are_then_not_counted():
    keep = prune_mask(SCORES, LAYOUT, 0.8, Pruning(biases=False))
    assert keep[:, LAYOUT.is_bias].all()
    assert ((~keep).sum(1) == 20).all()  # 80 % of 25 weights


def test_masks_are_nested():
    light, heavy = prune_mask(SCORES, LAYOUT, 0.3), prune_mask(SCORES, LAYOUT, 0.7)
    assert (light | ~heavy).all()


def test_droprate_outside_its_range_is_refused():
    with pytest.raises(ValueError, match=r"droprate=1.0"):
        prune_mask(SCORES, LAYOUT, 1.0)
