"""When a run counts as finished: the same configuration by the same code, wherever and however fast it ran."""

import json
import shutil

import pytest
import torch

from sbnn.commands.run import execute
from sbnn.data.uci import DATASETS
from sbnn.runs import identity
from sbnn.runs.composition import PACKAGE
from sbnn.runs.identity import budget_of, code_hash, fingerprint, is_finished, settings_hash

pytestmark = pytest.mark.usefixtures("undrawn")
SMOKE = ("experiment=simulated_relevance", "budget=smoke")


def test_a_run_is_finished_until_something_that_matters_changes(configured, settings_from, tmp_path):
    folder = tmp_path / "out"
    assert not is_finished(folder, settings_from(*SMOKE))
    execute(configured(*SMOKE), folder, in_sweep=True)
    assert is_finished(folder, settings_from(*SMOKE))
    assert is_finished(
        folder, settings_from(*SMOKE, "results_dir=elsewhere", "threads=2", "progress=true", "resume=true")
    )
    assert not is_finished(folder, settings_from(*SMOKE, "force=true"))
    for override in ("seed=1", "prior.pi=0.4", "trainer.epochs=4", "droprates=[0,0.5]", "chunk=7"):
        assert not is_finished(folder, settings_from(*SMOKE, override)), override

    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"code": "of yesterday"}))
    assert not is_finished(folder, settings_from(*SMOKE))
    (folder / "run.json").write_text("{cut of")
    assert not is_finished(folder, settings_from(*SMOKE))


def test_results_from_before_there_were_hashes_are_not_finished(settings_from, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"experiment": "simulated_relevance", "commit": "0d59f8e863ff"}))
    assert not is_finished(tmp_path, settings_from(*SMOKE))


def test_where_the_data_lie_does_not_matter_but_pretrained_weights_do(settings_from, tmp_path):
    lenet, weights = ("experiment=lenet_pruning", "budget=smoke"), tmp_path / "weights.pt"
    assert settings_hash(settings_from(*lenet)) == settings_hash(settings_from(*lenet, f"data.dir={tmp_path}"))
    hashes = set()
    for content in (b"one", b"two"):
        weights.write_bytes(content)
        hashes.add(settings_hash(settings_from(*lenet, f"pretrained={weights}")))
    assert len(hashes | {settings_hash(settings_from(*lenet))}) == 3


def test_a_run_that_went_without_a_dataset_is_finished_until_its_file_comes(settings_from, tmp_path):
    settings = settings_from("experiment=uci_pruning", "budget=smoke", f"data.dir={tmp_path}")
    facts = {"config": settings_hash(settings), "code": code_hash(settings.name), "left_out": ["protein"]}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    (tmp_path / "rows.csv").touch()
    assert is_finished(tmp_path, settings)
    path = tmp_path / DATASETS["protein"].file("protein").paths[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert not is_finished(tmp_path, settings)


def test_a_run_has_a_budget_s_name_only_if_that_gives_its_settings_today(settings_from):
    settings = settings_from("experiment=lenet_pruning", "budget=overnight", "seed=0")
    assert budget_of(settings) == "overnight"
    reordered = {"network": list(reversed(settings.vary.network))}
    renamed = settings.changed({"budget": "laptop", "vary": reordered})  # as those sizes were once called
    assert budget_of(renamed) == "overnight"
    for override in ("trainer.epochs=7", "prior.pi=0.4", "rivals=[]", "seed=1"):
        assert budget_of(settings_from("experiment=lenet_pruning", override)) == "laptop, changed", override
    same = settings_from("experiment=simulated_relevance", "budget=overnight")  # names no sizes of its own there
    assert budget_of(same) == "overnight"


@pytest.mark.parametrize(
    ("changed", "matters"),
    [("training/loop.py", True), ("data/uci.csv", True), ("experiments/images.py", True), ("runs/keys.py", True),
     ("experiments/vgg_pruning.py", False), ("api/compress.py", False), ("estimators/base.py", False),
     ("report/style.py", False), ("commands/run.py", False), ("__pycache__/train.cpython-311.pyc", False)],
)  # fmt: skip
def test_only_code_that_makes_an_experiment_s_numbers_matters(tmp_path, monkeypatch, changed, matters):
    monkeypatch.setattr(identity, "PACKAGE", tmp_path / "sbnn")
    shutil.copytree(PACKAGE, tmp_path / "sbnn", ignore=shutil.ignore_patterns("__pycache__"))
    before = code_hash.__wrapped__("lenet_pruning")
    (tmp_path / "sbnn" / changed).parent.mkdir(exist_ok=True)
    with (tmp_path / "sbnn" / changed).open("a") as file:
        file.write("\n# a change\n")
    assert (code_hash.__wrapped__("lenet_pruning") != before) == matters


def test_a_checkpoint_outlives_changes_to_what_is_measured_and_where(settings_from, tmp_path):
    def print_of(*overrides):
        settings = settings_from("experiment=mnist_pruning", "budget=smoke", *overrides)
        return fingerprint(settings, "tuned-400", [1], torch.device("cpu"))

    same, other = print_of(), ("trainer.lr=0.01", "prior.pi=0.4", "init.sigma=null", "seed=1", "data.train_images=900")
    for override in (
        "droprates=[0,0.5]", "recipe=tuned", "rivals=[]", "resume=true", "recipes.paper.prior.pi=0.3",
        f"data.dir={tmp_path}", "vary.width=[1200]", "data.test_images=10", "device=cpu", "checkpoint_seconds=1",
    ):  # fmt: skip
        assert print_of(override, "force=true") == same, override
    assert len({same, *map(print_of, other)}) == 6


def test_a_checkpoint_is_of_one_fit(settings_from):
    settings = settings_from("experiment=simulated_relevance", "budget=smoke")
    prints = {
        fingerprint(settings, name, seeds, torch.device("cpu"))
        for name in ("one", "another")
        for seeds in ([1, 2], [1, 3], [1])
    }
    assert len(prints) == 6
