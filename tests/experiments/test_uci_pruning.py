"""Experiment 5: its data, its splits, and what the run does with what it cannot have."""

import numpy as np
import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.data.download import Sources, Unavailable, data_directory
from sbnn.data.uci import DATASETS, load
from sbnn.errors import ConfigError
from sbnn.experiments.uci_pruning import enlarged, replicas, split
from sbnn.report.results import Results
from sbnn.runs.context import Context

pytestmark = pytest.mark.usefixtures("undrawn")
BUNDLED = ["boston", "concrete", "energy", "wine"]
FIRST_ROWS = {  # first feature, last feature, target of row 0, as published
    "boston": (0.00632, 4.98, 24.0), "concrete": (540.0, 28, 79.99), "energy": (0.98, 0, 15.55), "wine": (7.4, 9.4, 5),
    "kin8nm": (-1.5119208e-02, 6.2762996e-02, 5.3652416e-01), "naval": (1.138, 0.082, 0.95),
    "power": (8.34, 90.01, 480.48), "protein": (13558.3, 27.0302, 17.284), "yacht": (-2.3, 0.125, 0.11),
}  # fmt: skip


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled(name, tmp_path):
    table, dataset = load(name, Sources(tmp_path)), DATASETS[name]
    assert table.x.shape == (dataset.rows, dataset.features)
    assert (table.x[0, 0], table.x[0, -1], table.y[0, 0]) == FIRST_ROWS[name]
    assert table.origin == "bundled copy"


@pytest.mark.parametrize("name", FIRST_ROWS)
def test_published(name, tmp_path):
    """The benchmark's own file, where SBNN_DATA_DIR or the cache has it, passes its checks and equals our copy."""
    folder = data_directory(None)
    if not (folder / DATASETS[name].file(name).paths[0]).exists():
        pytest.skip(f"{name} is not in {folder}; set SBNN_DATA_DIR to a folder that has it")
    table, dataset = load(name, Sources(folder)), DATASETS[name]
    assert table.x.shape == (dataset.rows, dataset.features)
    assert (table.x[0, 0], table.x[0, -1], table.y[0, 0]) == FIRST_ROWS[name]
    assert table.origin == "data directory"
    if name in BUNDLED:
        copy = load(name, Sources(tmp_path))
        np.testing.assert_allclose(copy.x, table.x, rtol=1e-9)
        different = np.flatnonzero(~np.isclose(copy.y, table.y, rtol=1e-9))
        assert different.tolist() == ([30] if name == "energy" else [])


@pytest.mark.parametrize("name", [n for n in DATASETS if n != "year"])
def test_splits_are_the_benchmarks(name):
    dataset = DATASETS[name]
    train, test = dataset.split()
    random, end = np.random.RandomState(1), round(dataset.rows * 0.9)
    for one, other in zip(train, test, strict=True):
        order = random.choice(range(dataset.rows), dataset.rows, replace=False)
        assert (one == order[:end]).all()
        assert (other == order[end:]).all()
    assert len(train) == (5 if name == "protein" else 20)


def test_validation_rows_come_from_the_training_part(settings_from):
    on_test = settings_from("experiment=uci_pruning", "budget=smoke")
    on_validation = settings_from("experiment=uci_pruning", "budget=smoke", "data.evaluate_on=validation")
    (train, test), (fit, held) = split("boston", on_test), split("boston", on_validation)
    assert fit.shape[1] + held.shape[1] == train.shape[1] == 455
    for number in range(2):
        assert set(fit[number]) | set(held[number]) == set(train[number])
        assert not set(held[number]) & (set(test[number]) | set(fit[number]))


def test_replicas_are_standardised_on_their_training_rows(settings_from, tmp_path):
    settings = settings_from("experiment=uci_pruning", "budget=smoke", "dtype=float64")
    table = load("boston", Sources(tmp_path))
    train, test = replicas("boston", table, settings, Context.of(settings, tmp_path / "out"))
    rows = DATASETS["boston"].split()
    x, y = train.all()
    assert x.mean(1).abs().max() < 1e-9
    np.testing.assert_allclose(y.std(1, correction=0), 1)
    raw = table.y[rows[1][1]]
    back = test.all()[1][1].numpy() * train.y_scale[1].numpy() + train.y_shift[1].numpy()
    np.testing.assert_allclose(back, raw)


def smoke(configured, folder, *overrides):
    overrides = ["trainer.steps=4", "predictive.samples=2", f"data.dir={folder}", *overrides]
    return execute(configured("experiment=uci_pruning", "budget=smoke", *overrides), folder / "out")


