"""Sweeps as a user runs them: the table they end with, what they skip, and what a failed job costs."""

import json
import os
import sys
from importlib.util import find_spec

import pandas as pd
import pytest

from sbnn.commands.arguments import EXTRAS
from sbnn.commands.sweep import tabulated
from sbnn.experiments import simulated_relevance
from sbnn.report.sweeps import heat_map

pytestmark = pytest.mark.usefixtures("undrawn")
SMOKE = ("experiment=simulated_relevance", "budget=smoke")


@pytest.fixture
def broken(monkeypatch):
    """broken(seed, error): the job of that seed fails in a way nobody has thought of."""
    trained = simulated_relevance.run

    def breaks(seed, error):
        def run(settings, context):
            if settings.seed == seed:
                raise error
            return trained(settings, context)

        monkeypatch.setattr(simulated_relevance, "run", run)

    return breaks


def table_of(folder, keys):
    name = f"simulated_relevance,budget=smoke,{keys}"
    return pd.read_csv(folder / "results" / "smoke" / "sweeps" / name / "sweep.csv")


def test_a_sweep_ends_with_one_table_of_its_jobs_alone(called, tmp_path):
    assert called("-m", *SMOKE, "seed=0,3").code == 0
    answer = called("-m", *SMOKE, "prior.log_tau0=-3,5", "prior.pi=0.3,0.6")
    assert answer.code == 1
    assert answer.err.count("sbnn: prior.log_tau0=5 (spike) must be below") == 2
    assert not list(tmp_path.rglob("claims.csv"))

    jobs = table_of(tmp_path, "prior.log_tau0,prior.pi")
    assert list(jobs) == ["prior.log_tau0", "prior.pi", "headline", "seconds", "status", "path", "reason"]
    assert list(jobs["status"]) == ["done", "done", "failed", "failed"]
    assert jobs["headline"][0] < jobs["headline"][1]
    assert jobs["headline"].tail(2).isna().all()
    assert jobs["reason"].tail(2).str.startswith("prior.log_tau0=5 (spike) must be below").all()
    sweeps = tmp_path / "results" / "smoke" / "sweeps"
    assert [(sweeps / path / "rows.csv").exists() for path in jobs["path"]] == [True, True, False, False]
    for job in jobs.to_dict("records"):
        assert f"prior.log_tau0={job['prior.log_tau0']},prior.pi={job['prior.pi']}" in job["path"]
    assert (sweeps / "simulated_relevance,budget=smoke,prior.log_tau0,prior.pi" / "sweep.svg").exists()
    assert len(table_of(tmp_path, "seed")) == 2
    assert not list(sweeps.glob(".jobs*"))
    assert f"Best: prior.log_tau0=-3 prior.pi={jobs['prior.pi'][0]} with headline" in answer.out


@pytest.mark.parametrize("data", ["test", "validation"])
def test_a_sweep_says_when_it_ranks_by_test_data(called, data):
    keys = ("budget=smoke", "data.datasets=[boston]", "recipe=tuned", "rivals=[]", f"data.evaluate_on={data}")
    answer = called("-m", "experiment=uci_pruning", *keys, "seed=0,1")
    assert answer.code == 0
    assert ("errors on test data" in answer.out) == (data == "test")


def test_finished_jobs_are_skipped_and_failed_ones_tried_again(called, broken, tmp_path):
    broken(7, RuntimeError("out of memory\nand a page of advice"))
    answer = called("-m", *SMOKE, "seed=7,0")
    assert answer.code == 1
    assert "Traceback" in answer.err
    jobs = table_of(tmp_path, "seed").set_index("seed")
    assert jobs["status"].to_dict() == {0: "done", 7: "failed"}
    assert jobs["reason"][7] == "RuntimeError: out of memory"
    (rows,) = tmp_path.rglob("rows.csv")
    written = rows.stat().st_mtime_ns

    broken(None, None)
    assert called("-m", *SMOKE, "seed=7,0").code == 0
    again = table_of(tmp_path, "seed").set_index("seed")
    assert again["status"].to_dict() == {0: "skipped", 7: "done"}
    assert (again["headline"][0], again["seconds"][0]) == (jobs["headline"][0], jobs["seconds"][0])
    assert rows.stat().st_mtime_ns == written

    assert called("-m", *SMOKE, "seed=7,0", "force=true").code == 0
    assert set(table_of(tmp_path, "seed")["status"]) == {"done"}


