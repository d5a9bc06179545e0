"""The compiled step: the same numbers as the plain one, and its own exp, sigmoid, softplus and noise."""

import pytest
import torch
from torch.nn import functional

from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.model import elementwise
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Gaussian
from sbnn.model.posteriors.base import initial_means
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.gaussian import GaussianPrior
from sbnn.model.priors.scale_mixture import ScaleMixturePrior
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training import compiled, loop, parts
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.loop import train
from sbnn.training.noise import noise, scrambled
from sbnn.training.settings import Training

PRIOR = SpikeSlabPrior(0.0, -2.0, 0.5)


def trained(compile_, prior=PRIOR, replicas=2, point=False, checkpoint=None, sizes=(5, [6, 3]), **options):
    """Everything that a few epochs of three steps moved."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, sizes[0], generator=generator)
    streams = Streams(list(range(replicas)))
    layout = Layout(mlp(*sizes))
    means = initial_means(layout, streams, 1.0, torch.float32)
    posterior = Deterministic(means) if point else MeanField.around(means, 0.05)
    likelihood = Gaussian(torch.full((replicas,), -1.0), learned=True)
    keys = {"epochs": 5, "batch": 20, "lr": 0.02, "optimizer": "sgd", "compile": compile_} | options
    data = ReplicaData.of(x, 2 * x[:, :1], replicas)
    train(Fit(layout, posterior, prior, likelihood), data, streams, Training(**keys), checkpoint)
    return torch.cat([*(row.flatten() for row in posterior.theta), likelihood.log_variance])


POINT = {"prior": None, "point": True}


@pytest.mark.parametrize("way", ["whole", "piecewise"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"optimizer": "adam"},
        {"proximal": True},
        {"anneal_from": -1.0, "penalty": "blundell", "momentum": 0.0, "replicas": 1},
        {"prior": ScaleMixturePrior(0.0, -2.0, 0.5), "temperature": 0.5},
        {"prior": GaussianPrior(-1.0), "optimizer": "adam"},
        POINT | {"optimizer": "adam"},
        {"prior": GaussianPrior(-1.0), "point": True},
    ],
)
def test_compiled_equals_plain(way, options, monkeypatch):
    plain = trained("never", **options)
    monkeypatch.setattr(loop, "ways", lambda *_: [getattr(compiled, way)])
    torch.testing.assert_close(trained("always", **options), plain, rtol=5e-5, atol=5e-6)


def test_several_samples_are_compiled_too():
    torch.testing.assert_close(trained("always", samples=2), trained("never", samples=2), rtol=5e-5, atol=5e-6)


def test_one_compiled_step_serves_all_shapes():
    counters = torch._dynamo.utils.counters
    trained("always", optimizer="adam")
    before = counters["stats"]["unique_graphs"]
    trained("always", optimizer="adam", replicas=3, sizes=(4, [7, 5]))
    assert counters["stats"]["unique_graphs"] == before


def test_a_compiled_fit_resumes_to_the_same_bits(tmp_path):
    whole = trained("always", epochs=4)

    class CutOff(Checkpoint):
        def save(self, state):
            super().save(state)
            if state["step"] == 7:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained("always", epochs=4, checkpoint=CutOff(tmp_path / "fit.pt", every=0))
    assert torch.equal(whole, trained("always", epochs=4, checkpoint=Checkpoint(tmp_path / "fit.pt")))


def test_without_a_compiler_training_goes_on(monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("no C++ compiler\nand a page about it")

    expected = trained("never")
    compiled.no_compiler.cache_clear()
    monkeypatch.setattr(compiled, "compiled", lambda function: broken)
    monkeypatch.setattr(compiled, "WORTH_COMPILING", 0)
    assert torch.equal(trained("auto"), expected)
    assert "several times slower (RuntimeError: no C++ compiler)" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"trainer\.compile=always cannot be had here .*no C\+\+ compiler"):
        trained("always")
    compiled.no_compiler.cache_clear()


def test_a_step_that_cannot_be_traced_is_made_another_way(monkeypatch):
    def refuses(step, now):
        raise RuntimeError("data-dependent")

    monkeypatch.setattr(compiled, "whole", refuses)
    torch.testing.assert_close(trained("always"), trained("never"), rtol=5e-5, atol=5e-6)


def test_short_fits_are_not_compiled(monkeypatch):
    monkeypatch.setattr(compiled, "compiled", lambda function: pytest.fail("compiled"))
    trained("auto")


def test_diverged_proximal_needs_sgd_and_sbnn():
    for prior, options in ((ScaleMixturePrior(0.0, -2.0, 0.5), {}), (PRIOR, {"optimizer": "adam"})):
        with pytest.raises(ConfigError, match=r"trainer\.proximal=true"):
            trained("never", prior, proximal=True, **options)


def test_proximal_step_is_stable_where_the_explicit_one_is_not():
    """A spike so narrow that an explicit step overshoots; the mean's fixed point is the same by both."""
    narrow = SpikeSlabPrior(0.0, -6.0, 0.5)
    assert trained("never", narrow, proximal=True, momentum=0.0, lr=0.05).isfinite().all()
    gentle = {"lr": 0.002, "epochs": 300, "momentum": 0.5, "replicas": 1}
    explicit, proximal = (trained("never", PRIOR, proximal=choice, **gentle) for choice in (False, True))
    torch.testing.assert_close(proximal, explicit, rtol=0.02, atol=0.01)


