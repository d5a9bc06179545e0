"""Building replicas and training them, chunk by chunk."""

import pytest
import torch
from torch import nn

from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.methods import NN, NN_DR, SBNN
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.settings import InitSettings, ModelSettings, PriorSettings
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training.fitting import Start, as_fit, fit
from sbnn.training.loop import train
from sbnn.training.session import Session
from sbnn.training.settings import Training


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()


def test_a_masked_network_learns_and_keeps_its_zeros():
    torch.manual_seed(0)
    layout = Layout(nn.Linear(6, 2).double())
    keep = torch.rand(1, layout.size) < 0.5
    y = torch.randint(2, (80,))
    data = ReplicaData.of(torch.randn(80, 6).double() + y[:, None], y)
    posterior = Deterministic(torch.randn(1, layout.size).double() * keep, keep=keep)
    assert (posterior.mean[~keep] == 0).all()
    before = posterior.mean.clone()
    masked = Fit(layout, posterior, None, Categorical())
    train(masked, data, Streams([0]), Training(epochs=20, batch=20, lr=0.05))
    assert (posterior.mean[~keep] == 0).all()
    assert (posterior.mean[keep] != before[keep]).all()
    x, y = data.all()
    assert Categorical.error(layout.forward(posterior.mean, x), y) < 0.3


def test_a_posterior_starts_at_another_fits_weights():
    """A deterministic network's means, all with the same deviation; its statistics too."""
    session = Session(dtype=torch.float64)
    settings = ModelSettings(prior=PriorSettings(log_tau0=-5.0), init=InitSettings(sigma=None))
    network = normed()
    network[1].running_mean.fill_(3.0)
    data = ReplicaData.of(torch.randn(8, 3).double(), torch.randint(2, (8,)))
    origin = as_fit(network, settings, data, session)
    start, training = Start(SBNN, normed(), settings, origin), Training(epochs=1, batch=4, lr=1e-12)
    found = fit(start, data, training, [0], "stage 2", session)
    torch.testing.assert_close(found.posterior.mean[0], Layout(network).flatten())
    torch.testing.assert_close(found.posterior.sigma, torch.full_like(found.posterior.sigma, 0.006737947))
    assert (found.auxiliary["1.running_mean"] > 2).all()
    assert (origin.auxiliary["1.running_mean"] == 3).all()  # what it started from is not written to


@pytest.mark.parametrize("method", [SBNN, NN, NN_DR], ids=lambda method: method.name)
def test_chunks_are_joined_to_what_one_fit_gives(method, small_data):
    training, rates = Training(epochs=2, batch=20, lr=0.01), torch.zeros(3).double()
    start = Start(method, mlp(5, [4], dropout=method.dropout), dropout=rates if method.dropout else None)
    sessions = (Session(dtype=torch.float64, chunk=chunk) for chunk in (9, 2))
    one, many = (fit(start, small_data, training, [1, 2, 3], "x", session) for session in sessions)
    torch.testing.assert_close(many.posterior.theta, one.posterior.theta)
    torch.testing.assert_close(many.likelihood.log_variance, one.likelihood.log_variance)
    torch.testing.assert_close(many.errors(small_data), one.errors(small_data))


def test_a_masked_fit_keeps_its_zeros_in_every_chunk(small_data):
    network, training = mlp(5, [4]), Training(epochs=2, batch=20, lr=0.01)
    keep = torch.rand(3, Layout(network).size, generator=torch.Generator().manual_seed(0)) < 0.5
    session = Session(dtype=torch.float64, chunk=2)
    found = fit(Start(NN, network, keep=keep), small_data, training, [1, 2, 3], "x", session)
    assert (found.posterior.mean[~keep] == 0).all()
    assert (found.posterior.mean[keep] != 0).double().mean() > 0.9  # a dead unit's bias may stay where it starts
    assert (found.take(torch.tensor([2])).posterior.keep == keep[2:]).all()
