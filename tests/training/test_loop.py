"""The loop: its gradient, its randomness, its checkpoints, and how it stops."""

import math
from dataclasses import replace

import pytest
import torch
from torch import nn

from sbnn.errors import CheckpointError, Diverged
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.methods import METHODS
from sbnn.model.posteriors.base import initial_means
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.settings import PriorSettings
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.loop import train
from sbnn.training.optimizers import SGD, Adam
from sbnn.training.settings import Training

PRIORS = {name: METHODS[name].prior(PriorSettings()) for name in ("sBNN", "BNN", "BbB", "NN")}
TRAINING = Training(epochs=4, batch=20, lr=0.02)


def trained(data, seeds, method="sBNN", training=TRAINING, checkpoint=None, auxiliary=None, dropout=False):
    """Train replicas from scratch; return every number that training moved."""
    layout, prior = Layout(mlp(5, [6, 3], dropout=dropout).double()), PRIORS[method]
    streams = Streams(seeds)
    means = initial_means(layout, streams, 1.0, torch.float64)
    posterior = Deterministic(means) if prior is None else MeanField.around(means, 0.05)
    likelihood = Gaussian(torch.full((len(seeds),), -1.0).double(), learned=True)
    train(Fit(layout, posterior, prior, likelihood, auxiliary or {}), data, streams, training, checkpoint)
    return torch.stack(posterior.theta), likelihood.log_variance


def test_gradient_is_autograds_through_the_whole_objective(small_data):
    """Algorithm 1's closed form against autograd of mean NLL + R/n, sampled weights and all."""
    layout, prior = Layout(mlp(5, [4]).double()), PRIORS["sBNN"]
    streams = Streams([1, 2, 3])
    posterior = MeanField.around(initial_means(layout, streams, 1.0, torch.float64), 0.1)
    likelihood = Gaussian(torch.full((3,), -1.0).double(), learned=True)
    x, y = small_data.all()
    eps = streams.normal_(torch.empty_like(posterior.mean))

    theta = torch.stack(posterior.theta).requires_grad_()
    sigma = torch.nn.functional.softplus(theta[1])
    weights = theta[0] + sigma * eps
    objective = likelihood.nll(layout.forward(weights, x), y).sum() + prior.penalty(theta[0], sigma).sum() / 60
    (expected,) = torch.autograd.grad(objective, theta)

    leaf = posterior.sample(eps).requires_grad_()
    (grad,) = torch.autograd.grad(likelihood.nll(layout.forward(leaf, x), y).sum(), leaf)
    torch.testing.assert_close(torch.stack(posterior.gradient(grad, eps, prior, 1 / 60)), expected)


def test_objective_is_the_papers_divided_by_n(small_data):
    """Pins the scaling: sum of -log p plus the sum of R, over n. The penalty is summed over weights, not averaged."""
    likelihood = Gaussian(torch.full((3,), 0.3).double(), learned=False)
    _, y = small_data.all()
    y = torch.cat([y, 2 * y], dim=2)  # two outputs
    outputs = torch.zeros_like(y)
    density = torch.distributions.Normal(outputs, torch.tensor(0.3).double().exp().sqrt())
    torch.testing.assert_close(likelihood.nll(outputs, y) * 60, -density.log_prob(y).sum((1, 2)))
    posterior = MeanField.around(torch.randn(3, 7, dtype=torch.float64), 0.1)
    each = PRIORS["sBNN"].penalty(posterior.mean, posterior.sigma)
    torch.testing.assert_close(posterior.penalty(PRIORS["sBNN"]), each.sum(1))


@pytest.mark.parametrize("method", PRIORS)
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_replicas_together_equal_replicas_alone(small_data, method, optimizer):
    training = Training(epochs=4, batch=20, lr=0.01, optimizer=optimizer, samples=2)
    together = trained(small_data, [11, 12, 13], method, training)
    for r in range(3):
        alone = trained(small_data[r : r + 1], [11 + r], method, training)
        torch.testing.assert_close(alone[0], together[0][:, r : r + 1])
        torch.testing.assert_close(alone[1], together[1][r : r + 1])


@pytest.mark.parametrize("method", PRIORS)
def test_same_seed_same_bits(small_data, method):
    first, second = (trained(small_data, [1, 2, 3], method)[0] for _ in range(2))
    assert torch.equal(first, second)
    assert not torch.equal(first, trained(small_data, [1, 2, 4], method)[0])


class Restored:
    """A state that only looks at what it is given."""

    def __init__(self, error=None):
        self.error = error

    def restore(self, saved):
        if self.error is not None:
            raise self.error
        self.saved = saved


