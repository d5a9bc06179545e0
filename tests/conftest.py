import pytest
import torch
from hydra import compose, initialize_config_dir

from sbnn.config import CONF
from sbnn.data.replicas import ReplicaData


@pytest.fixture
def configured(tmp_path):
    """Compose a configuration as the command line would: configured("experiment=...", "seed=3")."""

    def build(*overrides: str):
        with initialize_config_dir(str(CONF), version_base="1.3"):
            return compose("config", [f"results_dir={tmp_path}", "progress=false", "threads=1", *overrides])

    return build


@pytest.fixture
def small_data():
    """Three replicas of one noisy regression on five features."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    y = x[..., :2].sum(-1, keepdim=True) + 0.1 * torch.randn(60, 1, generator=generator, dtype=torch.float64)
    return ReplicaData.of(x, y, replicas=3).standardised(inputs=True, target=True)
