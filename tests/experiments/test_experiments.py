"""Every experiment end to end at `budget=smoke`: what it writes, and what is in it."""

import json
import shutil
import subprocess
import sys
from itertools import product

import numpy as np
import pandas as pd
import pytest

import sbnn
from sbnn.commands.run import execute
from sbnn.errors import SbnnError
from sbnn.experiments import image_measures
from sbnn.networks import mlp
from sbnn.report.claims import PAPER
from sbnn.report.publish import publish, republish, republish_all
from sbnn.report.results import Results
from sbnn.runs.context import Context
from sbnn.runs.identity import is_finished
from sbnn.runs.rows import COLUMNS

undrawn = pytest.mark.usefixtures("undrawn")
OF_IMAGES = ["epochs", "images", "measured", "weights", "layer", "layer_weights", "threshold"]
EXPECTED = {
    "simulated_relevance": {"tables": ["relevance"], "figures": ["relevance"], "own": ["alpha"], "claims": 2},
    "simulated_correlation": {
        "tables": ["correlation"],
        "figures": ["correlation", "phi_density"],
        "own": ["alpha", "f", "feature"],
        "claims": 3,
    },
    "simulated_selection": {
        "tables": ["accuracy", "errors", "detected_share", "paired", "ranking"],
        "figures": ["by_D", "by_alpha", "by_active_share", "cross_validation", "errors_cv"],
        "own": ["D", "alpha", "active_share"],
        "claims": 8,
    },
    "simulated_pruning": {
        "tables": ["pruning", "paired", "sensitivity"],
        "figures": ["pruning", "sensitivity"],
        "own": ["active_share", "D", "alpha", "f", "mean_scale", "log_tau0"],
        "claims": 3,
    },
    "uci_pruning": {
        "tables": [
            "datasets",
            "rmse_by_droprate",
            "comparison",
            "calibration",
            "prunable",
            "paired",
            "improvement",
            "gradual",
            "operating_points",
        ],
        "figures": ["rmse_by_droprate", "rmse_by_score"],
        "own": ["hidden", "source"],
        "claims": 5,
        "unjudged": {"5d", "5e"},  # a count out of ten datasets, on four
        "of_a_study": {"5e"},
    },
    "mnist_pruning": {
        "tables": ["error_rates", "pruning", "calibration"],
        "figures": ["pruning", "inclusion_cdf"],
        "own": ["width", "augmentation", *OF_IMAGES],
        "claims": 4,
        "replicates": {0},
    },
    "cifar_pruning": {
        "tables": ["pruning", "calibration"],
        "figures": ["pruning"],
        "own": ["width", "augmentation", *OF_IMAGES],
        "claims": 3,
        "replicates": {0},
    },
    "lenet_pruning": {
        "tables": [
            "comparison",
            "comparison_lenet_300_100",
            "comparison_lenet_5",
            "factors",
            "units",
            "lenet5_droprates",
            "layers",
            "operating_points",
            "calibration",
        ],
        "figures": ["proportional_increase", "frontier"],
        "own": ["network", *OF_IMAGES],
        "claims": 5,
        "replicates": {0},
    },
    "vgg_pruning": {
        "tables": ["comparison", "pruning", "units", "layers", "calibration"],
        "figures": ["pruning"],
        "own": ["width", "augmentation", *OF_IMAGES],
        "claims": 2,
        "replicates": {0},
        "unjudged": {"9a"},  # of the full width, at an eighth of it
    },
}
IMAGES = {
    "mnist_pruning": "mnist", "cifar_pruning": "cifar10", "lenet_pruning": "mnist", "vgg_pruning": "cifar10",
}  # fmt: skip
MEASURED = ("error", "nll", "ece")
METRICS = {
    "simulated_relevance": {"influence", "psi_1", "psi_2", "train_mse"},
    "simulated_correlation": {"correlation", "phi", "train_mse"},
    "simulated_selection": {
        "accuracy", "true_count_accuracy", "train_mse", "test_mse", "held_out_mse", "detected_share", "actual_share",
    },
    "simulated_pruning": {"train_mse", "test_mse", "grid_test_mse", "grid_slab"},
    "uci_pruning": {
        *(f"{when}{what}" for when in ("", "gradual_", "chosen_") for what in ("rmse", "nll", "coverage", "active")),
        "chosen_kept",
    },
    "mnist_pruning": {
        "error", "nll", "ece", "switched", "sampled_error", "sampled_nll", "sampled_ece", "inclusion_below", "kept",
        "active", "chosen_error", "chosen_nll", "chosen_ece", "chosen_kept", "unit_error", "unit_kept", "units",
    },
}  # fmt: skip
METRICS["cifar_pruning"] = METRICS["mnist_pruning"]
GRADUAL = {f"gradual_{metric}" for metric in ("kept", "active", *MEASURED, *(f"sampled_{m}" for m in MEASURED))}
METRICS["lenet_pruning"] = METRICS["mnist_pruning"] | GRADUAL | {f"finetuned_{metric}" for metric in MEASURED}
METRICS["vgg_pruning"] = METRICS["mnist_pruning"] | GRADUAL | {f"stale_{metric}" for metric in MEASURED}
CLAIM_COLUMNS = ["id", "experiment", "claim", "paper", "ours", "se", "criterion", "verdict", "budget",
                 "settings", "margin", "old_criterion", "old_verdict", "conclusion"]  # fmt: skip
