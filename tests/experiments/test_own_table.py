"""The tenth experiment, on a table of one's own, end to end."""

import json

import numpy as np
import pandas as pd
import pytest
import torch

import sbnn
from sbnn.commands.run import execute
from sbnn.errors import ConfigError, DataError
from sbnn.networks import mlp

undrawn = pytest.mark.usefixtures("undrawn")
SMOKE = ("experiment=own_table", "budget=smoke", "predictive.samples=2")


@pytest.fixture
def table(tmp_path):
    """Of 160 houses: the price hangs on the size and the colour, and on nothing else."""
    random = np.random.default_rng(0)
    houses = pd.DataFrame(random.normal(size=(160, 3)), columns=["size", "age", "noise"])
    houses["colour"] = random.choice(["blue", "red"], 160)
    houses["price"] = 3 * houses["size"] + 2 * (houses["colour"] == "red") + 0.1 * random.normal(size=160)
    houses["kind"] = np.where(houses["price"] > 1, "dear", "cheap")
    path = tmp_path / "houses.csv"
    houses.to_csv(path, index=False)
    return path


def run(configured, folder, table, *keys):
    execute(configured(*SMOKE, f"data.file={table}", *keys), folder)
    return pd.read_csv(folder / "rows.csv")


def test_regression_leaves_tables_figures_and_a_network(configured, tmp_path, table):
    keys = ("data.target=price", "data.leave_out=[kind]", "trainer.steps=400")
    rows = run(configured, tmp_path / "out", table, *keys, "data.compare=true")
    files = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"errors.csv", "errors.png", "features.csv", "features.png", "calibration.png", "comparison.csv",
            "network.safetensors", "network.json", "history.csv", "history.png"} <= files  # fmt: skip
    assert "claims.csv" not in files
    features = pd.read_csv(tmp_path / "out" / "features.csv")
    assert set(features.feature[:2]) == {"size", "colour"}
    errors = rows[(rows.metric == "rmse") & (rows.droprate == 0)]
    assert errors[errors.method == "sBNN"].value.mean() < 1.5  # the price's deviation is 3.2
    assert errors.method.nunique() == 4


@undrawn
def test_the_network_that_is_kept_predicts_as_its_note_says(configured, tmp_path, table):
    run(configured, tmp_path / "out", table, "data.target=price", "data.leave_out=[kind]", "trainer.steps=600")
    note = json.loads((tmp_path / "out" / "network.json").read_text())
    network = mlp(len(note["columns"]), note["hidden"], 1)
    small = sbnn.load(tmp_path / "out" / "network.safetensors", network).prune(0.0)
    houses = pd.read_csv(table)
    given = [houses["colour"] == c.removeprefix("colour=") if "=" in c else houses[c] for c in note["columns"]]
    x = (np.stack(given, axis=1).astype(float) - note["shift"]) / note["scale"]
    with torch.no_grad():
        price = small(torch.tensor(x, dtype=torch.float32)).squeeze(1).numpy()
    price = price * note["target_scale"] + note["target_shift"]
    assert np.sqrt(np.mean((price - houses["price"]) ** 2)) < 1.0


@undrawn
def test_classes(configured, tmp_path, table):
    rows = run(configured, tmp_path / "out", table, "data.target=kind", "data.leave_out=[price]", "trainer.steps=400")
    full = rows[(rows.metric == "error") & (rows.droprate == 0) & (rows.method == "sBNN")]
    assert full.value.mean() < 0.25  # 38 % are dear
    assert json.loads((tmp_path / "out" / "network.json").read_text())["classes"] == ["cheap", "dear"]


@undrawn
def test_a_test_file_of_one_s_own(configured, tmp_path, table):
    pd.read_csv(table)[:20].to_csv(tmp_path / "test.csv", index=False)
    keys = ("data.target=price", "data.leave_out=[kind]", f"data.test_file={tmp_path / 'test.csv'}")
    rows = run(configured, tmp_path / "out", table, *keys)
    assert rows[rows.metric == "test_over_train"].value.iloc[0] == pytest.approx(20 / 160)


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (["data.file=null", "data.target=price"], ConfigError, r"data\.file is missing; add data\.file=PATH"),
        ([], ConfigError, r"data\.target is missing; add data\.target=COLUMN, one of size, age, noise, colour"),
        (["data.target=prize"], DataError, "houses.csv has no column prize; did you mean price?"),
        (["data.target=price", "data.folds=90"], DataError, "has 160 rows and needs 180 or more; add rows, or lower"),
        (["data.target=price", "data.task=classes"], DataError, "no classes"),
        (["data.target=price", "data.file=nowhere.csv"], DataError, "nowhere.csv is not a file"),
        (["data.target=price", "rivals=[NN]"], ConfigError, "means nothing in experiment=own_table"),
    ],
)
def test_bad_input_is_refused_before_training(configured, tmp_path, table, keys, error, message):
    given = [] if any(key.startswith("data.file=") for key in keys) else [f"data.file={table}"]
    with pytest.raises(error, match=message):
        execute(configured(*SMOKE, *given, *keys), tmp_path / "out")
    assert not (tmp_path / "out").exists()
