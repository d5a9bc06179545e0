"""Finished results on images, extended: what is done is not trained a second time."""

import importlib.util
import json
from pathlib import Path

import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.experiments.images import Job

pytestmark = pytest.mark.usefixtures("undrawn")
NAME = "lenet_pruning"
KEYS = (
    f"experiment={NAME}", "budget=smoke", "recipe=gradual", "rivals=[GMP]", "vary.network=[lenet_300_100]",
    "trainer.epochs=1", "data.train_images=500", "data.test_images=50",
)  # fmt: skip


@pytest.fixture(scope="module")
def extend_results():
    path = Path(__file__).parents[1] / "scripts" / "extend_results.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def finished(configured, tmp_path, has_images):
    has_images("mnist")
    execute(configured(*KEYS), tmp_path / "results" / NAME)
    return tmp_path / "results"


def test_only_what_is_new_is_trained(extend_results, configured, finished, tmp_path, monkeypatch):
    again, trained, train = tmp_path / "again", [], Job.train
    extend_results.main([NAME, "--results", str(finished), "--into", str(again)])

    def noted(job, *arguments):
        trained.append(job.label)
        return train(job, *arguments)

    monkeypatch.setattr(Job, "train", noted)
    execute(configured(*KEYS, "keep_checkpoints=true"), again / NAME)
    assert trained == []
    for file in ("rows.csv", "history.csv"):
        assert (again / NAME / file).read_text() == (finished / NAME / file).read_text()
    before, now = (json.loads((folder / NAME / "run.json").read_text()) for folder in (finished, again))
    assert now["resumed"]
    assert now["fit_seconds"] == before["fit_seconds"]

    execute(configured(*KEYS, "data.seeds=2"), again / NAME)
    assert len(trained) == 2
    assert all(label.endswith("seed 1") for label in trained)
    rows = pd.read_csv(again / NAME / "rows.csv")
    pd.testing.assert_frame_equal(
        rows[rows.replicate == 0].reset_index(drop=True), pd.read_csv(finished / NAME / "rows.csv")
    )


def test_results_of_other_code_are_refused(extend_results, finished, tmp_path):
    facts = finished / NAME / "run.json"
    facts.write_text(json.dumps(json.loads(facts.read_text()) | {"code": "older"}))
    with pytest.raises(SystemExit, match="made by other code"):
        extend_results.main([NAME, "--results", str(finished), "--into", str(tmp_path / "again")])
    assert not (tmp_path / "again").exists()


def test_results_that_are_not_on_images_are_refused(extend_results, configured, tmp_path):
    name = "simulated_relevance"
    execute(configured(f"experiment={name}", "budget=smoke"), tmp_path / name)
    with pytest.raises(SystemExit, match="not on images"):
        extend_results.main([name, "--results", str(tmp_path), "--into", str(tmp_path / "again")])


def test_rows_of_no_network_are_noticed(extend_results, finished, tmp_path):
    path = finished / NAME / "rows.csv"
    rows = pd.read_csv(path)
    pd.concat([rows, rows.iloc[:1].assign(recipe="mine")]).to_csv(path, index=False)
    with pytest.raises(SystemExit, match="1 rows belong to none"):
        extend_results.main([NAME, "--results", str(finished), "--into", str(tmp_path / "again")])
