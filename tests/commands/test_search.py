"""Binary search for a setting: where it looks, what it launches, what it says."""

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hydra import initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.types import RunMode

from sbnn.commands.search import BinarySearch
from sbnn.runs.composition import CONF

SEARCH = ("-m", "hydra/sweeper=binary_search", "experiment=simulated_relevance", "budget=smoke")


class FakeLauncher:
    """Answers with a function of the overrides instead of training."""

    def __init__(self, headline):
        self.headline = headline
        self.batches, self.first, self.jobs = [], [], []

    def launch(self, job_overrides, initial_job_idx):
        self.batches.append(job_overrides)
        self.first.append(initial_job_idx)
        for job in (dict(override.split("=", 1) for override in job) for job in job_overrides):
            self.jobs.append(job | {"headline": self.headline(job)})
        return [SimpleNamespace(return_value=job["headline"]) for job in self.jobs[self.first[-1] :]]


@pytest.fixture
def search(tmp_path):
    """Search as the command line would, with a headline number by overrides; return the launcher and its jobs."""

    def run(headline, *arguments, rounds=4, experiment="simulated_relevance"):
        arguments = [f"experiment={experiment}", f"results_dir={tmp_path}", *arguments]
        with initialize_config_dir(str(CONF), version_base="1.3"):
            loader = GlobalHydra.instance().config_loader()
            sweeper = BinarySearch(rounds)
            sweeper.hydra_context = SimpleNamespace(config_loader=loader)
            sweeper.config = loader.load_configuration("config", arguments, RunMode.MULTIRUN)
            sweeper.launcher = FakeLauncher(headline)
            sweeper.sweep(arguments)
        jobs = pd.DataFrame(sweeper.launcher.jobs)
        return sweeper.launcher, jobs.assign(**{"prior.pi": jobs.get("prior.pi", pd.Series()).astype(float)})

    return run


def valley(job, lowest, key="prior.pi"):
    return abs(float(job[key]) - lowest)


@pytest.mark.parametrize("lowest", [0.0, 0.13, 0.25, 0.4999, 0.7, 1.0])
@pytest.mark.parametrize("rounds", [0, 1, 3, 6])
def test_finds_the_lowest_point_of_a_valley(search, lowest, rounds):
    launcher, jobs = search(lambda job: valley(job, lowest), "prior.pi=interval(0,1)", rounds=rounds)
    best = jobs.loc[jobs["headline"].idxmin(), "prior.pi"]
    assert abs(best - lowest) <= 1 / 2**rounds
    assert [len(batch) for batch in launcher.batches] == [2] + [1] * rounds
    assert len(jobs) == 2 + rounds


def test_every_point_of_the_grid_has_a_search_of_its_own(search):
    lowest = {("0.1", "1"): 0.3, ("0.1", "2"): 0.9, ("0.05", "1"): 0.6, ("0.05", "2"): 0.05}

    def headline(job):
        return valley(job, lowest[job["trainer.lr"], job["seed"]]) + float(job["trainer.lr"])

    launcher, jobs = search(headline, "trainer.lr=0.1,0.05,0.1", "prior.pi=interval(0,1)", "seed=range(1,3)", rounds=5)
    assert [len(batch) for batch in launcher.batches] == [8, 4, 4, 4, 4, 4]
    assert launcher.first == [0, 8, 12, 16, 20, 24]
    assert not jobs.duplicated(["trainer.lr", "seed", "prior.pi"]).any()
    best = jobs.loc[jobs.groupby(["trainer.lr", "seed"])["headline"].idxmin()]
    for lr, seed, pi in zip(best["trainer.lr"], best["seed"], best["prior.pi"], strict=True):
        assert abs(pi - lowest[lr, seed]) <= 1 / 2**5


def test_a_failed_run_is_worse_than_any_other(search):
    def headline(job):
        return math.inf if float(job["prior.pi"]) < 0.5 else valley(job, 0.6) + 10

    _, jobs = search(headline, "prior.pi=interval(0,1)", rounds=6)
    assert np.isinf(jobs["headline"]).sum() == 1
    assert abs(jobs.loc[jobs["headline"].idxmin(), "prior.pi"] - 0.6) <= 1 / 2**6


def test_values_have_six_digits_and_no_value_runs_twice(search):
    launcher, jobs = search(lambda job: valley(job, 0.1), "prior.pi=interval(0.1,0.1000019)", rounds=9)
    typed = [override for batch in launcher.batches for job in batch for override in job if "prior.pi" in override]
    assert typed == ["prior.pi=0.1", "prior.pi=0.100002", "prior.pi=0.100001"]
    assert len(jobs) == 3


