"""A posterior over any module: convolutions, groups, shared weights, normalisation, parameters left out."""

import copy

import pytest
import torch
from torch import nn
from torch.func import functional_call

from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.posteriors.base import initial_means
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.streams import Streams
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.loop import train
from sbnn.training.settings import Training

CLASSES = 3


class Shared(nn.Module):
    """One convolution used twice, and a branch that adds up."""

    def __init__(self):
        super().__init__()
        self.first, self.again = nn.Conv2d(2, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
        self.tied = self.again
        self.head = nn.Linear(4, CLASSES)

    def forward(self, x):
        x = torch.relu(self.first(x))
        x = x + torch.relu(self.tied(torch.relu(self.again(x))))
        return self.head(x.mean((2, 3)))


def convolutions(norm: bool) -> nn.Module:
    layers = [nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4)] if norm else [nn.Conv2d(2, 4, 3)]
    return nn.Sequential(*layers, nn.ReLU(), nn.Conv2d(4, 6, 3, groups=2), nn.Flatten(), nn.Linear(6 * 4, CLASSES))


def images(replicas: int, dtype: torch.dtype) -> ReplicaData:
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(CLASSES, (60,), generator=generator)
    x = torch.randn(60, 2, 6, 6, generator=generator, dtype=torch.float64) + y.view(-1, 1, 1, 1)
    return ReplicaData.of(x.to(dtype), y, replicas)


def trained(network, seeds=(1,), point=False, checkpoint=None, epochs=40, leave_out=(), dtype=torch.float64, **options):
    """Everything that training moved, by name."""
    layout = Layout(network.to(dtype), leave_out)
    streams = Streams(list(seeds))
    means = initial_means(layout, streams, 1.0, dtype)
    posterior = Deterministic(means) if point else MeanField.around(means, 0.02)
    prior = None if point else SpikeSlabPrior(0.0, -2.0, 0.5)
    auxiliary, data = layout.auxiliary(len(seeds)), images(len(seeds), dtype)
    training = Training(epochs=epochs, batch=20, lr=0.02, optimizer="sgd", **options)
    train(Fit(layout, posterior, prior, Categorical(), auxiliary), data, streams, training, checkpoint)
    x, y = data.all()
    error = Categorical.error(layout.forward(posterior.mean, x, auxiliary), y)
    return {"theta": torch.stack(posterior.theta), **auxiliary}, error


@pytest.mark.parametrize("network", [Shared(), convolutions(norm=False), convolutions(norm=True)])
@pytest.mark.parametrize("point", [True, False])
def test_any_module_is_trained(network, point):
    moved, error = trained(copy.deepcopy(network), seeds=(1, 2), point=point, epochs=120)
    assert (error < 0.2).all()
    assert all(value.isfinite().all() for value in moved.values())


@pytest.mark.parametrize("compile_", ["never", "always"])
def test_replicas_with_batch_norm_are_what_each_is_alone(compile_):
    together, _ = trained(convolutions(norm=True), seeds=(1, 2), compile=compile_)
    for place, seed in enumerate((1, 2)):
        alone, _ = trained(convolutions(norm=True), seeds=(seed,), compile=compile_)
        torch.testing.assert_close(alone["theta"][:, 0], together["theta"][:, place])
        for name in ("1.weight", "1.running_var"):
            torch.testing.assert_close(alone[name][0], together[name][place])


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.layer, self.head = kind(12, 5, batch_first=True), nn.Linear(5, CLASSES)

    def forward(self, x):
        return self.head(self.layer(x.flatten(2).mT.reshape(len(x), -1, 12))[0][:, -1])


class Looking(nn.Module):
    """Its control flow depends on the data."""

    def __init__(self):
        super().__init__()
        self.head = nn.Linear(72, CLASSES)

    def forward(self, x):
        x = x.flatten(1)
        return self.head(-x if x.sum() < 0 else x)


REFUSED = {
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "spectral": lambda: nn.Sequential(nn.Flatten(), nn.utils.parametrizations.spectral_norm(nn.Linear(72, CLASSES))),
    "looking": Looking,
}


@pytest.mark.parametrize("kind", REFUSED)
def test_replicas_go_one_by_one_where_vmap_refuses(kind):
    torch.manual_seed(0)
    network = REFUSED[kind]()
    before = {name: value.clone() for name, value in network.state_dict().items()}
    together, error = trained(copy.deepcopy(network), seeds=(1, 2), epochs=20)
    assert (error < 0.4).all()
    for place, seed in enumerate((1, 2)):
        alone, _ = trained(copy.deepcopy(network), seeds=(seed,), epochs=20)
        torch.testing.assert_close(alone["theta"][:, 0], together["theta"][:, place])
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


