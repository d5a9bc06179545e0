import itertools

import pytest
import torch

from sbnn.compression.relevance import phi, psi
from sbnn.compression.selection import best_share, cross_validated_errors, select_top
from sbnn.model.flat import Layout
from sbnn.networks import mlp


def test_psi_is_the_mean_over_all_paths():
    layout = Layout(mlp(3, [4, 2]))
    p = torch.rand(2, layout.size, dtype=torch.float64)
    first, second, last = (m for m in layout.unflatten(p).values() if m.dim() == 3)
    for r, j in itertools.product(range(2), range(3)):
        paths = [first[r, a, j] * second[r, b, a] * last[r, 0, b] for a in range(4) for b in range(2)]
        assert psi(layout, p)[r, j].item() == pytest.approx((sum(paths) / 8).item())


def test_phi_spans_zero_to_one_in_each_replica():
    scaled = phi(torch.tensor([[0.2, 0.4, 0.3], [5.0, 1.0, 3.0]]))
    torch.testing.assert_close(scaled, torch.tensor([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5]]))
    assert (phi(torch.ones(1, 4)) == 0).all()


def test_top_fifth_of_100_features_keeps_27_percent_of_the_weights():
    """The paper's "27 %": 610 of the 2,210 weights of a 100-20-10-1 network, biases aside."""
    layout = Layout(mlp(100, [20, 10]))
    weights = int((~layout.is_bias).sum())
    kept = select_top(torch.rand(1, 100), 0.2).sum().item()
    left = weights - (100 - kept) * 20
    assert (left, weights) == (610, 2210)
    assert left / weights == pytest.approx(0.276, abs=5e-4)


def test_select_top_takes_the_most_relevant():
    relevance = torch.tensor([[0.1, 0.9, 0.5, 0.7], [4.0, 3.0, 2.0, 1.0]])
    assert select_top(relevance, 0.5).tolist() == [[False, True, False, True], [True, True, False, False]]
    assert select_top(relevance, 0.01).sum(1).tolist() == [1, 1]
    each = select_top(relevance, torch.tensor([0.25, 1.0]))
    assert each.sum(1).tolist() == [1, 4]


def test_best_share():
    errors = torch.tensor([[[3.0, 1.05, 1.0], [3.2, 1.15, 1.2]]])  # (1, 2 folds, 3 shares)
    assert best_share(errors, [0.1, 0.5, 1.0], "minimum").tolist() == [0.5]
    errors[0, :, 2] -= 0.05
    assert best_share(errors, [0.1, 0.5, 1.0], "minimum").tolist() == [1.0]
    assert best_share(errors, [0.1, 0.5, 1.0], "one_se").tolist() == [0.5]


def test_cross_validation_holds_out_each_row_once_and_never_trains_on_it(small_data):
    """A stand-in fit that only looks: which rows were trained on, which held out."""

    class Look:
        layout = Layout(mlp(5, [3]))

        def __init__(self, data):
            self.trained = data.rows

        def take(self, replicas):
            return replicas

        def inclusion(self):
            return torch.rand(len(self.trained), self.layout.size)

        def errors(self, data):
            for trained, held in zip(self.trained, data.rows, strict=True):
                assert not set(trained.tolist()) & set(held.tolist())
                assert len(trained) + len(held) == 60
            y = data.at(self.trained).all()[1]  # scaled by the rows trained on alone
            torch.testing.assert_close(y.mean(1), torch.zeros(len(y), 1).double())
            self.held = data.rows
            return data.keep.sum(1) / 5

    looks = []

    def train(data, label, start):
        looks.append(Look(data))
        return looks[-1]

    errors = cross_validated_errors(train, small_data, 4, [0.2, 0.6, 1.0])
    assert [len(look.trained) for look in looks] == [12, 36]
    assert errors.shape == (3, 4, 3)
    torch.testing.assert_close(errors.sqrt(), torch.tensor([0.2, 0.6, 1.0]).expand(3, 4, 3).double())
    held = looks[1].held.view(3, 4, 3, 15)
    assert sorted(held[0, :, 0].flatten().tolist()) == list(range(60))
