"""Nothing in the loop reads from the device: on `meta` tensors, which hold no values, any such read raises."""

import pytest
import torch

from sbnn.data.images import Augmentation, ImageData
from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.methods import BBB, METHODS, NN, SBNN
from sbnn.model.settings import PriorSettings
from sbnn.networks import lenet_5, mlp, vgg_like
from sbnn.streams import Streams
from sbnn.training import loop, monitor
from sbnn.training.monitor import Monitor
from sbnn.training.settings import Training

META = torch.device("meta")


class NoStreams(Streams):
    """Draws of the right shape; there are no generators on `meta`."""

    def __init__(self, replicas: int):
        self.device, self.seeds, self.generators = META, [0] * replicas, [None] * replicas

    def keys(self, count, *name):
        return torch.empty(count, len(self), 2, dtype=torch.int32, device=META)

    def permutations(self, n):
        return torch.empty(len(self), n, dtype=torch.long, device=META)


class NoAugmentation(Augmentation):
    def draw(self, count, generator):
        return torch.empty(3, count, dtype=torch.long, device=META)


def table(replicas):
    rows, source = torch.empty(replicas, 80, dtype=torch.long), torch.empty(replicas, dtype=torch.long)
    data = ReplicaData(torch.empty(1, 90, 13), torch.empty(1, 90, 1), source, rows)
    return data.standardised(inputs=True, target=True)


def images(shape):
    rows, labels = torch.empty(1, 80, dtype=torch.long), torch.empty(90, dtype=torch.long)
    scaling = torch.empty(2, shape[0], 1, 1)
    crop = NoAugmentation(4, True)
    return ImageData(torch.empty(90, *shape, dtype=torch.uint8), labels, rows, *scaling, crop, flat=False)


TASKS = {
    "uci": (lambda: mlp(13, [50]), lambda: table(20), 20),
    "lenet_5": (lenet_5, lambda: images((1, 28, 28)), 1),
    "vgg": (lambda: vgg_like(0.25), lambda: images((3, 32, 32)), 1),
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("method", [SBNN.name, BBB.name, NN.name])
@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
def test_the_loop_reads_nothing_but_the_monitors_note(task, method, optimizer, monkeypatch):
    network, source, replicas = TASKS[task]
    method, reads = METHODS[method], []
    monkeypatch.setattr(Monitor, "check", lambda self, moved=(): reads.append(self.step))
    monkeypatch.setattr(monitor, "SECONDS", torch.inf)  # it looks once, at the end
    monkeypatch.setattr(loop, "check_data", lambda *_: None)  # before the loop
    with META:
        data, layout = source(), Layout(network())
        posterior = method.posterior.begun([torch.empty(replicas, layout.size)], 0.02)
        likelihood = Gaussian(torch.empty(replicas), learned=True) if task == "uci" else Categorical()
        auxiliary = {k: v.expand(replicas, *v.shape).clone() for k, v in layout.network.named_buffers()}
        auxiliary |= {k: torch.empty(replicas, *layout.network.get_parameter(k).shape) for k in layout.exempt}
        fit = Fit(layout, posterior, method.prior(PriorSettings()), likelihood, auxiliary)
        training = Training(epochs=3, batch=20, lr=0.01, optimizer=optimizer, compile="never")
        loop.train(fit, data, NoStreams(replicas), training)
    assert reads == [11]
    monkeypatch.undo()  # and that is a read
    with pytest.raises(RuntimeError, match="meta"), META:
        loop.train(fit, data, NoStreams(replicas), training)
