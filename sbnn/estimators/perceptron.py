"""Perceptrons trained in torch, and used in numpy: what stays of a training is plain arrays of float64.

The recipe is that of Experiment 3, for standardised inputs, under half its penalty: so it predicts better and finds
more features. By trials, as good at regression after a thousand steps as the recipe tuned for UCI.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.methods import SBNN
from sbnn.model.settings import InitSettings, LikelihoodSettings, ModelSettings, PriorSettings
from sbnn.networks import mlp
from sbnn.training.fitting import Start, fit
from sbnn.training.session import Session
from sbnn.training.settings import Training

MODEL = ModelSettings(
    prior=PriorSettings(pi=0.5, log_tau1=0.0, log_tau0=-2.5),
    init=InitSettings(mean_scale=0.5, sigma=0.02),
    likelihood=LikelihoodSettings(log_variance=-1.0),
)
BATCH, CHUNK = 100, 25  # rows a step; replicas at once, what stays in a CPU's cache


@dataclass(frozen=True)
class Recipe:
    """What a user chooses."""

    hidden: Sequence[int]
    outputs: int
    steps: int
    temperature: float

    def train(self, data: ReplicaData, seeds: Sequence[int], origin: Fit | None = None) -> Fit:
        """All replicas from new; or gently, in a quarter of the steps, from where an origin's ended."""
        new = origin is None
        training = Training(
            epochs=1,
            steps=self.steps if new else max(1, self.steps // 4),
            batch=min(BATCH, data.size),
            lr=0.02 if new else 0.005,
            schedule="one_cycle" if new else "cosine",
            anneal_from=-1.5 if new else None,
            temperature=self.temperature,
            compile="never",  # which would take longer than most of these fits
        )
        device = data.x.device
        with torch.random.fork_rng([device] if device.type == "cuda" else []):  # the user's generator stays as it is
            start = Start(SBNN, mlp(data.x.shape[-1], self.hidden, self.outputs), MODEL, origin)
            return fit(start, data, training, seeds, "fit", Session(device, chunk=CHUNK))


def stored(x: np.ndarray, y: np.ndarray, device: str) -> ReplicaData:
    """A replica for each of the inputs (S, n, D), all with the target y: labels (n,), or numbers (n, outputs)."""
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        inputs = torch.as_tensor(x, dtype=torch.float32).to(device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device={device!r} is not there; use device='auto'.") from error
    target = torch.as_tensor(y, dtype=torch.long if y.ndim == 1 else torch.float32, device=inputs.device)
    count, rows = x.shape[:2]
    return ReplicaData(
        inputs,
        target.expand(count, *y.shape).contiguous(),
        source=torch.arange(count, device=inputs.device),
        rows=torch.arange(rows, device=inputs.device).expand(count, -1),
    )


def layers(fit: Fit, values: Tensor, features: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Values of the weights (R, M) of the first replica, as matrices (in, out) and vectors, layer by layer.

    Of the first layer only the part for the first `features` inputs.
    """
    named = {name: array(value[0]) for name, value in fit.layout.unflatten(values).items()}
    matrices = [value.T for name, value in named.items() if name.endswith("weight")]
    return [matrices[0][:features], *matrices[1:]], [value for name, value in named.items() if name.endswith("bias")]


def array(values: Tensor) -> np.ndarray:
    return values.detach().double().cpu().numpy()


def outputs(x: np.ndarray, coefs: Sequence[np.ndarray], intercepts: Sequence[np.ndarray]) -> np.ndarray:
    """Of a perceptron, (n, outputs)."""
    for coef, intercept in zip(coefs[:-1], intercepts[:-1], strict=True):
        x = np.maximum(x @ coef + intercept, 0)
    return x @ coefs[-1] + intercepts[-1]


def drawn(means: Sequence[np.ndarray], deviations: Sequence[np.ndarray], seed: int) -> Iterator[list[np.ndarray]]:
    """Samples from the posterior of some weights, one after another without end, the same for the same seed."""
    rng = np.random.default_rng(seed)
    while True:
        yield [m + s * rng.standard_normal(m.shape) for m, s in zip(means, deviations, strict=True)]
