"""What a fit says of how it went: the right numbers, through interruptions too, and at no price for the weights."""

import math

import pytest
import torch
from test_loop import CutOff

from sbnn.data.replicas import ReplicaData
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.methods import BNN, L0, MAP, METHODS, NN, SBNN, SVBNN
from sbnn.model.settings import ModelSettings, PriorSettings
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training import history
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.fitting import Start, fit
from sbnn.training.history import COLUMNS, History, Recorder, recorded_epochs
from sbnn.training.loop import train
from sbnn.training.session import Session
from sbnn.training.settings import Training

STILL = {"lr": 1e-12, "schedule": "constant"}


def trained(data, method=SBNN, checkpoint=None, keep=None, **training):
    """A fit of its three replicas, and its history."""
    session, streams = Session(dtype=torch.float64), Streams([1, 2, 3][: len(data)])
    model = Start(method, mlp(5, [4]), keep=keep).replicas(data, slice(None), streams, session)
    return model, train(model, data, streams, Training(**{"epochs": 6, "batch": 20, "lr": 0.02} | training), checkpoint)


def without_seconds(recorded):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in recorded.rows()]


def test_the_numbers_are_those_of_the_network_where_it_stands_still(small_data):
    """Against the likelihood, prior and inclusion probabilities themselves; 60 rows in batches of 20."""
    model, recorded = trained(small_data, MAP, **STILL)
    x, y = small_data.all()
    outputs = model.layout.forward(model.posterior.mean, x)
    penalty = model.posterior.penalty(model.prior).mean() / 60
    assert [row["epoch"] for row in recorded.rows()] == [1, 2, 3, 4, 5, 6]
    for row in recorded.rows():
        assert tuple(row) == COLUMNS
        assert row["penalty"] == pytest.approx(float(penalty))
        assert row["loss"] == pytest.approx(float(model.likelihood.nll(outputs, y).mean() + penalty))
        assert row["error"] == pytest.approx(float(Gaussian.error(outputs, y).mean()), rel=0.01)  # a mean of roots
    assert sorted(row["seconds"] for row in recorded.rows()) == [row["seconds"] for row in recorded.rows()]


def test_the_penalty_has_the_weight_of_its_epoch(small_data):
    _, once = trained(small_data, **STILL)
    _, hot = trained(small_data, temperature=3.0, warmup=1.0, **STILL)
    for number, (plain, warm) in enumerate(zip(once.rows(), hot.rows(), strict=True)):
        assert warm["penalty"] == pytest.approx(3 * (3 * number + 2) / 18 * plain["penalty"])
        assert warm["loss"] - warm["penalty"] == pytest.approx(plain["loss"] - plain["penalty"])


@pytest.mark.parametrize("method", [SBNN, SVBNN, L0, NN, BNN, MAP], ids=lambda method: method.name)
def test_included_is_the_share_of_probabilities_above_a_half(small_data, method):
    model, recorded = trained(small_data, method)
    last = recorded.rows()[-1]
    if method in (NN, BNN, MAP):
        assert math.isnan(last["included"])
    else:
        assert last["included"] == pytest.approx(float((model.inclusion() > 0.5).double().mean()))
    assert all(math.isfinite(last[name]) for name in COLUMNS if name != "included")


def test_weights_outside_the_mask_are_out(small_data):
    size = sum(p.numel() for p in mlp(5, [4]).parameters())
    keep = torch.rand(3, size, generator=torch.Generator().manual_seed(0)) < 0.5
    model, recorded = trained(small_data, keep=keep, lr=0.2)
    expected = ((model.inclusion() > 0.5) & keep).double().mean()
    assert 0 < recorded.rows()[-1]["included"] == pytest.approx(float(expected))
    gradual, recorded = trained(small_data, epochs=40, prune_to=0.9, gradual={"every": 1})
    assert recorded.rows()[-1]["included"] <= float(gradual.posterior.keep.double().mean())


def test_labels_have_their_share_of_wrong_ones():
    y = torch.arange(60) % 3
    data = ReplicaData.of(torch.nn.functional.one_hot(y, 3).double() @ torch.randn(3, 5).double(), y)
    streams, session = Streams([0]), Session(dtype=torch.float64)
    model = Start(NN, mlp(5, [4], outputs=3)).replicas(data, slice(None), streams, session)
    last = train(model, data, streams, Training(epochs=2, batch=20, **STILL)).rows()[-1]
    x, labels = data.all()
    assert last["error"] == pytest.approx(
        float(Categorical.error(model.layout.forward(model.posterior.mean, x), labels))
    )


