"""The commands as a user types them; in processes of their own where it matters."""

import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pytest

from sbnn import __version__ as sbnn_version
from sbnn.commands import report, reproduce, run

undrawn = pytest.mark.usefixtures("undrawn")
ROOT = Path(__file__).parents[2]
RUN = "from sbnn.commands.run import main; main()"


def command(*arguments, program=RUN):
    return [sys.executable, "-c", program, *arguments, "progress=false", "threads=1"]


def sbnn(folder, *arguments, program=RUN, **environment):
    environment = {**os.environ, **environment}
    return subprocess.run(
        command(*arguments, program=program), cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_unknown_experiment_is_one_sentence(called):
    answer = called("experiment=simulated_nonsense")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert (
        "experiment=simulated_nonsense is unknown; choose one of cifar_pruning, lenet_pruning, mnist_pruning"
        in answer.err
    )


def test_what_would_share_a_folder_cannot_be_swept(called, tmp_path):
    answer = called("-m", "experiment=simulated_relevance", "budget=smoke", "device=cpu,auto")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert "device=cpu,auto cannot be swept" in answer.err
    assert not list(tmp_path.iterdir())


def test_bad_value_is_one_sentence_and_leaves_no_file(tmp_path):
    answer = sbnn(tmp_path, "experiment=simulated_relevance", "budget=smoke", "prior.pi=2")
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_divergence_leaves_no_result_file(called, tmp_path):
    hopeless = ("trainer.lr=1e9", "trainer.optimizer=sgd", "trainer.epochs=30", "trainer.schedule=constant")
    answer = called("experiment=simulated_relevance", "budget=smoke", *hopeless)
    assert answer.code == 2
    assert "diverged at step" in answer.err
    assert not list(tmp_path.rglob("*.csv"))


def test_report_without_rows_says_how_to_get_them(called, tmp_path):
    (tmp_path / "results").mkdir()
    answer = called("experiment=simulated_relevance", main=report.main)
    assert answer.code == 2
    assert "train first with sbnn-run experiment=simulated_relevance" in answer.err


@undrawn
def test_killed_and_resumed_gives_the_same_rows(called, tmp_path):
    """kill -9 in the middle of training, resume, compare with a run that was left alone."""
    arguments = ("experiment=simulated_pruning", "budget=smoke", "trainer.epochs=150", "checkpoint_seconds=0.2")
    assert called(*arguments, "results_dir=whole").code == 0
    process = subprocess.Popen(command(*arguments, "results_dir=cut"), cwd=tmp_path)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("cut/.checkpoints/*/*.pt")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert list(tmp_path.glob("cut/.checkpoints/*/*.pt"))
    assert not list(tmp_path.glob("cut/**/rows.csv"))
    refused = called(*arguments, "results_dir=cut", "resume=true", "seed=5")
    assert "another configuration" in refused.err
    assert refused.code == 3
    answer = called(*arguments, "results_dir=cut")  # the same command goes on
    assert answer.code == 0, answer.err
    assert json.loads((tmp_path / "cut" / "simulated_pruning" / "run.json").read_text())["resumed"]
    whole, cut = (tmp_path / x / "simulated_pruning" / "rows.csv" for x in ("whole", "cut"))
    assert whole.read_bytes() == cut.read_bytes()


def test_the_wheel_runs_outside_the_checkout(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    build += ["--wheel-dir", str(tmp_path), str(ROOT)]
    built = subprocess.run(build, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob("sbnn-*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    where = sbnn(elsewhere, program="import sbnn; print(sbnn.__file__)", PYTHONPATH=str(tmp_path / "site"))
    assert str(tmp_path / "site") in where.stdout
    answer = sbnn(elsewhere, "experiment=simulated_relevance", "budget=smoke", PYTHONPATH=str(tmp_path / "site"))
    assert answer.returncode == 0, answer.stderr
    rows = pd.read_csv(elsewhere / "results" / "smoke" / "simulated_relevance" / "rows.csv")
    assert len(rows) == 5 * 2 * 4


@pytest.mark.parametrize("main", [run.main, report.main, reproduce.main], ids=["run", "report", "reproduce"])
def test_help_and_version_are_ours(called, main):
    answer = called("--help", main=main)
    assert answer.code == 0
    assert "simulated_selection" in answer.out
    assert "config.yaml: every key" in answer.out
    assert answer.out.startswith("sbnn-")
    version = called("--version", main=main)
    assert (version.code, version.out) == (0, f"sbnn {sbnn_version}\n")


def test_a_smoke_run_judges_no_claim_and_ends_with_its_page(tmp_path):
    """Within the terminal's width, and with the history of its fit."""
    answer = sbnn(tmp_path, "experiment=simulated_relevance", "budget=smoke", COLUMNS="60")
    assert answer.returncode == 0, answer.stderr
    page = "results/smoke/report.html"
    lines = answer.stdout.splitlines()
    assert lines[-1] == f"Open {page}"
    assert (tmp_path / page).exists()
    assert "no claim is judged" in answer.stdout.replace("\n", " ")
    assert max(map(len, lines[:-1])) <= 60
    folder = tmp_path / "results" / "smoke" / "simulated_relevance"
    assert not (folder / "claims.csv").exists()
    assert set(pd.read_csv(tmp_path / "results" / "smoke" / "claims.csv")["verdict"]) == {"not run"}
    history = pd.read_csv(folder / "history.csv")
    assert list(history) == ["fit", "epoch", "loss", "penalty", "error", "included", "seconds"]
    assert history["epoch"].tolist() == [1, 2, 3]
    assert (folder / "history.svg").exists()


@pytest.mark.skipif(find_spec("tensorboard") is not None, reason="TensorBoard is installed here")
def test_tracking_without_tensorboard_is_a_sentence(called, tmp_path):
    answer = called("experiment=simulated_relevance", "budget=smoke", "tracking=tensorboard")
    assert answer.code != 0
    assert "tracking=tensorboard is not installed; make extra EXTRA=tensorboard does it." in answer.err
    assert "Traceback" not in answer.err
    assert not list(tmp_path.rglob("rows.csv"))


@undrawn
def test_a_run_on_validation_data_has_a_folder_of_its_own(called, tmp_path):
    arguments = ("experiment=uci_pruning", "budget=smoke", "trainer.steps=2", "predictive.samples=1", "rivals=[]")
    answer = called(*arguments, "data.datasets=[wine]", "data.evaluate_on=validation")
    assert answer.code == 0, answer.err
    assert "no claim is judged" in answer.out
    assert [p.parent.name for p in tmp_path.rglob("rows.csv")] == ["uci_pruning_validation"]
    assert not list(tmp_path.rglob(".reproduced.json"))  # reproduce-all has its own of this to do
