"""Nothing of the user's is lost, and whatever is typed, killed or broken ends in one sentence."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
import torch
from test_run import command

from sbnn.commands import report
from sbnn.commands.run import as_sentence, execute
from sbnn.errors import SbnnError
from sbnn.report import folders
from sbnn.report.publish import republish_all

undrawn = pytest.mark.usefixtures("undrawn")
SMOKE = ("experiment=simulated_relevance", "budget=smoke")
PRUNING = ("experiment=simulated_pruning", "budget=smoke", "checkpoint_seconds=0.2", "trainer.compile=never")
LONG = (*PRUNING, "trainer.epochs=100000")


def said(answer, sentence, code=2):
    """The command ended with that one sentence and exit code."""
    assert answer.code == code, answer.err
    assert answer.err.count("\n") == 1, answer.err
    assert sentence in answer.err
    return True


def contents(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("place", [".", "mine", "mine/deep/.."])
def test_a_folder_of_the_users_is_never_replaced(called, tmp_path, place):
    (tmp_path / "mine" / "deep").mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "mine" / "notes.txt").write_text("mine too")
    before = contents(tmp_path)
    answer = called(*SMOKE, f"hydra.run.dir={place}")
    assert answer.code == 2, answer.err
    assert "current folder" in answer.err or "may be yours" in answer.err
    assert {name: text for name, text in contents(tmp_path).items() if not name.endswith(".lock")} == before


def test_notes_among_results_are_kept_even_if_they_are_called_like_ours(smoke_run, configured, tmp_path):
    folder = smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    (folder / "notes.txt").write_text("mine")
    (folder / "drafts").mkdir()
    (folder / "drafts" / "a.txt").write_text("mine too")
    facts = json.loads((folder / "run.json").read_text())
    assert "relevance.csv" in facts["files"]
    facts["files"].remove("relevance.csv")  # as if the user had made it
    (folder / "run.json").write_text(json.dumps(facts))
    (folder / "relevance.csv").write_text("my own table")
    execute(configured(*SMOKE), folder)
    assert (folder / "notes.txt").read_text() == "mine"
    assert (folder / "drafts" / "a.txt").read_text() == "mine too"
    assert (folder / "relevance.csv.yours").read_text() == "my own table"
    assert len(pd.read_csv(folder / "relevance.csv")) == 5


def test_the_users_files_survive_a_kill_between_two_renames(smoke_run, tmp_path):
    folder = smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    (folder / "notes.txt").write_text("mine")
    rows = (folder / "rows.csv").read_bytes()
    shutil.copytree(folder, folders.set_aside(folder))  # killed after the new one was put in its place
    (folder / "notes.txt").unlink()
    folders.put_back(folder)
    assert (folder / "notes.txt").read_text() == "mine"
    folder.rename(folders.set_aside(folder))  # killed before that
    folder.mkdir()
    (folder / "new.txt").write_text("written since")
    folders.put_back(folder)
    assert (folder / "rows.csv").read_bytes() == rows
    assert {"notes.txt", "new.txt", "run.json"} <= set(os.listdir(folder))
    assert not folders.set_aside(folder).exists()


def test_a_report_writes_over_nothing_that_is_not_its_own(called, tmp_path):
    assert said(called("results_dir=nowhere", main=report.main), "results_dir=nowhere does not exist")
    for name in ("README.md", "claims.csv", "report.html"):
        (tmp_path / name).write_text("my own")
        answer = called("results_dir=.", main=report.main)
        assert said(answer, f"{name} was not written by sbnn; give results_dir a folder of its own.")
        assert os.listdir(tmp_path) == [name]
        (tmp_path / name).unlink()


def test_a_run_refuses_such_a_folder_before_training(configured, tmp_path):
    (tmp_path / "README.md").write_text("my own")
    with pytest.raises(SbnnError, match=r"README\.md was not written by sbnn"):
        execute(configured(*SMOKE), tmp_path / "simulated_relevance")
    assert (tmp_path / "README.md").read_text() == "my own"


def started(folder, *arguments):
    """A long run, once it has saved a checkpoint."""
    process = subprocess.Popen(command(*arguments), cwd=folder, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while not list(folder.rglob("*.pt")) and time.monotonic() < deadline:
        time.sleep(0.02)
    return process


@undrawn
def test_two_runs_of_one_experiment_do_not_meet(called, tmp_path):
    first = started(tmp_path, *LONG)
    try:
        answer = called(*LONG)
        assert said(answer, f"is being written by process {first.pid} on ")
    finally:
        first.kill()
        first.wait()
    assert called(*LONG[:2]).code == 0  # the lock goes with its process


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_stopped_from_outside_it_says_what_is_kept(tmp_path, number, code):
    process = started(tmp_path, *LONG)
    process.send_signal(number)
    error = process.communicate(timeout=300)[1]
    assert (process.returncode, error) == (
        code,
        "sbnn: Stopped. Checkpoints are kept, and the same command goes on from them.\n",
    )
    assert list(tmp_path.rglob("*.pt"))
    assert not list(tmp_path.rglob("rows.csv"))


def test_a_sweep_that_is_stopped_still_has_its_table(tmp_path):
    sweep = command("-m", *PRUNING, "trainer.epochs=3,100000")
    process = subprocess.Popen(sweep, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 300
    while len(list(tmp_path.rglob(".simulated_pruning*.lock"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.terminate()
    assert process.wait(300) == 143
    (table,) = tmp_path.rglob("sweep.csv")
    assert list(pd.read_csv(table)["status"]) == ["done", "failed"]


@pytest.mark.parametrize(
    ("prepare", "argument", "sentence"),
    [
        (lambda p: p.write_text("a file"), "results_dir=place", "place is a file, or a link to nothing"),
        (lambda p: p.symlink_to("nowhere"), "results_dir=place", "place is a file, or a link to nothing"),
        (lambda p: p.write_text("a file"), "results_dir=place/below", "place is a file"),
        (lambda p: p.write_text("a file"), "hydra.run.dir=place", "place is a file"),
    ],
)
def test_places_that_cannot_be_written_to(called, tmp_path, prepare, argument, sentence):
    prepare(tmp_path / "place")
    assert said(called(*SMOKE, argument), sentence)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_only_be_read(called, tmp_path):
    (tmp_path / "place").mkdir(mode=0o500)
    assert said(called(*SMOKE, "results_dir=place/results"), "may not be written to")


def test_a_sweep_whose_folders_would_have_too_long_names(called):
    shares = ",".join(str(round(k / 100, 2)) for k in range(100))
    answer = called("-m", "experiment=simulated_pruning", "budget=smoke", f"vary.active_share=[{shares}]", "seed=0,1")
    assert said(answer, "more than 255; add 'hydra.sweep.subdir=${hydra.job.num}'.")


def test_a_full_disk_is_a_sentence_and_space_a_cure(called, tmp_path):
    """On a file system of its own, where this user may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=60k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        answer = called(*SMOKE, "results_dir=disk/results")
        assert said(answer, "No space left on device; checkpoints are kept, and the same command goes on from them.")
        assert not list(disk.rglob("rows.csv"))
        subprocess.run(["mount", "-o", "remount,size=10m", disk], check=True)
        assert called(*SMOKE, "results_dir=disk/results").code == 0
        assert list(disk.rglob("rows.csv"))
    finally:
        subprocess.run(["umount", disk], check=False)