IN_UNIT_INTERVAL = [
    "phi", "psi_1", "psi_2", "accuracy", "true_count_accuracy", "grid_slab", "detected_share", "actual_share",
    "coverage", "error", "ece", "switched", "sampled_error", "sampled_ece", "inclusion_below",
]  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_smoke(configured, settings_from, tmp_path, name, has_images):
    has_images(IMAGES.get(name))
    expected, folder = EXPECTED[name], tmp_path / name
    headline = execute(configured(f"experiment={name}", "budget=smoke"), folder)
    assert np.isfinite(headline)
    assert is_finished(folder, settings_from(f"experiment={name}", "budget=smoke"))

    rows = pd.read_csv(folder / "rows.csv")
    assert list(rows.columns) == [*COLUMNS, *expected["own"]]
    assert (rows["experiment"] == name).all()
    assert set(rows["metric"]) == METRICS[name]
    assert np.isfinite(rows["value"]).all()
    assert rows[rows.metric.isin(IN_UNIT_INTERVAL)]["value"].between(0, 1).all()
    assert set(rows["replicate"]) == expected.get("replicates", {0, 1})
    assert not rows.duplicated([c for c in rows.columns if c != "value"]).any()

    for table in expected["tables"]:
        assert len(pd.read_csv(folder / f"{table}.csv")) > 0
    for figure in expected["figures"]:
        assert (folder / f"{figure}.svg").read_text().startswith("<?xml")
        assert (folder / f"{figure}.png").read_bytes().startswith(b"\x89PNG")
    facts = json.loads((folder / "run.json").read_text())
    assert {"versions", "device", "threads", "seconds", "budget", "commit", "seed", "date", "command"} <= set(facts)
    assert {"cpu", "cores", "memory_gib", "os", "blas"} <= set(facts["machine"])
    assert bool(facts["data"]) == (not name.startswith("simulated"))
    assert facts["fit_seconds"]
    assert set(facts["files"]) == {path.name for path in folder.iterdir()}
    assert facts["budget"] == "smoke"
    assert "by_budget" not in (folder / "config.yaml").read_text()

    assert not (folder / "claims.csv").exists()  # a smoke run judges none, and yet all can be computed from its rows
    claims = Results(folder).verdicts
    assert list(claims.columns) == CLAIM_COLUMNS
    assert len(claims) == expected["claims"]
    assert set(claims[claims.verdict == "not run"]["id"]) == expected.get("unjudged", set())
    assert claims["verdict"].isin(["reproduced", "partly", "not reproduced", "not run"]).all()
    assert claims[~claims["id"].isin(expected.get("of_a_study", set()))]["ours"].str.contains(r"\d").all()
    assert not list(tmp_path.glob(".*.new")) + list(tmp_path.glob(".*.old")) + list(tmp_path.glob(".checkpoints/*"))


