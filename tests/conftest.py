import shutil
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
import torch
from omegaconf import OmegaConf

from sbnn.commands.run import execute
from sbnn.data.download import Unavailable, data_directory
from sbnn.data.image_sets import load
from sbnn.data.replicas import ReplicaData
from sbnn.report import style
from sbnn.runs.composition import composed, settings_of


@pytest.fixture
def configured(tmp_path):
    """Compose a configuration as the command line would: configured("experiment=...", "seed=3")."""

    def build(*overrides: str):
        return composed(f"results_dir={tmp_path}", "progress=false", "threads=1", *overrides)

    return build


@pytest.fixture
def settings_from(configured):
    """The same, checked: settings_from("experiment=...", "seed=3")."""
    return lambda *overrides: settings_of(configured(*overrides))


@pytest.fixture
def judged(configured):
    """An experiment as small as a smoke run, whose claims are judged all the same: judged("simulated_pruning")."""

    def build(name: str):
        smoke = OmegaConf.to_container(configured(f"experiment={name}", "budget=smoke"), resolve=True)
        return OmegaConf.create(smoke | {"budget": "laptop", "seed": 1})  # of no budget that has a name

    return build


@pytest.fixture(scope="session")
def smoke_run(tmp_path_factory):
    """The folder of a finished smoke run, trained once and copied: smoke_run("simulated_relevance", folder)."""
    finished: dict[str, Path] = {}

    def copy(name: str, folder: Path) -> Path:
        if name not in finished:
            finished[name] = tmp_path_factory.mktemp("smoke") / name
            fixed = ("progress=false", "threads=1", f"results_dir={finished[name].parent}")
            with pytest.MonkeyPatch.context() as whole:
                whole.setattr("sbnn.report.publish.save", style.save)  # whether the test that asks is `undrawn` or not
                execute(composed(f"experiment={name}", "budget=smoke", *fixed), finished[name])
        return Path(shutil.copytree(finished[name], folder))

    return copy


@pytest.fixture
def undrawn(monkeypatch):
    """Runs make their figures and write none: half the time of a smoke run, where no test looks at them."""
    monkeypatch.setattr("sbnn.report.publish.save", lambda figure, path: plt.close(figure))


@pytest.fixture(scope="session")
def has_images():
    """Skip where a collection cannot be had: MNIST is fetched if need be, CIFAR-10 (139 MB) used if it is there."""
    known: dict[str | None, str] = {None: ""}

    def check(name: str | None) -> None:
        if name not in known:
            folder, known[name] = data_directory(None), ""
            if name == "cifar10" and not (folder / "cifar10.npz").exists():
                known[name] = f"CIFAR-10 is not in {folder} (sbnn-run experiment=cifar_pruning puts it there)"
            else:
                try:
                    load(name, folder)
                except Unavailable as error:
                    known[name] = str(error)
        if known[name]:
            pytest.skip(known[name])

    return check


@pytest.fixture
def small_data():
    """Three replicas of one noisy regression on five features."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(60, 5, generator=generator, dtype=torch.float64)
    y = x[..., :2].sum(-1, keepdim=True) + 0.1 * torch.randn(60, 1, generator=generator, dtype=torch.float64)
    return ReplicaData.of(x, y, replicas=3).standardised(inputs=True, target=True)