def test_out_of_memory_is_a_sentence():
    for problem in (
        MemoryError(),
        torch.OutOfMemoryError("CUDA"),
        RuntimeError("DefaultCPUAllocator: can't allocate memory"),
    ):
        assert "There is not enough memory" in str(as_sentence(problem))
    assert as_sentence(ValueError("a bug")) is None


@pytest.mark.parametrize(
    "damage", ["half a run.json", "no config.yaml", "garbage in rows.csv", "garbage in claims.csv"]
)
def test_one_damaged_folder_costs_no_other_experiment(smoke_run, configured, tmp_path, damage):
    smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    broken = smoke_run("simulated_correlation", tmp_path / "simulated_correlation")
    if damage == "half a run.json":
        (broken / "run.json").write_text((broken / "run.json").read_text()[:100])
    elif damage == "no config.yaml":
        (broken / "config.yaml").unlink()
    else:
        (broken / damage.split()[-1]).write_bytes(b"\x00\xff garbage,,,\n1,2\n")
    before = contents(broken)
    execute(configured(*SMOKE), tmp_path / "simulated_relevance")
    page = (tmp_path / "README.md").read_text()
    assert ("The results in `simulated_correlation` cannot be read" in page) == (damage != "garbage in claims.csv")
    assert "relevance.svg" in page
    assert contents(broken) == before
    republish_all(tmp_path)
    assert (tmp_path / "simulated_relevance" / "relevance.svg").exists()


