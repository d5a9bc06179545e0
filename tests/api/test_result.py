"""The front door's answers and complaints, on tables small enough to know them."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import sbnn


def network(outputs: int = 1) -> nn.Module:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, outputs))


def table(n: int = 400) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(n, 6, generator=torch.Generator().manual_seed(0))
    return x, 2 * x[:, 0] + x[:, 1]


def fitted(data=None, outputs: int = 1, **settings):
    settings = {"epochs": 30, "lr": 0.02, "progress": False} | settings
    return sbnn.compress(network(outputs), data or table(), **settings)


def test_curve_and_automatic_pruning():
    result = fitted()
    curve = result.curve(table(), droprates=(0.0, 0.5, 0.95))
    snr = curve.column("error", "snr")
    assert snr[0] < 0.3
    assert snr[2] > snr[0]
    assert curve.scores == ["snr", "inclusion", "magnitude"]
    assert list(curve.frame().columns) == ["score", "droprate", "error", "nll", "coverage"]
    assert len(curve.plot().lines) == 3
    assert str(curve).count("\n") == 9

    small = result.prune("auto", tolerance=0.5, validation=table())
    x, y = table()
    assert float((small(x).squeeze(1) - y).detach().square().mean().sqrt()) <= 1.5 * snr[0] + 1e-6
    kept = sum(int((p != 0).sum()) for p in small.parameters() if p.dim() > 1)
    assert kept < 6 * 16 + 16
    for point in ("evidence", "snr", "inclusion"):
        assert isinstance(result.prune(point), nn.Sequential)


def test_a_known_droprate_is_reached_in_training():
    result = fitted(droprate=0.8)
    weights = [p for p in result.prune(0.0).parameters() if p.dim() > 1]
    left = sum(int((w != 0).sum()) for w in weights) / sum(w.numel() for w in weights)
    assert left == pytest.approx(0.2, abs=0.01)
    assert result.curve(table(), [0.0]).rows[0]["error"] < 0.5


def test_predict_covers_the_targets():
    mean, deviation = fitted().predict(table()[0], samples=20)
    y = table()[1].unsqueeze(1)
    assert mean.shape == deviation.shape == y.shape
    assert float(((mean - y).abs() < 2 * deviation).float().mean()) > 0.9


def test_loaders_datasets_and_tensors_are_alike():
    x, y = table()
    for data in (TensorDataset(x, y), DataLoader(TensorDataset(x, y), batch_size=64), [x, y.unsqueeze(1)]):
        result = fitted(data, epochs=2)
        assert torch.equal(result.prune(0.5)(x), fitted(epochs=2).prune(0.5)(x))


def test_classes_one_logit_and_a_loss_of_ones_own():
    x, y = table()
    labels = (y > 0).to(torch.uint8)
    for outputs, own in (
        (1, None),
        (2, None),
        (2, lambda found, at: nn.functional.cross_entropy(found, at, reduction="none")),
    ):
        result = fitted((x, labels if own is None else labels.long()), outputs, loss=own)
        assert result.curve((x, labels.long()), [0.0]).rows[0]["error"] < 0.15
    mean, _ = fitted((x, labels)).predict(x)
    assert mean.shape == (len(x), 2)
    assert torch.allclose(mean.sum(1), torch.ones(len(x)))


def test_goes_on_from_a_checkpoint(tmp_path):
    first = fitted(epochs=3, checkpoint=tmp_path / "state.pt")
    again = fitted(epochs=3, checkpoint=tmp_path / "state.pt")
    x, _ = table()
    assert torch.equal(first.prune(0.5)(x), again.prune(0.5)(x))
    assert len(again.history) == 3


X, Y = table(8)
BAD = {
    "a nn.Module": (lambda: sbnn.compress("net", (X, Y)), "give an nn.Module"),
    "lazy": (lambda: sbnn.compress(nn.LazyLinear(1), (X, Y)), "lazy"),
    "complex": (lambda: sbnn.compress(nn.Linear(6, 1, dtype=torch.complex64), (X, Y)), "complex"),
    "meta": (lambda: sbnn.compress(nn.Linear(6, 1, device="meta"), (X, Y)), "no values"),
    "data": (lambda: sbnn.compress(network(), 3), "DataLoader"),
    "rows": (lambda: sbnn.compress(network(), (X, Y[:5])), "must agree"),
    "empty": (lambda: sbnn.compress(network(), (X[:0], Y[:0])), "no examples"),
    "not finite": (lambda: sbnn.compress(network(), (X / 0, Y)), "not finite"),
    "shapes": (lambda: sbnn.compress(network(3), (X, Y)), "do not go together"),
    "one output": (lambda: sbnn.compress(network(), (X, torch.arange(8))), "floating-point"),
    "labels": (lambda: sbnn.compress(network(2), (X, torch.arange(8))), "labels run from 0 to 7"),
    "epochs": (lambda: sbnn.compress(network(), (X, Y), epochs=0), "epochs=0"),
    "droprate": (lambda: sbnn.compress(network(), (X, Y), droprate=1.5), "droprate=1.5"),
    "leave_out": (lambda: sbnn.compress(network(), (X, Y), leave_out=["head.*"]), "matches none"),
    "replicas": (lambda: sbnn.compress(network(), (X, Y), replicas=0), "replicas=0"),
    "loss": (lambda: sbnn.compress(network(), (X, Y), loss=lambda found, y: found.sum()), "one number each"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(case):
    call, sentence = BAD[case]
    with pytest.raises(sbnn.SbnnError, match=sentence):
        call()


def test_bad_files_and_droprates_get_one_sentence(tmp_path):
    result = fitted(epochs=1)
    result.save(tmp_path / "net.safetensors")
    (tmp_path / "other").write_text("nothing")
    for path, module, sentence in (
        ("net.safetensors", network(2), "another network"),
        ("other", network(), "cannot be read"),
        ("missing", network(), "cannot be read"),
    ):
        with pytest.raises(sbnn.SbnnError, match=sentence):
            sbnn.load(tmp_path / path, module)
    for droprate, sentence in ((1.0, r"\[0, 1\)"), ("auto", "validation="), ("best", "neither")):
        with pytest.raises(sbnn.SbnnError, match=sentence):
            result.prune(droprate)
