"""Sparse networks that others have published, counted and scored by our own code: a check from outside.

Dynamic Network Surgery (Guo, Yao and Chen 2016) released its two LeNets with their masks applied. Pixels are / 256, and
its LeNet-5 has no ReLU after the convolutions, as Caffe's.
"""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sbnn.compression.evaluation import Classified
from sbnn.compression.paths import active
from sbnn.data.download import data_directory
from sbnn.data.image_sets import load
from sbnn.data.images import ImageData
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.posteriors.point import Deterministic
from sbnn.networks import lenet_5, lenet_300_100

RELEASED = Path(__file__).parents[3] / "shared" / "data" / "dns"


def without_relus_after_convolutions() -> nn.Sequential:
    network = lenet_5()
    network.relu1 = network.relu2 = nn.Identity()
    return network


@pytest.mark.parametrize(
    ("name", "network", "weights", "kept", "on_paths", "error"),
    [
        ("lenet_300_100", lenet_300_100, 266_200, 4_952, 4_951, 0.0199),
        ("lenet_5", without_relus_after_convolutions, 430_500, 3_977, 3_966, 0.0091),
    ],
)
def test_released_weights_come_out_as_published(name, network, weights, kept, on_paths, error, has_images):
    path = RELEASED / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"The released weights are not at {path}")
    has_images("mnist")
    layout = Layout(network())
    with np.load(path) as arrays:
        mean = torch.cat([torch.from_numpy(arrays[own]).flatten() for own in layout.names]).unsqueeze(0)
    fit = Fit(layout, Deterministic(mean), None, Categorical(), shape=(1, 28, 28))
    layout.network.eval()

    keep = mean != 0
    assert int((~layout.is_bias).sum()) == weights
    assert int(keep[:, ~layout.is_bias].sum()) == kept
    assert int(active(fit, keep)[:, ~layout.is_bias].sum()) == on_paths

    mnist = load("mnist", data_directory(None))
    rows, zero = torch.arange(len(mnist.test_y)).unsqueeze(0), torch.zeros(1, 1, 1)
    data = ImageData(mnist.test_x, mnist.test_y, rows, zero, zero + 256, flat=False)
    classified = Classified(fit, data, samples=1, seeds=[0])
    assert classified.measure(keep)["error"].item() == pytest.approx(error, abs=1e-6)
    assert fit.errors(data.at(rows[:, :1000])).item() == pytest.approx(
        1 - classified.right()[:, :1000].float().mean().item(), abs=1e-6
    )