@pytest.fixture
def written_out(monkeypatch):
    """The functions as they are inside a compiled function."""
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)


def test_functions_agree_with_torchs(written_out):
    x = torch.cat([torch.linspace(-40, 40, 20001), torch.linspace(-0.01, 0.01, 1001), torch.tensor([-80.0, 80.0])])
    exact = x.double()
    softplus, slope = elementwise.softplus_and_slope(x)
    for ours, theirs in (
        (elementwise.exp(x), exact.exp()),
        (elementwise.sigmoid(x), exact.sigmoid()),
        (softplus, functional.softplus(exact, threshold=100)),
        (slope, exact.sigmoid()),
    ):
        torch.testing.assert_close(ours.double(), theirs, rtol=3e-6, atol=1e-37)


def test_functions_at_the_ends(written_out):
    x = torch.tensor([-1e4, -100.0, 100.0, 1e4])
    assert torch.equal(elementwise.sigmoid(x) > 0.5, x > 0)
    assert elementwise.sigmoid(x).isfinite().all()
    softplus, slope = elementwise.softplus_and_slope(x)
    torch.testing.assert_close(softplus, x.clamp_min(0), rtol=1e-6, atol=1e-37)
    assert ((slope >= 0) & (slope <= 1)).all()


def test_noise_is_normal_and_of_its_key_alone():
    size, threads = 2**20 + 5, torch.get_num_threads()
    keys, draws = Streams([1, 2]).keys(2, "epoch"), []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            draws.append(torch.cat([noise(key, size) for key in keys]))  # (steps x replicas, size)
    finally:
        torch.set_num_threads(threads)
    drawn = draws[0].double()
    assert torch.equal(*draws)
    assert torch.equal(noise(keys[0], 100), draws[0][:2, :100])
    assert torch.equal(noise(keys[0], 100, 50), draws[0][:2, 50:150])
    for power, moment, spread in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        assert (drawn.pow(power).mean(1) - moment).abs().max() < 5 * (spread / size) ** 0.5
    assert 4.5 < drawn.abs().max() < 4.9
    assert torch.corrcoef(drawn).fill_diagonal_(0).abs().max() < 5 / size**0.5  # steps and replicas
    for lag in (1, 2, 10, 784, 1200, 2**10, 2**16):
        for power in (1, 2):
            pair = torch.stack([drawn[0, :-lag], drawn[0, lag:]]).pow(power)
            assert torch.corrcoef(pair)[0, 1].abs() < 5 / (size - lag) ** 0.5
    expected = torch.special.ndtr(torch.linspace(-3, 3, 61, dtype=torch.float64))
    below = torch.searchsorted(drawn[0].sort()[0], torch.linspace(-3, 3, 61, dtype=torch.float64)) / size
    assert (below - expected).abs().max() < 2 / size**0.5  # Kolmogorov and Smirnov


def test_scrambling_is_a_permutation_that_no_bit_survives():
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32)
    mixed = scrambled(bits)
    assert len(mixed.unique()) == len(bits)
    for flipped in range(32):
        changed = mixed ^ scrambled(bits ^ (1 << flipped if flipped < 31 else -(2**31)))
        shares = torch.stack([(changed >> bit) & 1 for bit in range(32)]).double().mean(1)
        assert (shares - 0.5).abs().max() < 0.1


def test_small_neighbours_are_updated_together():
    large = parts.SMALL
    assert parts.neighbours([large, 3, large, 3, 4, 5]) == [slice(0, 1), slice(1, 2), slice(2, 3), slice(3, 6)]
    assert parts.neighbours([3, 4]) == [slice(0, 2)]


@pytest.mark.parametrize("way", ["whole", "piecewise", "advance"])
@pytest.mark.parametrize("options", [{}, {"optimizer": "adam", "replicas": 1}, {"prior": None, "point": True}])
def test_a_network_in_parts_is_trained_as_one(way, options, monkeypatch):
    expected = trained("never", **options)
    monkeypatch.setattr(parts, "SMALL", 10)
    # The compiler trips over several point estimates in several parts; training then goes on piecewise.
    monkeypatch.setattr(loop, "ways", lambda *_: [getattr(compiled, way), compiled.piecewise])
    torch.testing.assert_close(trained("always", **options), expected, rtol=5e-5, atol=5e-6)