class CutOff(Checkpoint):
    """Saves after every step and pulls the plug after some."""

    def __init__(self, path, after):
        super().__init__(path, every=0)
        self.after = after

    def save(self, state):
        super().save(state)
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 4, 11])
@pytest.mark.parametrize(("method", "optimizer"), [("sBNN", "adam"), ("BbB", "sgd"), ("NN", "adam")])
def test_resumed_equals_uninterrupted(small_data, tmp_path, method, optimizer, after):
    training = Training(epochs=4, batch=20, lr=0.01, optimizer=optimizer)
    dropout = {"2.rate": torch.tensor([0.1, 0.2, 0.3]).double(), "5.rate": torch.full((3,), 0.1).double()}
    options = {"auxiliary": dropout, "dropout": True} if method == "NN" else {}
    whole = trained(small_data, [1, 2, 3], method, training, **options)
    path = tmp_path / "fit.pt"
    with pytest.raises(KeyboardInterrupt):
        trained(small_data, [1, 2, 3], method, training, CutOff(path, after), **options)
    resumed = trained(small_data, [1, 2, 3], method, training, Checkpoint(path), **options)
    again = trained(small_data, [1, 2, 3], method, training, Checkpoint(path), **options)  # finished: loads, no step
    for part in range(2):
        assert torch.equal(whole[part], resumed[part])
        assert torch.equal(whole[part], again[part])


def test_checkpoint_of_another_configuration_is_refused(tmp_path):
    Checkpoint(tmp_path / "a.pt", fingerprint="one", code="a").save({"step": 1})
    with pytest.raises(CheckpointError, match="another configuration"):
        Checkpoint(tmp_path / "a.pt", fingerprint="two").restore(Restored(), "cpu")
    with pytest.raises(CheckpointError, match="does not hold the state of a fit"):
        Checkpoint(tmp_path / "a.pt", fingerprint="one").restore(Restored(KeyError("movable")), "cpu")


@pytest.mark.parametrize(
    ("saved", "reason"),
    [
        ({"fingerprint": "two", "code": "a"}, "another configuration"),
        ({"fingerprint": "one", "code": "b"}, "other code"),
        ({"fingerprint": "one", "code": "a", "movable": 3}, "does not hold the state of a fit"),
        ([1, 2], "cannot be read"),
        (b"half a file", "cannot be read"),
    ],
)
def test_a_checkpoint_that_is_of_no_use_is_passed_over_with_a_word(small_data, tmp_path, capsys, saved, reason):
    path = tmp_path / "fit.pt"
    if isinstance(saved, bytes):
        path.write_bytes(saved)
    else:
        torch.save(saved, path)
    own = Checkpoint(path, fingerprint="one", code="a", optional=True)
    found = trained(small_data, [1, 2, 3], checkpoint=own)
    assert reason in capsys.readouterr().err
    assert not own.was_resumed
    assert torch.equal(found[0], trained(small_data, [1, 2, 3])[0])


def test_a_resumed_fit_counts_its_earlier_time(tmp_path, monkeypatch):
    now = [100.0]
    monkeypatch.setattr("sbnn.training.checkpoint.time.monotonic", lambda: now[0])
    first = Checkpoint(tmp_path / "fit.pt")
    now[0] += 7
    first.save({"step": 1})
    now[0] += 50  # stopped meanwhile
    second = Checkpoint(tmp_path / "fit.pt")
    now[0] += 3
    second.restore(state := Restored(), torch.device("cpu"))
    assert state.saved["step"] == 1
    assert second.was_resumed
    assert second.seconds == 10
    torch.save({"fingerprint": "", "step": 1}, tmp_path / "old.pt")
    old = Checkpoint(tmp_path / "old.pt")
    old.restore(Restored(), torch.device("cpu"))
    assert math.isnan(old.seconds)


def test_corrupt_checkpoint_is_named(tmp_path):
    (tmp_path / "a.pt").write_bytes(b"half a file")
    with pytest.raises(CheckpointError, match=r"a\.pt cannot be read"):
        Checkpoint(tmp_path / "a.pt").restore(Restored(), "cpu")


def test_divergence_names_step_term_and_cause(small_data):
    hot = Training(epochs=50, batch=20, lr=1e6, optimizer="sgd", schedule="constant")
    with pytest.raises(Diverged, match=r"diverged at step \d+ of 150: .*non-finite.*times itself .*lower trainer.lr"):
        trained(small_data, [1, 2, 3], "sBNN", hot)
    with pytest.raises(Diverged, match=r"the learning rate is too high .* trainer.lr=1e\+06"):
        trained(small_data, [1, 2, 3], "NN", hot)
    hot = hot.model_copy(update={"temperature": 1e20, "lr": 1e-6})
    with pytest.raises(Diverged, match=r"lower trainer.lr, widen the spike|lower trainer.temperature=1e\+20"):
        trained(small_data, [1, 2, 3], "sBNN", hot)