def test_what_cannot_be_had_is_reported_once_and_the_rest_goes_on(configured, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sbnn.data.download.urllib.request.urlopen", no_network)
    smoke(configured, tmp_path, "data.datasets=[yacht,boston]", "rivals=[]")
    said = capsys.readouterr().err
    assert said.count("yacht cannot be had") == 1
    assert set(pd.read_csv(tmp_path / "out" / "rows.csv")["dataset"]) == {"boston"}
    shown = pd.read_csv(tmp_path / "out" / "comparison.csv").set_index("dataset")
    assert shown.loc["yacht", "sBNN tuned"] == shown.loc["year", "sBNN tuned"] == "not run"
    assert shown.loc["boston", "NN (ours)"] == "not run"
    assert shown.loc["year", "sBNN (paper)"] == "8.75"
    datasets = pd.read_csv(tmp_path / "out" / "datasets.csv").set_index("dataset")
    assert datasets.loc["boston", "source"] == "bundled copy"
    assert datasets.loc["boston", "splits"] == "2 of 20"


def test_nothing_to_be_had_is_an_error(configured, tmp_path, monkeypatch):
    monkeypatch.setattr("sbnn.data.download.urllib.request.urlopen", no_network)
    with pytest.raises(Unavailable, match=r"None of data\.datasets=\[yacht\] can be had"):
        smoke(configured, tmp_path, "data.datasets=[yacht]")
    assert not (tmp_path / "out").exists()


def no_network(url, timeout):
    raise OSError("no network in this test")


@pytest.mark.parametrize(
    ("recipe", "kept"),
    [("all", {"tuned", "gradual", "paper"}), ("tuned", {"tuned"}), ("gradual", {"gradual"}), ("paper", {"paper"})],
)
def test_recipe(configured, tmp_path, recipe, kept):
    smoke(configured, tmp_path, "data.datasets=[boston]", f"recipe={recipe}", "rivals=[NN_Dr]")
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    assert set(rows[rows.method == "sBNN"].recipe) == kept
    assert set(rows[rows.method == "NN_Dr"].recipe) == {"ours"}
    claims = Results(tmp_path / "out").verdicts
    assert (claims["verdict"] == "not run").tolist() == ([False] * 3 + [True] * 2 if "paper" in kept else [True] * 5)


def test_protein_is_run_at_both_widths(configured, tmp_path, monkeypatch):
    small = load("boston", Sources(tmp_path))
    monkeypatch.setattr("sbnn.experiments.uci_pruning.load", lambda name, sources: small)
    monkeypatch.setitem(DATASETS, "protein", DATASETS["boston"])
    smoke(configured, tmp_path, "data.datasets=[protein]", "rivals=[]", "recipe=paper")
    assert set(pd.read_csv(tmp_path / "out" / "rows.csv")["hidden"]) == {50, 100}


def test_large_datasets_train_longer_on_larger_batches(settings_from):
    settings = settings_from("experiment=uci_pruning", "budget=smoke", "trainer.steps=30", "trainer.batch=20")
    larger = enlarged(settings, "protein").trainer
    assert (larger.steps, larger.batch) == (60, 80)
    assert enlarged(settings, "boston").trainer == settings.trainer
    in_epochs = settings_from("experiment=uci_pruning", "budget=smoke", "trainer.steps=null")
    assert enlarged(in_epochs, "protein").trainer.steps is None


def test_choosing_on_validation_data_judges_no_claim(configured, tmp_path):
    smoke(configured, tmp_path, "data.datasets=[boston]", "rivals=[]", "data.evaluate_on=validation")
    assert not (tmp_path / "claims.csv").exists()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("data.datasets=[bostn]", r"data\.datasets=bostn is unknown; choose one of boston, concrete"),
        ("data.datasets=boston", r"data\.datasets=boston must be a list"),
        ("data.datasets=[]", r"data\.datasets=\[\] must be a list of at least one"),
        ("data.splits=0", r"data\.splits=0 must be a whole number"),
        ("data.evaluate_on=train", r"data\.evaluate_on=train is unknown"),
        ("data.hidden.protein=50", r"data\.hidden\.protein=50 must be a list of at least one value"),
        ("data.hidden.protein=[true]", r"data\.hidden\.protein=true must be a whole number in \[1, 1e6\]"),
        ("+data.hidden.bostn=[5]", r"data\.hidden names bostn, which is unknown; choose one of boston"),
        ("data.hidden=null", r"data\.hidden=null must be a table"),
        ("data.enlarge.protein=5", r"data\.enlarge\.protein=5 must be a table of settings by name"),
        ("data.dir=123", r"data\.dir=123 must be the path of a folder"),
        ("data=simulated", r"experiment=uci_pruning does not run on the data chosen"),
        ("recipes=null", r"recipes=null must be a table"),
        ("recipes.paper=5", r"recipes\.paper=5 must be a table of settings by name"),
        ("recipes.paper.trainer=null", r"recipes\.paper: trainer=null must be a table"),
        ("+recipes.papr.trainer.lr=1", r"recipes\.papr is unknown; choose one of tuned, gradual, paper"),
        ("+recipes.paper.network.hidden=[20]", r"recipes\.paper\.network\.hidden=\[20\] cannot be changed there"),
        ("recipes.NN_Dr.dropout.rates=[0.1,0.2]", r"dropout\.rates=\[0\.1, 0\.2\] must hold one rate"),
        ("rivals=null", r"rivals=null must be a list\."),
        ("data.enlarge.protein.steps=0.5", r"data\.enlarge\.protein\.steps=0\.5 must be a whole number"),
        ("+data.enlarge.protein.lr=2", r"data\.enlarge\.protein\.lr=2 is not a key that exists"),
        ("network.hidden=[50,50]", r"network\.hidden=\[50, 50\] must be one layer"),
        ("recipe=best", r"recipe=best is unknown; choose one of all, tuned, gradual, paper"),
        ("rivals=[SVM]", r"rivals=SVM is unknown; choose one of BbB, NN, NN_Dr"),
        ("recipes.paper.prior.log_tau0=3", r"recipes\.paper: prior\.log_tau0=3 \(spike\) must be below"),
        ("+recipes.paper.prior.tau=3", r"recipes\.paper: prior\.tau=3 is not a key that exists"),
        ("trainer.batch=460", r"^trainer\.batch=460, on boston 460, is larger than its 455 training rows"),
        ("trainer.steps=0", r"trainer\.steps=0 must be a whole number"),
        ("predictive.samples=0", r"predictive\.samples=0 must be a whole number"),
        ("prior.log_decay=big", r"prior\.log_decay=big must be a number"),
    ],
)
def test_bad_values(configured, tmp_path, override, message):
    with pytest.raises(ConfigError, match=message):
        execute(configured("experiment=uci_pruning", "budget=smoke", override), tmp_path / "out")
    assert not (tmp_path / "out").exists()
