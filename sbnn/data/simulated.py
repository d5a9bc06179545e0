"""The simulated regressions of Experiments 1 to 4."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sbnn.errors import ConfigError
from sbnn.streams import seed_of

PATIENCE = 10_000  # draws
FUNCTIONS = {
    "linear": lambda x: x,
    "nonlinear": lambda x: torch.exp(x.abs()) - 2 * x + torch.sin(2 * math.pi * x),
}


@dataclass(frozen=True)
class Simulated:
    """S datasets of one shape."""

    x: Tensor  # (S, n, D)
    y: Tensor  # (S, n, 1)
    beta: Tensor  # (S, D)
    active: Tensor  # (S, D) bool

    def to(self, device: torch.device, dtype: torch.dtype) -> "Simulated":
        x, y, beta = (t.to(device, dtype) for t in (self.x, self.y, self.beta))
        return Simulated(x, y, beta, self.active.to(device))

    @staticmethod
    def stack(datasets: list["Simulated"]) -> "Simulated":
        fields = ("x", "y", "beta", "active")
        return Simulated(*(torch.cat([getattr(d, f) for d in datasets]) for f in fields))


def draw(n: int, beta: Tensor, function: str, active_share: float, *key: object) -> Simulated:
    """y = sum_j f(x_j) beta_j Z_j + noise, x and noise standard normal, Z ~ Bernoulli(share).

    An empty draw of Z (no active feature at all) leaves nothing to find and is drawn again, unless the share is 0.
    """
    generator = torch.Generator().manual_seed(seed_of("data", *key))
    for _ in range(PATIENCE):
        active = torch.rand(len(beta), generator=generator, dtype=torch.float64) < active_share
        if active_share == 0 or active.any():
            break
    else:
        raise ConfigError(
            f"active_share={active_share:g} leaves all of {len(beta)} features inactive in {PATIENCE} draws; raise it, "
            "or make it 0."
        )
    x = torch.randn(n, len(beta), generator=generator, dtype=torch.float64)
    noise = torch.randn(n, generator=generator, dtype=torch.float64)
    y = FUNCTIONS[function](x) @ (beta.double() * active) + noise
    return Simulated(x[None], y[None, :, None], beta[None], active[None])


def pair(n: int, alpha: float, *key: object) -> Simulated:
    """Experiment 1: y = (1 - alpha) x1 + alpha x2 + noise."""
    return draw(n, torch.tensor([1 - alpha, alpha]), "linear", 1.0, *key)


def ramp(n: int, features: int, alpha: float, function: str, active_share: float, *key: object) -> Simulated:
    """Experiments 2 to 4: beta_j = j / alpha."""
    beta = torch.arange(1, features + 1) / alpha
    return draw(n, beta, function, active_share, *key)