def test_a_mistake_in_a_network_is_its_own():
    class Wrong(Looking):
        def forward(self, x):
            return self.head(x)

    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        trained(Wrong(), seeds=(1, 2))


def test_norm_layers_and_patterns_are_exempt():
    network = convolutions(norm=True)
    layout = Layout(network, ["5.*"])
    assert layout.exempt == ["1.weight", "1.bias", "5.weight", "5.bias"]
    assert layout.names == ["0.weight", "0.bias", "3.weight", "3.bias"]
    assert layout.size == sum(p.numel() for name, p in network.named_parameters() if name[0] in "03")
    auxiliary = layout.auxiliary(2)
    assert set(auxiliary) == {*layout.exempt, "1.running_mean", "1.running_var", "1.num_batches_tracked"}
    assert auxiliary["5.weight"].shape == (2, CLASSES, 24)


def test_what_is_exempt_is_trained_without_noise_or_prior():
    moved, _ = trained(convolutions(norm=True), leave_out=["5.*"])
    for name in ("1.weight", "5.weight"):
        assert not torch.equal(moved[name][0], dict(convolutions(norm=True).named_parameters())[name].double())
    assert moved["1.num_batches_tracked"].item() == 120
    assert (moved["1.running_mean"] != 0).all()


def test_a_pattern_that_matches_nothing_is_named():
    with pytest.raises(ConfigError, match=r"network\.leave_out=head\.\* matches none of the parameters 0\.weight"):
        Layout(convolutions(norm=False), ["head.*"])
    with pytest.raises(ConfigError, match="no parameters to put a posterior on"):
        Layout(nn.Sequential(nn.BatchNorm1d(3)))


def test_statistics_resume_to_the_same_bits(tmp_path):
    whole, _ = trained(convolutions(norm=True), epochs=4)

    class CutOff(Checkpoint):
        def save(self, state):
            super().save(state)
            if state["step"] == 7:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        trained(convolutions(norm=True), epochs=4, checkpoint=CutOff(tmp_path / "fit.pt", every=0))
    for _ in ("to be finished", "finished"):
        resumed, _ = trained(convolutions(norm=True), epochs=4, checkpoint=Checkpoint(tmp_path / "fit.pt"))
        assert all(torch.equal(whole[name], resumed[name]) for name in whole)


def test_a_replica_goes_back_into_the_module():
    network = convolutions(norm=True)
    layout = Layout(network.double())
    row, x = torch.randn(1, layout.size, dtype=torch.float64), torch.randn(1, 5, 2, 6, 6, dtype=torch.float64)
    auxiliary = {name: torch.rand_like(value.double()).to(value) for name, value in layout.auxiliary(1).items()}
    network.eval()
    expected = layout.forward(row, x, auxiliary)[0]
    loaded = layout.load(row[0], {name: value[0] for name, value in auxiliary.items()})
    assert loaded is network
    torch.testing.assert_close(network(x[0]), expected)
    torch.testing.assert_close(layout.flatten(), row[0])


def test_shared_weights_count_once():
    layout = Layout(Shared().double())
    assert [name for name in layout.names if "tied" in name] == []
    row = torch.randn(layout.size, dtype=torch.float64)
    x = torch.randn(5, 2, 6, 6, dtype=torch.float64)
    expected = functional_call(layout.network, layout.unflatten(row), (x,))
    torch.testing.assert_close(layout.forward(row[None], x[None])[0], expected)
    torch.testing.assert_close(layout.load(row)(x), expected)


def test_the_network_alone_is_cast():
    """In bfloat16 it learns as well, and what the posterior is made of stays as precise as it was."""
    cast, error = trained(convolutions(norm=True), dtype=torch.float32, autocast="always")
    assert all(value.dtype == torch.float32 for value in cast.values() if value.is_floating_point())
    assert error < 0.2
    exact, _ = trained(convolutions(norm=True), dtype=torch.float32, autocast="never")
    assert not torch.equal(exact["theta"], cast["theta"])
    if not torch.cuda.is_available():
        by_default, _ = trained(convolutions(norm=True), dtype=torch.float32, autocast="auto")
        assert torch.equal(exact["theta"], by_default["theta"])