@pytest.mark.parametrize(
    ("experiment", "arguments", "measured_on"),
    [
        ("uci_pruning", [], "validation"),
        ("uci_pruning", ["data.evaluate_on=test"], "test"),
        ("mnist_pruning", [], "validation"),
        ("mnist_pruning", ["data.protocol=paper"], "test"),
        ("mnist_pruning", ["data.protocol=paper", "data.evaluate_on=validation"], "validation"),
        ("simulated_pruning", [], None),
    ],
)
def test_settings_are_ranked_on_validation_data_unless_told(search, capsys, experiment, arguments, measured_on):
    arguments = ["prior.pi=interval(0.1,0.9)", *arguments]
    launcher, _ = search(lambda job: valley(job, 0.3), *arguments, experiment=experiment, rounds=1)
    overrides = [override for batch in launcher.batches for job in batch for override in job]
    expected = [] if measured_on is None else [f"data.evaluate_on={measured_on}"] * 3
    assert [override for override in overrides if "evaluate_on" in override] == expected
    assert ("ranked on test data" in capsys.readouterr().out) == (arguments[1:] == ["data.protocol=paper"])


def test_the_papers_search(search):
    """Experiment 6: c in [0, 3] for three learning rates and three pi."""
    launcher, _ = search(
        lambda job: valley(job, 0.4, "recipes.paper.prior.c"), "recipe=paper", "vary.width=[1200]", "rivals=[]",
        "recipes.paper.prior.c=interval(0,3)", "trainer.lr=0.05,0.01,0.005", "recipes.paper.prior.pi=0.25,0.5,0.75",
        experiment="mnist_pruning", rounds=2,
    )  # fmt: skip
    assert [len(batch) for batch in launcher.batches] == [18, 9, 9]
    assert {"vary.width=[1200]", "rivals=[]", "trainer.lr=0.05"} < set(launcher.batches[0][0])
    assert [job[-1] for job in launcher.batches[2]] == ["recipes.paper.prior.c=0.75"] * 9


@pytest.mark.parametrize(
    ("arguments", "rounds", "sentence"),
    [
        (["trainer.lr=0.1,0.2"], 1, "No override is an interval to search"),
        (["prior.pi=interval(0,1)", "trainer.lr=interval(0,1)"], 1, "interval(0,1) are more than one interval"),
        (["prior.pi=interval(1,0)"], 1, "prior.pi=interval(1,0) must be an interval of two numbers, the lower first"),
        (["prior.pi=interval(1,1)"], 1, "the lower first"),
        (["prior.pi=interval(0,inf)"], 1, "prior.pi=interval(0,inf) must be an interval of two numbers"),
        (["prior.pi=interval(0,1)"], 1.5, "hydra.sweeper.rounds=1.5 must be a whole number in [0, inf)"),
        (["prior.pi=interval(0,1)"], -1, "hydra.sweeper.rounds=-1 must be a whole number in [0, inf)"),
        (["prior.pi=interval(0,1)"], "many", "hydra.sweeper.rounds=many must be a whole number in [0, inf)"),
        (["prior.pi=interval(0,1)"], None, "hydra.sweeper.rounds=None must be a whole number in [0, inf)"),
    ],
)  # fmt: skip
def test_bad_input_is_one_sentence(search, capsys, arguments, rounds, sentence):
    with pytest.raises(SystemExit) as stopped:
        search(lambda job: pytest.fail("launched"), *arguments, rounds=rounds)
    error = capsys.readouterr().err
    assert (stopped.value.code, error.count("\n")) == (2, 1)
    assert error.startswith("sbnn: ")
    assert error.endswith(".\n")
    assert sentence in error


@pytest.mark.usefixtures("undrawn")
def test_search_from_the_command_line(called, tmp_path):
    answer = called(*SEARCH, "prior.log_tau0=interval(-3,2)", "hydra.sweeper.rounds=1", "seed=0,1")
    assert answer.code == 1, answer.err
    assert answer.err.count("prior.log_tau0=2 (spike) must be below") == 2
    assert "\nBest: seed=" in answer.out
    (table,) = tmp_path.glob("results/smoke/sweeps/simulated_relevance,budget=smoke,prior.log_tau0,seed/sweep.csv")
    jobs = pd.read_csv(table).sort_values(["seed", "prior.log_tau0"])
    assert list(jobs["prior.log_tau0"]) == [-3, -0.5, 2] * 2
    assert list(jobs["headline"].isna()) == [False, False, True] * 2
    assert len(list(tmp_path.rglob("rows.csv"))) == 4


def test_bad_search_from_the_command_line_is_one_sentence(called, tmp_path):
    answer = called(*SEARCH, "prior.log_tau0=interval(-1,-3)")
    assert (answer.code, answer.err.count("\n")) == (2, 1)
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
