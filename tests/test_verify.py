"""`make verify`: the committed numbers, found again or not."""

import importlib.util
from pathlib import Path

import pandas as pd
import pytest

from sbnn.commands.run import execute

pytestmark = pytest.mark.usefixtures("undrawn")
PATH = Path(__file__).parents[1] / "scripts" / "verify.py"


@pytest.fixture(scope="module")
def verify():
    spec = importlib.util.spec_from_file_location("verify", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def verified(verify, folder, name):
    return verify.main(["--results", str(folder), "--only", name])


def test_a_simulation_is_found_again_and_a_changed_number_is_noticed(verify, configured, tmp_path, capsys):
    name = "simulated_relevance"
    execute(configured(f"experiment={name}", "budget=smoke"), tmp_path / name)
    before = {path.name for path in tmp_path.rglob("*")}
    assert verified(verify, tmp_path, name) == 0
    assert {path.name for path in tmp_path.rglob("*")} == before  # nothing is left behind
    assert "numbers agree" in capsys.readouterr().out

    rows = pd.read_csv(tmp_path / name / "rows.csv")
    rows["value"] += 10 * rows.groupby("metric")["value"].transform("std")
    rows.to_csv(tmp_path / name / "rows.csv", index=False)
    assert verified(verify, tmp_path, name) == 1
    assert "committed" in capsys.readouterr().out


def test_images_are_compared_by_the_first_line_of_their_history(verify, configured, tmp_path, capsys, has_images):
    has_images("mnist")
    name = "lenet_pruning"
    keys = ("recipe=tuned", "rivals=[]", "vary.network=[lenet_300_100]", "data.train_images=500", "data.test_images=50")
    execute(configured(f"experiment={name}", "budget=smoke", *keys), tmp_path / name)
    assert verified(verify, tmp_path, name) == 0
    assert "1 of 1 numbers agree, 1 exactly" in capsys.readouterr().out

    path = tmp_path / name / "history.csv"
    pd.read_csv(path).assign(error=0.01).to_csv(path, index=False)
    assert verified(verify, tmp_path, name) == 1
    path.unlink()
    assert verified(verify, tmp_path, name) == 1
    assert "older than histories" in capsys.readouterr().out


def test_another_copy_of_the_same_data_gives_the_same_numbers(verify, configured, tmp_path, capsys):
    name = "uci_pruning"
    execute(configured(f"experiment={name}", "budget=smoke", "data.datasets=[boston]", "rivals=[]"), tmp_path / name)
    rows = pd.read_csv(tmp_path / name / "rows.csv")
    rows.assign(source="elsewhere").to_csv(tmp_path / name / "rows.csv", index=False)
    assert verified(verify, tmp_path, name) == 0
    assert " 0 of" not in capsys.readouterr().out


def test_what_was_not_run_is_not_verified(verify, tmp_path, capsys):
    assert verified(verify, tmp_path, "uci_pruning") == 0
    assert "uci_pruning: not run" in capsys.readouterr().out