def test_divergence_in_the_very_last_step_is_seen(small_data):
    once = Training(epochs=1, batch=60, lr=1, optimizer="sgd", schedule="constant").model_copy(update={"lr": 1e308})
    with pytest.raises(Diverged, match=r"at step 1 of 1: the penalty's gradient became non-finite"):
        trained(small_data, [1, 2, 3], "sBNN", once)
    huge = replace(small_data, y=small_data.y * 1e300, y_shift=None, y_scale=None)
    with pytest.raises(Diverged, match=r"at step [01] of 1: the (negative log-likelihood|weights) became non-finite"):
        trained(huge, [1, 2, 3], "NN", once)


@pytest.mark.parametrize("method", PRIORS)
def test_training_learns(small_data, method):
    long = Training(epochs=150, batch=20, lr=0.02)
    theta, log_variance = trained(small_data, [1, 2, 3], method, long)
    layout = Layout(mlp(5, [6, 3]).double())
    x, y = small_data.all()
    assert (Gaussian.error(layout.forward(theta[0], x), y) < 0.35).all()
    assert (log_variance < -1).all()


def test_optimisers_are_torchs():
    for ours, theirs, lr in ((Adam, torch.optim.Adam, 0.1), (SGD, torch.optim.SGD, 0.05)):
        mine, other = torch.ones(4, dtype=torch.float64), torch.ones(4, dtype=torch.float64, requires_grad=True)
        step, reference = ours([mine]), theirs([other], lr=lr, **({"momentum": 0.9} if ours is SGD else {}))
        for k in range(20):
            gradient = torch.sin(mine * (k + 1))
            other.grad = torch.sin(other.detach() * (k + 1))
            step.apply(mine, gradient, step.states[0], step.numbers(lr, k))
            reference.step()
        torch.testing.assert_close(mine, other.detach())


def test_categorical_likelihood():
    outputs, y = torch.randn(2, 7, 3, dtype=torch.float64), torch.randint(0, 3, (2, 7))
    for r in range(2):
        expected = torch.nn.functional.cross_entropy(outputs[r], y[r])
        torch.testing.assert_close(Categorical().nll(outputs, y)[r], expected)
        assert Categorical.error(outputs, y)[r] == (outputs[r].argmax(1) != y[r]).double().mean()


def test_standardisation_guards_constant_columns(small_data):
    x = small_data.x.clone()
    x[..., 3] = 0.998  # its float32 mean over 60 rows is not exactly itself
    scaled, _ = replace(small_data, x=x.float()).standardised(True, True).all()
    torch.testing.assert_close(scaled.mean(1), torch.zeros(3, 5), atol=1e-5, rtol=0)
    torch.testing.assert_close(scaled.std(1, correction=0), torch.tensor([1.0, 1, 1, 0, 1]).expand(3, -1))


def test_forward_is_the_module_itself():
    network = mlp(5, [6, 3]).double()
    layout = Layout(network)
    x = torch.randn(2, 9, 5, dtype=torch.float64)
    row = layout.flatten()
    both = layout.forward(torch.stack([row, row * 2]), x)
    torch.testing.assert_close(both[0], network(x[0]))
    torch.testing.assert_close(both[1], layout.load(row * 2)(x[1]))
    torch.testing.assert_close(layout.forward(row[None], x[:1]), both[:1])


class Odd(nn.Module):
    """A parameter of no dimension, and one that goes unused."""

    def __init__(self):
        super().__init__()
        self.line, self.scale, self.idle = nn.Linear(5, 1), nn.Parameter(torch.ones(())), nn.Parameter(torch.ones(3))

    def forward(self, x):
        return self.scale * self.line(x)


@pytest.mark.parametrize("replicas", [1, 3])
def test_scalar_and_unused_parameters_are_trained_like_any_other(small_data, replicas):
    layout, streams = Layout(Odd().double()), Streams(list(range(replicas)))
    posterior = MeanField.around(layout.flatten().expand(replicas, -1).clone(), 0.05)
    likelihood = Gaussian(torch.full((replicas,), -1.0).double(), learned=True)
    train(Fit(layout, posterior, PRIORS["sBNN"], likelihood), small_data[:replicas], streams, TRAINING)
    means = layout.unflatten(posterior.mean)
    assert (means["idle"] < 1).all()  # the prior alone pulls at it
    assert (means["scale"] != 1).all()
