"""make reproduce-all: skips what is done, goes on after a failure, and ends in a summary and the page."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sbnn import config, reproduce
from sbnn.config import CONF


@pytest.fixture
def two_experiments(tmp_path, monkeypatch):
    """The two fastest of the nine, from a folder of their own, and a way to run them."""
    conf = tmp_path / "conf"
    shutil.copytree(CONF, conf, ignore=lambda folder, names: [n for n in names if n.endswith("_pruning.yaml")])
    (conf / "experiment" / "simulated_selection.yaml").unlink()
    monkeypatch.setattr(config, "CONF", conf)
    monkeypatch.setattr(reproduce, "CONF", conf)

    def run(*overrides: str) -> bool:
        fixed = ["budget=smoke", f"results_dir={tmp_path / 'results'}", "progress=false"]
        return reproduce.reproduce([*fixed, *overrides], jobs=2)

    return run


def test_all_are_run_once(two_experiments, tmp_path, capsys):
    assert two_experiments()
    results = tmp_path / "results"
    said = capsys.readouterr()
    assert said.out.count("done") == 2
    assert "0 of 2 experiments over" in said.err
    assert "left" in said.err
    for name in ("simulated_relevance", "simulated_correlation"):
        assert (results / name / "rows.csv").exists()
    assert (results / "report.html").exists()
    assert json.loads((results / "simulated_relevance" / "run.json").read_text())["command"] == (
        "sbnn-run experiment=simulated_relevance budget=smoke"
    )

    assert two_experiments()
    assert capsys.readouterr().out.count("skipped") == 2

    _, tasks = reproduce.plan(["budget=smoke", f"results_dir={results}"])
    assert all(reproduce.Memory.of(results).finished(task, results) for task in tasks)
    (results / ".reproduced.json").unlink()  # as in a fresh clone, whose results are somebody else's
    assert not any(reproduce.Memory.of(results).finished(task, results) for task in tasks)
    _, forced = reproduce.plan(["budget=smoke", f"results_dir={results}", "force=true"])
    assert not any(reproduce.Memory.of(results).finished(task, results) for task in forced)


def test_what_was_cut_off_is_resumed_if_nothing_changed(two_experiments, tmp_path):
    fixed = ["budget=smoke", f"results_dir={tmp_path}"]
    memory, (_, [task, _]) = reproduce.Memory.of(tmp_path), reproduce.plan(fixed)
    assert not memory.was_cut_off(task)
    task.status = "running"
    memory.note(task)
    assert reproduce.Memory.of(tmp_path).was_cut_off(task)
    task.status = reproduce.FAILED
    memory.note(task)
    assert memory.was_cut_off(task)
    _, [other, _] = reproduce.plan([*fixed, "seed=1"])
    assert not memory.was_cut_off(other)


def test_a_failure_is_reported_and_the_others_go_on(two_experiments, tmp_path, capsys):
    hopeless = ["trainer.lr=1e30", "trainer.optimizer=sgd"]
    assert not two_experiments("vary.function=[linear]", "likelihood.learned=false", *hopeless)
    said = capsys.readouterr().out
    assert said.count("failed") == 2
    assert "Training diverged at step" in said
    assert "not run" in said


def test_stopped_from_outside_it_leaves_nothing_running(tmp_path):
    results = tmp_path / "results"
    arguments = ["budget=smoke", f"results_dir={results}", "jobs=1"]
    code = "from sbnn.reproduce import main; main()"
    parent = subprocess.Popen([sys.executable, "-c", code, *arguments], stderr=subprocess.PIPE, text=True)
    assert "begins" in parent.stderr.readline()
    (child,) = Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()
    parent.terminate()
    assert parent.wait(60) == 1
    assert "stopped" in parent.stderr.read()
    assert not Path(f"/proc/{child}").exists()
    assert "running" in (results / ".reproduced.json").read_text()  # to be resumed


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("prior.pi=2", "prior.pi=2 must be"),
        ("jobs=0", "jobs=0 must be"),
        ("a.b=1", "a.b=1"),
        ("experiment=x", "this runs all"),
    ],
)
def test_bad_input_stops_it_before_anything_runs(tmp_path, monkeypatch, override, sentence):
    monkeypatch.setattr("sys.argv", ["sbnn-reproduce", f"results_dir={tmp_path}", override])
    with pytest.raises(SystemExit, match=rf"sbnn: .*{sentence}"):
        reproduce.main()
    assert not list(tmp_path.iterdir())
