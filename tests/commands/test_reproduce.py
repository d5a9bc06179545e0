"""make reproduce-all: skips what is done, goes on after a failure, and ends in a summary and the page."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from sbnn.commands import reproduce
from sbnn.commands.attempts import Attempts
from sbnn.commands.display import Display
from sbnn.commands.run import execute
from sbnn.runs import composition
from sbnn.runs.composition import CONF, composed


@pytest.fixture
def two_experiments(tmp_path, monkeypatch):
    """The two fastest of the nine, from a folder of their own, and a way to run them."""
    conf = tmp_path / "conf"
    shutil.copytree(CONF, conf, ignore=lambda folder, names: [n for n in names if n.endswith("_pruning.yaml")])
    (conf / "experiment" / "simulated_selection.yaml").unlink()
    monkeypatch.setattr(composition, "CONF", conf)

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
    assert all(Attempts(results).finished(task.settings) for task in tasks)
    (results / ".reproduced.json").unlink()  # as in a fresh clone, whose results are somebody else's
    assert not any(Attempts(results).finished(task.settings) for task in tasks)
    _, forced = reproduce.plan(["budget=smoke", f"results_dir={results}", "force=true"])
    assert not any(Attempts(results).finished(task.settings) for task in forced)


def test_what_was_cut_off_is_resumed_if_nothing_changed(two_experiments, tmp_path):
    fixed = ["budget=smoke", f"results_dir={tmp_path}"]
    attempts, (_, [task, _]) = Attempts(tmp_path), reproduce.plan(fixed)
    assert not attempts.was_cut_off(task.settings)
    for status in ("running", reproduce.FAILED):
        attempts.note(task.settings, status)
        assert attempts.was_cut_off(task.settings)
    _, [other, _] = reproduce.plan([*fixed, "seed=1"])
    assert not attempts.was_cut_off(other.settings)
    _, [forced, _] = reproduce.plan([*fixed, "force=true"])
    assert not attempts.was_cut_off(forced.settings)


def test_checkpoints_that_are_of_no_use_cost_nothing(two_experiments, tmp_path):
    results = tmp_path / "results"
    fixed = ["budget=smoke", f"results_dir={results}", "keep_checkpoints=true"]
    _, [task, _] = reproduce.plan(fixed)
    execute(composed(f"experiment={task.name}", *fixed), results / task.name)
    for path in (results / ".checkpoints" / task.name).glob("*.pt"):
        path.write_bytes(b"of another configuration, or half of one")
    Attempts(results).note(task.settings, "running")
    assert two_experiments()
    assert "a fit starts again: The checkpoint" in task.log.read_text()


def test_what_sbnn_run_has_finished_is_skipped_too(two_experiments, tmp_path):
    results = tmp_path / "results"
    fixed = ["budget=smoke", f"results_dir={results}"]
    _, [task, other] = reproduce.plan(fixed)
    execute(composed(f"experiment={task.name}", *fixed), results / task.name)
    assert Attempts(results).finished(task.settings)
    assert not Attempts(results).finished(other.settings)
    (results / task.name / "rows.csv").unlink()
    assert not Attempts(results).finished(task.settings)


@pytest.mark.parametrize(
    ("log", "code", "reason"),
    [
        ("sbnn: year cannot be had\nTraceback (most recent call last):\nIndexError: 3\n", 1, "IndexError: 3"),
        ("40%|###  | 4/10\rsbnn: Training diverged at step 5.\n\n", 2, "Training diverged at step 5."),
        ("40%|###  | 4/10", -9, "killed by SIGKILL, as when memory runs out"),
    ],
)
def test_the_reason_of_a_failure_is_the_last_one_given(tmp_path, log, code, reason):
    (tmp_path / "log").write_text(log)
    assert reproduce.Task("name", None, [], tmp_path / "log", exit_code=code).reason() == reason


def shown(status, expected, seconds=0.0):
    return SimpleNamespace(status=status, expected=expected, seconds=seconds, began=time.monotonic(), resumed=False)


@pytest.mark.parametrize(
    ("tasks", "left"),
    [
        ([shown("running", 10), shown("waiting", 30)], ", about 30 min left"),
        ([shown("done", 10, 1200), shown("running", 10), shown("waiting", 10)], ", about 20 min left"),  # half as fast
        ([shown("running", None), shown("waiting", None)], ""),
        ([shown("done", None, 3600), shown("running", None), shown("waiting", None)], ", about 60 min left"),
        ([shown("running", 1e-9)], ", longer than expected"),
    ],
)
def test_time_left(tasks, left):
    assert Display(tasks, jobs=2).left() == left


def test_a_failure_is_reported_and_the_others_go_on(two_experiments, tmp_path, capsys):
    hopeless = ["trainer.lr=1e30", "trainer.optimizer=sgd"]
    assert not two_experiments("likelihood.learned=false", *hopeless)
    said = capsys.readouterr().out
    assert said.count("failed") == 2
    assert "Training diverged at step" in said
    assert "not run" in said


def test_stopped_from_outside_it_leaves_nothing_running(tmp_path):
    results = tmp_path / "results"
    arguments = ["budget=smoke", f"results_dir={results}", "jobs=1"]
    code = "from sbnn.commands.reproduce import main; main()"
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
def test_bad_input_stops_it_before_anything_runs(tmp_path, monkeypatch, capsys, override, sentence):
    monkeypatch.setattr("sys.argv", ["sbnn-reproduce", f"results_dir={tmp_path}", override])
    with pytest.raises(SystemExit, match="2"):
        reproduce.main()
    assert sentence in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
