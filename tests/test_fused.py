"""The compiled step: the same numbers as the plain one, and its own exp, sigmoid, softplus and noise."""

import pytest
import torch
from torch.nn import functional

from sbnn import elementwise, fused
from sbnn.checkpoint import Checkpoint
from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.layout import Layout
from sbnn.likelihood import Gaussian
from sbnn.networks import mlp
from sbnn.posterior import Deterministic, MeanField, initial_means
from sbnn.prior import ScaleMixturePrior, SpikeSlabPrior
from sbnn.schedule import Training
from sbnn.streams import BLOCK, Streams, quantiles
from sbnn.train import train

PRIOR = SpikeSlabPrior(0.0, -2.0, 0.5)


def trained(compile_, prior=PRIOR, replicas=2, point=False, checkpoint=None, **options):
    """Everything that a few epochs of training moved."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=generator)
    streams = Streams(list(range(replicas)))
    layout = Layout(mlp(5, [6, 3]))
    means = initial_means(layout, streams, 1.0, torch.float32)
    posterior = Deterministic(means[None]) if point else MeanField.around(means, 0.05)
    likelihood = Gaussian(torch.full((replicas,), -1.0), learned=True)
    keys = {"epochs": 5, "batch": 20, "lr": 0.02, "optimizer": "sgd", "compile": compile_} | options
    data = ReplicaData.of(x, 2 * x[:, :1], replicas)
    train(layout, posterior, prior, likelihood, data, streams, Training(**keys), checkpoint=checkpoint)
    return torch.cat([posterior.theta.flatten(), likelihood.log_variance.detach()])


@pytest.mark.parametrize(
    ("prior", "options"),
    [
        (PRIOR, {}),
        (PRIOR, {"proximal": True}),
        (PRIOR, {"anneal_from": -1.0, "penalty": "blundell", "momentum": 0.0, "replicas": 1}),
        (ScaleMixturePrior(0.0, -2.0, 0.5), {"temperature": 0.5}),
    ],
)
def test_compiled_equals_plain(prior, options):
    plain, compiled = (trained(choice, prior, **options) for choice in ("never", "always"))
    torch.testing.assert_close(compiled, plain, rtol=2e-5, atol=2e-6)


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


@pytest.mark.parametrize("options", [{"optimizer": "adam"}, {"samples": 2}])
def test_what_cannot_be_compiled_says_so(options):
    with pytest.raises(ConfigError, match=r"trainer\.compile=always needs sBNN or BbB with trainer\.optimizer=sgd"):
        trained("always", **options)
    trained("auto", **options)


def test_a_point_estimate_has_nothing_to_compile(monkeypatch):
    monkeypatch.setattr(fused, "compiled", lambda function: pytest.fail("compiled"))
    trained("always", None, point=True)


def test_without_a_compiler_training_goes_on(monkeypatch, capsys):
    def broken(*_):
        raise RuntimeError("no C++ compiler\nand a page about it")

    expected = trained("never")
    monkeypatch.setattr(fused, "compiled", lambda function: broken)
    monkeypatch.setattr(fused, "WORTH_COMPILING", 1)
    assert torch.equal(trained("auto"), expected)
    assert "several times slower (RuntimeError: no C++ compiler)" in capsys.readouterr().err
    with pytest.raises(ConfigError, match=r"trainer\.compile=always cannot be had here .*no C\+\+ compiler"):
        trained("always")


def test_short_fits_are_not_compiled(monkeypatch):
    monkeypatch.setattr(fused, "compiled", lambda function: pytest.fail("compiled"))
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
        torch.testing.assert_close(ours.double(), theirs, rtol=2e-6, atol=1e-37)


def test_functions_at_the_ends(written_out):
    x = torch.tensor([-1e4, -100.0, 100.0, 1e4])
    assert torch.equal(elementwise.sigmoid(x) > 0.5, x > 0)
    assert elementwise.sigmoid(x).isfinite().all()
    softplus, slope = elementwise.softplus_and_slope(x)
    torch.testing.assert_close(softplus, x.clamp_min(0), rtol=1e-6, atol=1e-37)
    assert ((slope >= 0) & (slope <= 1)).all()


def test_quantiles_have_the_normals_moments():
    z = quantiles().double()
    for power, moment in ((1, 0), (2, 1), (3, 0), (4, 3), (6, 15)):
        assert z.pow(power).mean() == pytest.approx(moment, abs=2e-3 * max(1, moment))
    assert 4 < z.max() < 5
    assert torch.equal(z, z.sort()[0])


def test_long_rows_are_normal_and_do_not_depend_on_threads():
    size, threads = 3 * BLOCK + 5, torch.get_num_threads()
    draws = []
    try:
        for count in (1, 2):
            torch.set_num_threads(count)
            streams = Streams([1, 2])
            draws.append([streams.normal_(torch.empty(2, size)) for _ in range(2)])
    finally:
        torch.set_num_threads(threads)
    for one, two in zip(*draws, strict=True):
        assert torch.equal(one, two)
    first, second = draws[0]
    both = torch.cat([first, second])
    assert both.mean(1).abs().max() < 5 / size**0.5
    assert (both.var(1) - 1).abs().max() < 0.01
    assert torch.corrcoef(both).fill_diagonal_(0).abs().max() < 5 / size**0.5  # steps and replicas
    assert torch.corrcoef(first[0][: 3 * BLOCK].view(3, -1)).fill_diagonal_(0).abs().max() < 0.01  # blocks
    neighbours = torch.stack([first[0][:-1], first[0][1:]])
    assert torch.corrcoef(neighbours)[0, 1].abs() < 5 / size**0.5


def test_long_rows_resume(tmp_path):
    streams = Streams([1])
    streams.normal_(torch.empty(1, 2 * BLOCK))
    state = streams.state()
    expected = streams.normal_(torch.empty(1, 2 * BLOCK))
    resumed = Streams([1])
    resumed.load_state(state)
    assert torch.equal(resumed.normal_(torch.empty(1, 2 * BLOCK)), expected)