def test_a_sweep_of_the_same_keys_adds_to_the_table(called, tmp_path, monkeypatch):
    assert called("-m", *SMOKE, "seed=0,3").code == 0
    assert called("-m", *SMOKE, "seed=3,5").code == 0
    jobs = table_of(tmp_path, "seed")
    assert jobs.set_index("seed")["status"].to_dict() == {0: "earlier", 3: "skipped", 5: "done"}
    assert jobs["headline"].is_monotonic_increasing

    job = tmp_path / "results" / "smoke" / "sweeps" / jobs.set_index("seed")["path"][0] / "run.json"
    job.write_text(json.dumps(json.loads(job.read_text()) | {"config": "of other epochs"}))
    assert called("-m", *SMOKE, "seed=5,6").code == 0
    assert set(table_of(tmp_path, "seed")["seed"]) == {3, 5, 6}
    monkeypatch.setattr("sbnn.runs.identity.code_hash", lambda experiment: "other")
    assert called("-m", *SMOKE, "seed=3,5").code == 0
    assert set(table_of(tmp_path, "seed")["seed"]) == {3, 5}


def test_a_plain_run_is_never_skipped(called, tmp_path):
    for _ in range(2):
        assert "simulated_relevance: config.yaml" in called(*SMOKE).out
    assert not list(tmp_path.rglob("sweep.csv"))


def test_a_sweep_that_is_cut_off_leaves_the_table_of_what_ran(called, broken, tmp_path):
    broken(1, KeyboardInterrupt())
    assert called("-m", *SMOKE, "seed=0,1,2").code == 130
    jobs = table_of(tmp_path, "seed")
    assert list(jobs["status"]) == ["done", "failed"]
    assert jobs["reason"][1] == "It was killed or cut off, or runs on elsewhere."


def test_a_search_survives_a_broken_job_and_skips_finished_ones(called, broken, tmp_path):
    search = ("-m", "hydra/sweeper=binary_search", "hydra.sweeper.rounds=0", *SMOKE, "prior.pi=interval(0.2,0.8)")
    broken(1, ValueError("broken"))
    answer = called(*search, "seed=0,1")
    assert (answer.code, answer.err.count("\nValueError: broken")) == (1, 2)
    assert list(table_of(tmp_path, "prior.pi,seed")["status"]) == ["done", "done", "failed", "failed"]
    assert called(*search, "seed=0,1").code == 1
    assert list(table_of(tmp_path, "prior.pi,seed")["status"]) == ["skipped", "skipped", "failed", "failed"]


def needs(plugin):
    """Skip where the extra that brings hydra_joblib_launcher or the like has not been installed."""
    missing = find_spec("hydra_plugins") is None or find_spec(f"hydra_plugins.hydra_{plugin}") is None
    return pytest.mark.skipif(missing, reason=f"needs the extra sbnn[{plugin.partition('_')[0]}]")


@pytest.mark.parametrize(
    "launcher",
    [
        pytest.param(("joblib", "hydra.launcher.n_jobs=2"), marks=needs("joblib_launcher")),
        pytest.param(("submitit_local",), marks=needs("submitit_launcher")),
        pytest.param(("ray", "+hydra.launcher.ray.init.num_cpus=1"), marks=needs("ray_launcher")),
    ],
    ids=lambda launcher: launcher[0],
)
def test_jobs_in_other_processes(called, tmp_path, monkeypatch, launcher):
    """A search, so that our own sweeper is known there too, and a job that fails."""
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # or ray leaves a token in the home folder
    search = ("hydra/sweeper=binary_search", "hydra.sweeper.rounds=0", *SMOKE, "prior.log_tau0=interval(-2,2)")
    answer = called("-m", f"hydra/launcher={launcher[0]}", *launcher[1:], *search)
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()
    assert answer.code == 1
    jobs = table_of(tmp_path, "prior.log_tau0")
    assert list(jobs["status"]) == ["done", "failed"]
    assert jobs["reason"][1].startswith("prior.log_tau0=2 (spike) must be below")
    assert f"Best: prior.log_tau0=-2 with headline {jobs['headline'][0]:g}." in answer.out


@needs("submitit_launcher")
def test_what_slurm_would_be_given(called, tmp_path, monkeypatch):
    """A dry run: there is no Slurm here, so an sbatch that keeps the script and refuses."""
    (tmp_path / "bin").mkdir()
    for name, body in {"sbatch": f"cp $1 {tmp_path}/script; echo no cluster >&2; exit 1", "srun": "exit 1"}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    resources = ("partition=long", "cpus_per_task=4", "gpus_per_node=1", "timeout_min=90", "array_parallelism=3")
    launcher = ("hydra/launcher=submitit_slurm", *(f"hydra.launcher.{resource}" for resource in resources))
    answer = called("-m", *launcher, *SMOKE, "seed=range(5)")
    assert answer.code == 1
    assert "no cluster" in answer.err
    script = (tmp_path / "script").read_text()
    asked = {"array=0-4%3", "partition=long", "cpus-per-task=4", "gpus-per-node=1", "time=90", "job-name=sbnn"}
    assert {f"#SBATCH --{option}" for option in asked} <= set(script.splitlines())
    assert f"{sys.executable} -u -m submitit.core._submit {tmp_path}/results/smoke/sweeps/.submitit" in script


