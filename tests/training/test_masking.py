"""Pruning inside the training: which weights leave, when, and that they stay away or come back."""

from itertools import pairwise

import pytest
import torch

from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.model.methods import METHODS, NN, SBNN
from sbnn.networks import mlp
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.fitting import Start, fit
from sbnn.training.masking import densest_by_layer, exchange
from sbnn.training.session import Session
from sbnn.training.settings import Gradual, Training
from sbnn.training.step import Step

BIASES_STAY = {"every": 4, "biases": False}


@pytest.fixture
def sparse_data() -> ReplicaData:
    """Two inputs of ten matter."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(200, 10, generator=generator, dtype=torch.float64)
    y = x[:, :1] - 2 * x[:, 1:2] + 0.1 * torch.randn(200, 1, generator=generator, dtype=torch.float64)
    return ReplicaData.of(x, y, replicas=2)


def trained(method, data, gradual, prune_to=0.8, epochs=60, session=None, **keys):
    training = Training(epochs=epochs, batch=50, lr=0.1, prune_to=prune_to, gradual=Gradual(**gradual), **keys)
    return fit(Start(method, mlp(10, [])), data, training, [1, 2], "x", session or Session(dtype=torch.float64))


@pytest.mark.parametrize(
    ("method", "gradual"),
    [
        (SBNN, {"every": 4}),
        (NN, {"every": 4}),
        (NN, {**BIASES_STAY, "comeback": "magnitude"}),
        (NN, {**BIASES_STAY, "comeback": "gradient", "every": 20}),
    ],
    ids=lambda value: value.name if value in METHODS.values() else value.get("comeback", "never"),
)
@pytest.mark.parametrize("compile", ["never", "always"])
def test_what_matters_is_left(method, gradual, compile, sparse_data):
    found = trained(method, sparse_data, gradual, prune_to=0.6, compile=compile)
    keep, competing = found.posterior.keep, 10 if "biases" in gradual else 11
    assert (keep[:, :2]).all()  # the two inputs that matter
    assert (keep[:, :competing].sum(1) == competing - round(0.6 * competing)).all()
    assert (found.posterior.mean[~keep] == 0).all()
    assert (found.errors(sparse_data) < 0.2).all()


def test_the_share_that_has_left_follows_the_cubic_schedule(sparse_data, monkeypatch):
    seen = {}
    advance = Step.__call__

    def watched(step, number, positions):
        seen[number] = step.fit.posterior.keep.sum(1).tolist()
        return advance(step, number, positions)

    monkeypatch.setattr(Step, "__call__", watched)
    trained(NN, sparse_data, {"begin": 0.25, "end": 0.75, "every": 10}, epochs=20)  # 80 steps, from 20 to 60
    for number, left in seen.items():
        changed = 60 if number >= 60 else number - number % 10  # when the mask changed last
        way = min(1.0, max(0, changed - 20) / 40)
        assert left == [11 - round(0.8 * (1 - (1 - way) ** 3) * 11)] * 2, number


def test_a_weight_that_left_stays_away_unless_it_may_come_back(sparse_data, monkeypatch):
    """A weight that leaves early returns only under surgery, once its hidden value has outgrown another's."""
    masks = []
    advance = Step.__call__

    def watched(step, number, positions):
        masks.append(step.fit.posterior.keep.clone())
        return advance(step, number, positions)

    monkeypatch.setattr(Step, "__call__", watched)
    for comeback, returns in (("never", False), ("magnitude", True)):
        masks.clear()
        trained(NN, sparse_data, {"begin": 0.0, "end": 0.9, "every": 2, "comeback": comeback}, epochs=20)
        came = [(after & ~before).any() for before, after in pairwise(masks)]
        assert bool(torch.stack(came).any()) is returns


def test_an_interrupted_fit_goes_on_with_its_mask(sparse_data, tmp_path, monkeypatch):
    gradual, session = {"every": 4}, Session(dtype=torch.float64, checkpoints=tmp_path, checkpoint_seconds=0)
    whole = trained(SBNN, sparse_data, gradual, epochs=10)
    saves, save = [], Checkpoint.save

    def cut_off(checkpoint, state):
        save(checkpoint, state)
        saves.append(state["step"])
        if state["step"] == 20:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "save", cut_off)
    with pytest.raises(KeyboardInterrupt):
        trained(SBNN, sparse_data, gradual, epochs=10, session=session)
    monkeypatch.setattr(Checkpoint, "save", save)
    again = trained(SBNN, sparse_data, gradual, epochs=10, session=session)
    assert saves[-1] == 20
    assert torch.equal(again.posterior.keep, whole.posterior.keep)
    torch.testing.assert_close(again.posterior.theta, whole.posterior.theta, rtol=0, atol=0)


def test_the_exchange_drops_the_smallest_and_takes_the_steepest():
    keep = torch.tensor([[True, True, True, True, False, False, False]])
    size = torch.tensor([[4.0, 1.0, 3.0, 2.0, 0.0, 0.0, 0.0]])
    gradient = torch.tensor([[9.0, 0.1, 9.0, 9.0, 0.5, 7.0, 0.2]])
    exchange(keep, size, gradient, 0.25)
    assert keep.tolist() == [[True, False, True, True, False, True, False]]


def test_small_layers_are_denser():
    counts = densest_by_layer([(300, 784), (100, 300), (10, 100)], 0.02)
    assert sum(counts) == pytest.approx(0.02 * 266_200, abs=2)
    assert counts[0] / counts[1] == pytest.approx(1084 / 400, rel=0.01)
    assert densest_by_layer([(300, 784), (2, 3)], 0.05)[1] == 6  # it cannot hold more


def test_what_cannot_be_is_said():
    with pytest.raises(ConfigError, match=r"trainer.gradual.begin=0.8 must be below trainer.gradual.end=0.5"):
        Gradual(begin=0.8, end=0.5)


def test_a_posterior_has_no_surgery(sparse_data):
    with pytest.raises(ConfigError, match="point estimates"):
        trained(SBNN, sparse_data, {"comeback": "magnitude"})
    with pytest.raises(ConfigError, match=r"trainer.gradual.biases=false"):
        trained(NN, sparse_data, {"comeback": "gradient"})