def test_pruning_rows(smoke_run, tmp_path):
    smoke_run("simulated_pruning", tmp_path / "p")
    rows = pd.read_csv(tmp_path / "p" / "rows.csv")
    grid = rows.mean_scale.notna()
    curves = rows[~grid]
    ours = [("sBNN", r, s) for r in ("tuned", "paper") for s in ("inclusion", "snr", "magnitude")]
    assert set(zip(curves.method, curves.recipe, curves.score, strict=True)) == {
        *ours, ("BbB", "ours", "snr"), ("BbB", "ours", "inclusion"), ("BbB", "ours", "magnitude"),
        ("NN", "ours", "magnitude"),
    }  # fmt: skip
    for _, curve in curves.groupby(["method", "recipe", "score", "metric", "active_share", "replicate"]):
        assert curve["droprate"].is_monotonic_increasing
        assert curve["droprate"].iloc[0] == 0
    full = curves[curves.droprate == 0].groupby(["method", "recipe", "metric", "active_share", "replicate"])["value"]
    assert (full.max() == full.min()).all()  # all scores agree where nothing is pruned
    assert set(zip(rows[grid].mean_scale, rows[grid].log_tau0, strict=True)) == set(product([0.1, 0.577], [-6, -3]))
    at_the_recipe = rows[(rows.mean_scale == 0.577) & (rows.log_tau0 == -6) & (rows.metric == "grid_test_mse")]
    own = curves[(curves.recipe == "paper") & (curves.score == "inclusion") & (curves.metric == "test_mse")]
    own = own[own.active_share == 0.2].set_index(["droprate", "replicate"])["value"]
    pd.testing.assert_series_equal(at_the_recipe.set_index(["droprate", "replicate"])["value"], own, rtol=1e-3)
    table = pd.read_csv(tmp_path / "p" / "sensitivity.csv")
    assert list(table.columns) == ["mean_scale", "log_tau0", "prunable", "full error", "in the slab"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rivals=[GMP]", r"rivals=GMP is not of this experiment; choose one of BbB, NN"),
        ("vary.log_tau0=[]", r"vary\.mean_scale needs vary\.log_tau0 too"),
        ("vary.log_tau0=[0,2]", r"prior\.log_tau0=2 \(spike\) must be below prior\.log_tau1=1"),
        ("vary.mean_scale=[0.1,0]", r"vary\.mean_scale=0 must be a number in \(0, 1000\]"),
        ("recipes.paper.prior.log_tau0=2", r"recipes\.paper: prior\.log_tau0=2 \(spike\) must be below"),
        (
            "+recipes.paper.trainer.batch=500",
            r"recipes\.paper: trainer\.batch=500 is larger than the 160 training rows",
        ),
    ],
)
def test_bad_input_of_experiment_4(configured, tmp_path, override, message):
    with pytest.raises(SbnnError, match=message):
        execute(configured("experiment=simulated_pruning", "budget=smoke", override), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_report_redraws_the_same_from_rows(judged, tmp_path):
    folder = tmp_path / "simulated_relevance"
    execute(judged("simulated_relevance"), folder)
    before = {p.name: p.read_bytes() for p in folder.iterdir()} | {"claims": (tmp_path / "claims.csv").read_bytes()}
    (folder / "relevance.svg").unlink()
    (tmp_path / "claims.csv").unlink()
    republish(folder)
    after = {p.name: p.read_bytes() for p in folder.iterdir()} | {"claims": (tmp_path / "claims.csv").read_bytes()}
    assert before == after


@undrawn
def test_experiments_share_one_table_of_claims(judged, tmp_path):
    for name in ("simulated_pruning", "simulated_relevance", "simulated_pruning"):
        execute(judged(name), tmp_path / name)
    claims = pd.read_csv(tmp_path / "claims.csv")
    assert list(claims["id"]) == list(PAPER["id"])
    run = claims[claims["budget"].notna()]
    assert list(run["id"]) == ["1a", "1b", "4a", "4b", "4c"]
    together = claims["id"].isin(["10a", "10b", "10c"])  # settled by all experiments that prune
    assert "not run" not in set(claims[together]["verdict"])
    assert set(claims[~together].drop(run.index)["verdict"]) == {"not run"}


@undrawn
def test_experiments_that_end_together_wait_for_each_other(judged, tmp_path):
    for name in ("simulated_pruning", "simulated_relevance"):
        execute(judged(name), tmp_path / name)
    code = "import sys, pathlib, sbnn.report.publish as r; [r.republish(pathlib.Path(sys.argv[1])) for _ in range(3)]"
    folders = [tmp_path / name for name in ("simulated_pruning", "simulated_relevance")]
    together = [subprocess.Popen([sys.executable, "-c", code, str(f)], stdout=subprocess.DEVNULL) for f in folders]
    assert [process.wait() for process in together] == [0, 0]
    claims = pd.read_csv(tmp_path / "claims.csv")
    assert claims["budget"].notna().sum() == 5


@undrawn
def test_trained_networks_that_were_kept_are_used_again_unless_by_force(configured, tmp_path):
    smoke, resumed = ("experiment=simulated_relevance", "budget=smoke", "keep_checkpoints=true"), []
    histories = []
    for override in ("seed=0", "resume=auto", "resume=true", "resume=false", "force=true"):
        execute(configured(*smoke, override), tmp_path / "out")
        resumed.append(json.loads((tmp_path / "out" / "run.json").read_text())["resumed"])
        histories.append(pd.read_csv(tmp_path / "out" / "history.csv").drop(columns="seconds"))
    assert resumed == [False, True, True, False, False]
    assert len(histories[0]) == 3
    assert all(history.equals(histories[0]) for history in histories)  # what is resumed has its history whole


@undrawn
def test_a_network_that_is_kept_can_be_loaded_and_outlives_a_new_report(configured, tmp_path):
    settings = configured("experiment=simulated_relevance", "budget=smoke", "keep_network=true")
    execute(settings, tmp_path / "out")
    republish(tmp_path / "out")
    history = pd.read_csv(tmp_path / "out" / "history.csv")
    result = sbnn.load(tmp_path / "out" / "network.safetensors", mlp(2, settings.network.hidden))  # of a pair
    assert len(result.history) == len(history)
    assert all(0 <= p.min() <= p.max() <= 1 for p in result.inclusion.values())


@undrawn
def test_of_several_networks_each_is_kept_under_its_name(configured, tmp_path):
    settings = configured("experiment=simulated_pruning", "budget=smoke", "keep_network=true")
    execute(settings, tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").glob("network*")} == {
        f"network, {name}.safetensors" for name in pd.read_csv(tmp_path / "out" / "history.csv")["fit"].unique()
    }


@undrawn
@pytest.mark.parametrize("override", ["chunk=3", "chunk=1000"])
def test_chunks_change_no_number(smoke_run, configured, tmp_path, override):
    smoke_run("simulated_relevance", tmp_path / "a")
    execute(configured("experiment=simulated_relevance", "budget=smoke", override), tmp_path / "b")
    a, b = (pd.read_csv(tmp_path / x / "rows.csv") for x in "ab")
    pd.testing.assert_frame_equal(a, b, rtol=1e-4)


@pytest.mark.parametrize(
    ("name", "overrides", "verdicts"),
    [
        ("simulated_relevance", ["data.replicates=1"], {"reproduced", "not reproduced"}),
        ("simulated_relevance", ["vary.alpha=[0.5]"], {"not run"}),
        ("simulated_correlation", ["vary.function=[linear]"], {"not run"}),
        ("simulated_correlation", ["vary.target=[standardised]", "vary.alpha=[1]"], {"not run"}),
        ("simulated_pruning", ["vary.active_share=[0.3]"], {"not run"}),
        ("simulated_pruning", ["vary.active_share=[0.0]", "pruning.scope=layer", "pruning.biases=false"], {"not run"}),
    ],
)
def test_a_run_that_leaves_things_out_is_reported_all_the_same(configured, tmp_path, name, overrides, verdicts):
    execute(configured(f"experiment={name}", "budget=smoke", *overrides), tmp_path / name)
    assert set(Results(tmp_path / name).verdicts["verdict"]) <= verdicts
    assert list((tmp_path / name).glob("*.svg"))


def test_results_set_aside_by_a_cut_off_report_are_put_back(smoke_run, tmp_path):
    folder = smoke_run("simulated_relevance", tmp_path / "simulated_relevance")
    folder.rename(tmp_path / ".simulated_relevance.old")
    folder.mkdir()  # as Hydra does
    republish(folder)
    assert (folder / "rows.csv").exists()
    assert not (tmp_path / ".simulated_relevance.old").exists()
    folder.rename(tmp_path / ".simulated_relevance.old")
    half = tmp_path / ".simulated_pruning.new"  # another run is writing it, or was cut off
    half.mkdir()
    shutil.copy(tmp_path / ".simulated_relevance.old" / "rows.csv", half)
    republish_all(tmp_path)
    assert (folder / "rows.csv").exists()
    assert [p.name for p in half.iterdir()] == ["rows.csv"]


def test_rows_that_are_not_finite_are_never_written(smoke_run, settings_from, tmp_path):
    smoke_run("simulated_relevance", tmp_path / "a")
    settings = settings_from("experiment=simulated_relevance", "budget=smoke")
    rows = pd.read_csv(tmp_path / "a" / "rows.csv")
    rows.loc[3, "value"] = np.inf
    with pytest.raises(SbnnError, match="is not finite; nothing is written"):
        publish(rows, settings, Context.of(settings, tmp_path / "b"), 1.0, "", judged=True)
    assert not (tmp_path / "b").exists()


@undrawn
def test_image_rows(configured, tmp_path, has_images):
    has_images("mnist")
    keys = (
        "vary.width=[12,20]",
        "data.train_images=300",
        "data.test_images=50",
        "trainer.epochs=1",
        "droprates=[0,0.5]",
    )
    keys += ("recipes.paper.trainer.epochs=2", "recipes.paper.prior.c=0.5")
    execute(configured("experiment=mnist_pruning", "budget=smoke", *keys), tmp_path / "m")
    rows = pd.read_csv(tmp_path / "m" / "rows.csv")
    networks = set(zip(rows.method, rows.recipe, rows.width, rows.epochs, strict=True))
    assert networks == {
        ("sBNN", "tuned", 12, 1), ("sBNN", "tuned", 20, 1), ("sBNN", "paper", 12, 2), ("sBNN", "paper", 20, 2),
        ("NN", "ours", 20, 1), ("BbB", "ours", 20, 1),
    }  # fmt: skip
    assert (rows.images == 300).all()
    assert (rows.measured == 50).all()
    below = rows[rows.metric == "inclusion_below"]
    for _, curve in below.groupby(["recipe", "width"]):
        assert curve.sort_values("threshold")["value"].is_monotonic_increasing
    full = rows[(rows.droprate == 0) & (rows.metric == "error")].groupby(["method", "recipe", "width"])["value"]
    assert (full.max() == full.min()).all()  # all scores agree where nothing is pruned
    pruning = pd.read_csv(tmp_path / "m" / "pruning.csv")
    assert list(pruning["removed"]) == ["0 %", "50 %"]
    assert "sBNN tuned (1 epochs), snr" in pruning.columns


@undrawn
def test_what_was_measured_is_not_measured_again(configured, tmp_path, has_images, monkeypatch):
    has_images("mnist")
    keys = ["vary.width=[12]", "data.train_images=300", "data.test_images=50", "trainer.epochs=1", "droprates=[0,0.5]"]
    keys += ["budget=smoke", "recipe=tuned", "checkpoint_seconds=1e-6"]
    execute(configured("experiment=mnist_pruning", *keys), tmp_path / "whole")
    calls = []

    def cut_off_at_the_second(measurement):
        calls.append(measurement)
        if len(calls) == 2:
            raise KeyboardInterrupt
        measure(measurement)

    measure = image_measures.Measurement.add
    monkeypatch.setattr(image_measures.Measurement, "add", cut_off_at_the_second)
    with pytest.raises(KeyboardInterrupt):
        execute(configured("experiment=mnist_pruning", *keys), tmp_path / "cut")
    execute(configured("experiment=mnist_pruning", *keys), tmp_path / "cut")
    assert len(calls) == 4  # one, one that was cut off, that one again, and the last
    assert not (tmp_path / ".checkpoints" / "cut").exists()
    assert (tmp_path / "whole" / "rows.csv").read_bytes() == (tmp_path / "cut" / "rows.csv").read_bytes()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("vary.width=[500]", r"recipes\.paper: prior\.c=.* has no value for networks of 500 units"),
        ("recipes.paper.prior.c=4", r"recipes\.paper: prior\.c=4 must be a number in \[0, 3\]"),
        ("trainer.batch=5000", r"trainer\.batch=5000 is larger than the 1000 training rows"),
        ("data.scale=[1,2]", r"data\.scale=\[1\.0, 2\.0\] must hold 1: one number for each channel"),
        ("data.scale=[0]", r"data\.scale=0 must be a number in \(0, inf\)"),
        ("data.validation_share=1", r"data\.validation_share=1 must be a number in \(0, 1\)"),
        ("data.protocol=blind", r"data\.protocol=blind is unknown; choose one of validation, paper"),
        ("vary.augmentation=[zoom]", r"vary\.augmentation=zoom is unknown"),
        ("vary.width=[400,400]", r"vary\.width=.* must rise"),
        ("trainer.compile=maybe", r"trainer\.compile=maybe is unknown; choose one of auto, always, never"),
        ("trainer.proximal=1", r"trainer\.proximal=1 must be true or false"),
        ("trainer.proximal=true", r"recipes\.NN: trainer\.proximal=true needs trainer\.optimizer=sgd"),
        ("rivals=[NN_Dr]", r"rivals=NN_Dr is not of this experiment; choose one of BbB, NN"),
        ("name=foo_pruning", r"name=foo_pruning is unknown; choose one of cifar_pruning"),
        ("data=uci", r"experiment=mnist_pruning does not run on the data chosen"),
    ],
)
def test_bad_input_of_the_image_experiments(configured, tmp_path, override, message):
    with pytest.raises(SbnnError, match=message):
        execute(configured("experiment=mnist_pruning", "budget=smoke", override), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nothing_held_back_and_no_such_recipe(configured, tmp_path):
    tiny = ("data.evaluate_on=validation", "data.validation_share=1e-6")
    with pytest.raises(SbnnError, match=r"data\.validation_share=1e-06 holds no image back"):
        execute(configured("experiment=mnist_pruning", "budget=smoke", *tiny), tmp_path / "out")
    with pytest.raises(SbnnError, match=r"recipe=paper asks for recipes\.paper, which is not there"):
        execute(configured("experiment=cifar_pruning", "budget=smoke", "recipe=paper"), tmp_path / "out")