@pytest.mark.parametrize("after", [1, 4, 11])
def test_a_resumed_fit_has_the_history_of_an_uninterrupted_one(small_data, tmp_path, after):
    _, whole = trained(small_data, batch=10)
    path = tmp_path / "fit.pt"
    with pytest.raises(KeyboardInterrupt):
        trained(small_data, checkpoint=CutOff(path, after), batch=10)
    _, resumed = trained(small_data, checkpoint=Checkpoint(path), batch=10)
    _, again = trained(small_data, checkpoint=Checkpoint(path), batch=10)  # finished: loads, no step
    assert without_seconds(resumed) == without_seconds(whole) == without_seconds(again)
    assert [row["seconds"] for row in again.rows()] == [row["seconds"] for row in resumed.rows()]


def test_a_checkpoint_older_than_histories_can_be_gone_on_from(small_data, tmp_path):
    whole, recorded = trained(small_data)
    path = tmp_path / "fit.pt"
    with pytest.raises(KeyboardInterrupt):
        trained(small_data, checkpoint=CutOff(path, 7))  # one step into the third epoch
    saved = torch.load(path, weights_only=True)
    del saved["history"]
    torch.save(saved, path)
    model, later = trained(small_data, checkpoint=Checkpoint(path))
    assert torch.equal(model.posterior.mean, whole.posterior.mean)
    assert [row["epoch"] for row in later.rows()] == [3, 4, 5, 6]
    assert without_seconds(later)[1:] == without_seconds(recorded)[3:]


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_no_trained_number_depends_on_it(small_data, method, monkeypatch):
    with_it, _ = trained(small_data, method)
    monkeypatch.setattr(Recorder, "see", lambda *_: None)
    without, recorded = trained(small_data, method)
    assert recorded.rows() == []
    for ours, theirs in zip(with_it.movable(), without.movable(), strict=True):
        assert torch.equal(ours, theirs)


def test_chunks_are_joined_to_the_history_of_one_fit(small_data):
    training = Training(epochs=4, batch=20, lr=0.01)
    sessions = [Session(dtype=torch.float64, chunk=chunk) for chunk in (9, 2)]
    for session in sessions:
        settings = ModelSettings(prior=PriorSettings())
        fit(Start(SBNN, mlp(5, [4]), settings), small_data, training, [1, 2, 3], "x", session)
    one, many = (session.histories["x"] for session in sessions)
    assert many.replicas == 3
    for ours, theirs in zip(without_seconds(one), without_seconds(many), strict=True):
        assert ours == pytest.approx(theirs)


def test_the_chunks_of_a_fit_take_their_time_one_after_the_other():
    parts = [
        History(1, [1, 2], [1.0, 2.0], [torch.tensor([1.0, 1, 1, 1]), torch.tensor([2.0, 2, 2, math.nan])]),
        History(3, [2], [10.0], [torch.tensor([6.0, 6, 6, math.nan])]),  # resumed in the second epoch
    ]
    (row,) = History.joined(parts).rows()
    assert (row["epoch"], row["loss"], row["seconds"]) == (2, 5.0, 12.0)
    assert math.isnan(row["included"])


@pytest.mark.parametrize(
    ("epochs", "steps", "count"), [(1, 1, 1), (7, 700, 7), (2500, 10_000, 50), (300, 300, 20), (1000, 6000, 30)]
)
def test_records_are_few_and_evenly_spaced(epochs, steps, count):
    found = sorted(recorded_epochs(epochs, steps))
    assert (len(found), found[-1]) == (count, epochs)
    gaps = {after - before for before, after in zip([0, *found], found, strict=False)}
    assert max(gaps) - min(gaps) <= 1


def test_long_epochs_are_looked_at_now_and_then(small_data, monkeypatch):
    looks = []
    monkeypatch.setattr(Gaussian, "error", staticmethod(lambda outputs, y: looks.append(1) or outputs.mean((1, 2))))
    for batch, expected in ((1, 12), (2, 10), (20, 3)):  # 60 batches, every fifth; 30, every third; all three
        monkeypatch.setattr(history, "STEPS_A_LOOK", 5)
        looks.clear()
        trained(small_data, epochs=1, batch=batch)
        assert len(looks) == expected