@undrawn
def test_garbage_where_the_suite_keeps_its_notes_is_a_fresh_start(called, tmp_path):
    sweep = ("-m", *SMOKE, "seed=0,1")
    assert called(*sweep).code == 0
    (table,) = tmp_path.rglob("sweep.csv")
    table.write_bytes(b"\x00garbage\n1,2,3\n")
    job = next(p for p in tmp_path.rglob("run.json"))
    job.write_text("{half")
    answer = called(*sweep)
    assert answer.code in (0, 1), answer.err
    assert "Traceback" not in answer.err
    assert len(pd.read_csv(table)) == 2


def test_a_link_in_foreign_results_carries_no_script(smoke_run, tmp_path):
    folder = smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    facts = json.loads((folder / "run.json").read_text())
    facts["commit"] = (
        '[y](" onmouseover="alert(1)) [z](javascript:alert(2)) <script>alert(3)</script> [good](https://a.org)'
    )
    (folder / "run.json").write_text(json.dumps(facts))
    republish_all(tmp_path)
    html = (tmp_path / "report.html").read_text()
    assert "<script>alert" not in html
    assert 'onmouseover="' not in html
    assert 'href="javascript' not in html


def test_a_foreign_configuration_is_neither_resolved_nor_unfolded(smoke_run, tmp_path, monkeypatch):
    monkeypatch.setenv("SECRET", "swordfish")
    folder = smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    config = (folder / "config.yaml").read_text()
    (folder / "config.yaml").write_text(config.replace("budget: smoke", "budget: ${oc.env:SECRET}"))
    republish_all(tmp_path)
    assert not any(
        "swordfish" in p.read_text(errors="ignore") for p in tmp_path.rglob("*") if p.suffix in (".md", ".html")
    )
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + k)}: &{chr(98 + k)} [*{chr(97 + k)}, *{chr(97 + k)}]\n" for k in range(24)
    )
    (folder / "config.yaml").write_text(config + bomb)
    began = time.monotonic()
    republish_all(tmp_path)
    assert time.monotonic() - began < 20
    assert "cannot be read" in (tmp_path / "README.md").read_text()


def test_a_few_kills_at_random_moments(tmp_path):
    """make chaos does a hundred of them, of every kind."""
    script = Path(__file__).parents[2] / "scripts" / "chaos.py"
    options = ["--trials", "4", "--kinds", "simulated"]
    answer = subprocess.run([sys.executable, script, *options], capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert "4 of 4 survived" in answer.stdout


@undrawn
def test_leftovers_of_killed_runs_are_swept(configured, tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    old, young, living = (tmp_path / f".other.csv.{n}.tmp" for n in (gone.pid, 999_999_999, os.getpid()))
    for path in (old, young, living):
        path.write_text("half")
    for path in (old, living):
        os.utime(path, (0, 0))
    execute(configured(*SMOKE), tmp_path / "simulated_relevance")
    assert [path.exists() for path in (old, young, living)] == [False, True, True]
