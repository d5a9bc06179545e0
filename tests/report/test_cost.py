"""What runs cost: what was recorded, and what the paper's sizes would take."""

import json
import math
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from sbnn.experiments.recipes import recipes as trained
from sbnn.networks import lenet_5, lenet_300_100, vgg_like
from sbnn.report import cost
from sbnn.report.cells import written
from sbnn.report.claims import scoreboard
from sbnn.report.page.blocks import Complaint, Table
from sbnn.report.page.words import WORDS
from sbnn.report.page.write import check_page, write_page
from sbnn.report.results import Results
from sbnn.report.workload import KINDS, forward_flops, recipes, workload
from sbnn.runs.composition import default_settings, read_settings

RESULTS = Path(__file__).parents[2] / "results"
RECORDED = [name for name in KINDS for path in RESULTS.glob(f"{name}/run.json") if "fit_seconds" in path.read_text()]
FACTS = {
    "experiment": "simulated_relevance", "budget": "laptop", "seconds": 720.4, "training_seconds": 360.2,
    "fit_seconds": {"sBNN-0": 300.0, "sBNN-1": 60.2}, "resumed": False, "threads": 2, "processes": 1,
    "device": "cpu (x86_64)", "machine": {"cpu": "Abacus", "cores": 4, "gpu": None},
}  # fmt: skip
HISTORY = "fit,epoch,seconds\nsBNN,5,12.0\nsBNN,10,13.0\nsBNN,15,14.0\nsBNN,20,35.0\n"


def test_products_are_counted_as_by_hand():
    assert forward_flops(lenet_300_100(), (1, 28, 28)) == 2 * 266_200
    by_hand = 20 * 25 * 24**2 + 50 * 20 * 25 * 8**2 + 800 * 500 + 500 * 10
    assert forward_flops(lenet_5(), (1, 28, 28)) == 2 * by_hand
    wide, narrow = (forward_flops(vgg_like(width), (3, 32, 32)) for width in (1.0, 0.5))
    assert 3.9 < wide / narrow < 4


@pytest.mark.parametrize("budget", ["smoke", "overnight", "paper"])
@pytest.mark.parametrize("name", [name for name in KINDS if "pruning" in name])
def test_recipes_are_those_that_experiments_train(name, budget):
    settings = default_settings(name, budget)
    ours = Counter()
    for method, own, at_the_end, meanwhile in recipes(settings):
        ours[method.name, own.trainer.epochs, False] += at_the_end
        ours[method.name, own.trainer.epochs, True] += meanwhile
    theirs = [
        (method.name, own.trainer.epochs, own.trainer.prune_to is not None) for method, _, own in trained(settings)
    ]
    assert +ours == Counter(theirs)


@pytest.mark.parametrize("name", RECORDED)
def test_the_workload_of_a_committed_run_is_what_was_recorded(name):
    facts, settings = Results(RESULTS / name).facts, read_settings(RESULTS / name / "config.yaml")
    if left_out := facts.get("left_out"):
        settings = settings.changed({"data": {"datasets": [d for d in settings.data.datasets if d not in left_out]}})
    fits = workload(settings)
    assert sum(own.count * math.ceil(own.replicas / own.chunk) for own in fits) == len(facts["fit_seconds"])
    history = Results(RESULTS / name).history
    if history is not None:
        recorded = Counter(int(epochs) for epochs in history.groupby("fit").epoch.max())
        planned = Counter()
        for own in fits:
            planned[own.plan.steps // own.plan.batches] += own.count
        assert recorded == planned


@pytest.fixture
def folder(tmp_path):
    """Results of two experiments, of which the second is older."""
    older = {name: fact for name, fact in FACTS.items() if name not in ("training_seconds", "fit_seconds", "machine")}
    for name, facts in (("simulated_relevance", FACTS), ("vgg_pruning", older | {"resumed": True})):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text(json.dumps(facts | {"experiment": name}))
    (tmp_path / "simulated_relevance" / "history.csv").write_text(HISTORY)
    return tmp_path


def tables(folder: Path) -> dict[str, pd.DataFrame]:
    found = {name: Results(folder / name) for name in WORDS["experiments"]}
    blocks = cost.chapter(found, WORDS["cost"], {name: name for name in found})
    return {block.path: block.frame.map(written) for block in blocks if isinstance(block, Table)}


def test_what_was_not_recorded_is_not_guessed(folder):
    whole, older = tables(folder)[cost.RUNS].to_numpy().tolist()
    assert whole[:8] == ["simulated_relevance", "laptop", "1", "20", "360", "720", "0.4", "Abacus, 4 cores"]
    missing = ["not recorded"] * 3
    assert older[:8] == ["vgg_pruning", "laptop", *missing, "resumed", "not recorded", "cpu (x86_64)"]
    (epoch,) = tables(folder)[cost.METHODS_OF_RUNS].to_numpy().tolist()
    assert epoch == ["simulated_relevance", "sBNN", "1", "20", "0.2", "0.2", "0.2"]  # of 1, 1 and 21 seconds for five


def test_a_damaged_folder_costs_its_own_line_only(folder):
    (folder / "vgg_pruning" / "run.json").write_text("{")
    whole, damaged = tables(folder)[cost.RUNS].to_numpy().tolist()
    assert whole[5] == "720"
    assert set(damaged[1:]) == {"cannot be read"}


def test_a_damaged_history_is_complained_of(folder):
    (folder / "simulated_relevance" / "history.csv").write_text("epoch\n1\n")
    found = {name: Results(folder / name) for name in WORDS["experiments"]}
    blocks = cost.chapter(found, WORDS["cost"], {name: name for name in found})
    (said,) = (block.text for block in blocks if isinstance(block, Complaint))
    assert said == "What `simulated_relevance` took cannot be read (KeyError: 'fit'); run it again."


def test_tables_are_written_next_to_the_page(folder):
    write_page(folder, scoreboard(folder), {})
    for file, columns in cost.COLUMNS.items():
        assert list(pd.read_csv(folder / file)) == list(columns)
        assert f"({file})" in (folder / "README.md").read_text()
    check_page(folder)


def test_nothing_is_said_where_nothing_was_run(tmp_path):
    assert tables(tmp_path) == {}


def test_the_estimate_is_bound_by_steps_or_by_products():
    small, large = (workload(default_settings(name, "paper")) for name in ("simulated_relevance", "vgg_pruning"))
    steps = sum(own.steps for own in small) * cost.LAUNCH / 1000
    products = sum(own.flops for own in large) / (cost.SHARE * cost.PEAK * 1e12)
    assert cost.gpu_hours("simulated_relevance") == pytest.approx(steps / 3600)
    assert cost.gpu_hours("vgg_pruning") == pytest.approx(products / 3600)


@pytest.mark.parametrize(
    ("fit", "said"),
    [
        ("sBNN tuned", "sBNN tuned"),
        ("boston-50-gradual-to 0.25", "sBNN gradual"),
        ("shares, NN_Dr tuning", "MC dropout"),
        ("shares, CV ranking", "sBNN"),
        ("GMP-lenet_5-to 0.98", "GMP"),
        ("paper-1200-seed 1", "sBNN as stated"),
        ("tuned-lenet_5-finetune-0.98-global-True", "retrained"),
    ],
)
def test_a_fits_name_says_how_it_was_trained(fit, said):
    assert cost.trained_as(fit) == said
