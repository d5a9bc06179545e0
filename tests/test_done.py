"""When a run counts as finished: the same configuration by the same code, wherever and however fast it ran."""

import json
import shutil

import pytest
from omegaconf import OmegaConf

from sbnn.commands.run import execute
from sbnn.data.uci import DATASETS
from sbnn.runs import identity as done
from sbnn.runs.identity import budget_of, code_hash, config_hash, finished
from sbnn.runs.settings import PACKAGE

SMOKE = ("experiment=simulated_relevance", "budget=smoke")


def test_a_run_is_finished_until_something_that_matters_changes(configured, tmp_path):
    folder = tmp_path / "out"
    assert not finished(folder, configured(*SMOKE))
    execute(configured(*SMOKE), folder, judged=False)
    assert finished(folder, configured(*SMOKE))
    assert finished(folder, configured(*SMOKE, "results_dir=elsewhere", "threads=2", "progress=true", "resume=true"))
    assert not finished(folder, configured(*SMOKE, "force=true"))
    for override in ("seed=1", "prior.pi=0.4", "trainer.epochs=4", "droprates=[0,0.5]", "chunk=7"):
        assert not finished(folder, configured(*SMOKE, override)), override

    facts = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(facts | {"code": "of yesterday"}))
    assert not finished(folder, configured(*SMOKE))
    (folder / "run.json").write_text("{cut of")
    assert not finished(folder, configured(*SMOKE))


def test_results_from_before_there_were_hashes_are_not_finished(configured, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps({"experiment": "simulated_relevance", "commit": "0d59f8e863ff"}))
    assert not finished(tmp_path, configured(*SMOKE))


def test_where_the_data_lie_does_not_matter_but_pretrained_weights_do(configured, tmp_path):
    lenet, weights = ("experiment=lenet_pruning", "budget=smoke"), tmp_path / "weights.pt"
    assert config_hash(configured(*lenet)) == config_hash(configured(*lenet, f"data.dir={tmp_path}"))
    hashes = set()
    for content in (b"one", b"two"):
        weights.write_bytes(content)
        hashes.add(config_hash(configured(*lenet, f"pretrained={weights}")))
    assert len(hashes | {config_hash(configured(*lenet))}) == 3


def test_a_run_that_went_without_a_dataset_is_finished_until_its_file_comes(configured, tmp_path):
    cfg = configured("experiment=uci_pruning", "budget=smoke", f"data.dir={tmp_path}")
    facts = {"config": config_hash(cfg), "code": code_hash(), "left_out": ["protein"]}
    (tmp_path / "run.json").write_text(json.dumps(facts))
    (tmp_path / "rows.csv").touch()
    assert finished(tmp_path, cfg)
    path = tmp_path / DATASETS["protein"].file("protein").paths[0]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    assert not finished(tmp_path, cfg)


def test_a_run_has_a_budget_s_name_only_if_that_gives_its_settings_today(configured):
    cfg = configured("experiment=lenet_pruning", "budget=overnight", "seed=0")
    OmegaConf.resolve(cfg)
    assert budget_of(cfg) == "overnight"
    cfg.budget = "laptop"  # as those sizes were once called
    cfg.vary.network = list(reversed(cfg.vary.network))
    assert budget_of(cfg) == "overnight"
    for override in ("trainer.epochs=7", "prior.pi=0.4", "rivals=[]", "seed=1"):
        assert budget_of(configured("experiment=lenet_pruning", override)) == "laptop, changed", override
    same = configured("experiment=simulated_relevance", "budget=overnight")  # names no sizes of its own there
    assert budget_of(same) == "overnight"


@pytest.mark.parametrize(
    ("changed", "matters"),
    [("training/loop.py", True), ("data/uci.csv", True), ("experiments/images.py", True), ("report/style.py", False),
     ("commands/run.py", False), ("__pycache__/train.cpython-311.pyc", False)],
)  # fmt: skip
def test_code_that_trains_nothing_does_not_matter(tmp_path, monkeypatch, changed, matters):
    monkeypatch.setattr(done, "PACKAGE", tmp_path / "sbnn")
    shutil.copytree(PACKAGE, tmp_path / "sbnn", ignore=shutil.ignore_patterns("__pycache__"))
    before = code_hash.__wrapped__()
    (tmp_path / "sbnn" / changed).parent.mkdir(exist_ok=True)
    with (tmp_path / "sbnn" / changed).open("a") as file:
        file.write("\n# a change\n")
    assert (code_hash.__wrapped__() != before) == matters