@needs("optuna_sweeper")
def test_optuna_passes_over_a_failed_trial_and_goes_on_where_it_ended(called, tmp_path):
    search = ("-m", "hydra/sweeper=tpe", *SMOKE, "prior.log_tau0=interval(-3.0,3.0)", "prior.pi=interval(0.1,0.9)")
    assert called(*search, "hydra.sweeper.n_trials=2").code == 0
    first = table_of(tmp_path, "prior.log_tau0,prior.pi")
    assert called(*search, "hydra.sweeper.n_trials=5").code == 1
    jobs = table_of(tmp_path, "prior.log_tau0,prior.pi")
    assert sorted(jobs["status"]) == ["done", "done", "failed", "skipped", "skipped"]
    assert set(first["path"]) == set(jobs[jobs.status == "skipped"]["path"])
    assert jobs["prior.log_tau0"].between(-3, 3).all()
    assert jobs["prior.pi"].between(0.1, 0.9).all()


def test_a_plugin_that_is_not_installed_is_one_sentence(called, monkeypatch):
    monkeypatch.setitem(EXTRAS, "hydra/launcher=joblib", "absent")
    answer = called("-m", "hydra/launcher=joblib", *SMOKE, "seed=0,1")
    assert answer.code == 2
    assert answer.err == "sbnn: hydra/launcher=joblib is not installed; make extra EXTRA=absent does it.\n"


def noted(number, overrides, headline=None, **more):
    found = {"headline": headline, "seconds": 1.0, "status": "failed" if headline is None else "done"}
    return {"number": number, "overrides": overrides, "path": f"job{number}", "reason": ""} | found | more


def test_errors_by_droprate_and_experiments_side_by_side(called, tmp_path):
    answer = called("-m", "experiment=simulated_pruning,simulated_relevance", "budget=smoke")
    assert answer.code == 0
    (path,) = tmp_path.rglob("sweep.csv")
    assert path.parent.name == "experiment,budget=smoke"
    jobs = pd.read_csv(path).set_index("experiment")
    assert jobs.columns[:4].to_list() == ["headline", "error@0", "error@0.5", "error@0.9"]
    assert jobs.loc["simulated_relevance"].isna().to_list()[:4] == [False, True, True, True]
    rows = pd.read_csv(path.parent.parent / jobs["path"]["simulated_pruning"] / "rows.csv")
    own = rows[(rows.method == "sBNN") & (rows.score == "inclusion") & (rows.metric == "test_mse")]
    own = own[own.recipe == "tuned"]
    for droprate in (0, 0.5, 0.9):
        expected = own[own.droprate == droprate]["value"].mean()
        assert jobs[f"error@{droprate}"]["simulated_pruning"] == pytest.approx(expected, rel=1e-5)
    assert "Best:" not in answer.out


@pytest.mark.parametrize(
    ("jobs", "drawn"),
    [
        ([("1", "a", 0.1), ("1", "b", 0.2), ("2", "a", 0.3), ("2", "b", None)], True),
        ([("1", "a", 0.1), ("2", "b", 0.2), ("3", "c", 0.3)], False),  # points here and there, as optuna's
        ([("1", "a", 0.1), ("2", "a", 0.2)], False),  # one key
        ([("1", "a", None), ("1", "b", None), ("2", "a", None), ("2", "b", None)], False),
    ],
)  # fmt: skip
def test_heat_map_of_a_grid_of_two_keys(jobs, drawn):
    keys, table = tabulated([noted(i, {"x": x, "y": y, "z": "0"}, value) for i, (x, y, value) in enumerate(jobs)])
    figure = heat_map(table, keys, "title")
    assert (figure is not None) == drawn
    if drawn:
        axes = figure.axes[0]
        assert (axes.get_ylabel(), axes.get_xlabel()) == ("x", "y")
        assert [text.get_text() for text in axes.texts] == ["0.1", "0.2", "0.3", "failed"]
        assert [patch.get_hatch() for patch in axes.patches] == ["///"]
