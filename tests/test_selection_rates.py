"""The check of the selector's promise runs, draws what it says, and its committed table is made of its rows."""

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from sbnn.estimators import SpikeSlabRegressor
from sbnn.report import selection_rates as report

RESULTS = Path(__file__).parents[1] / "results" / report.FOLDER


@pytest.fixture
def check(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")
    threads = torch.get_num_threads()
    yield importlib.import_module("fdr_check")
    torch.set_num_threads(threads)


def test_writes_rows_config_table_and_figure(check, tmp_path):
    arguments = ["--folder", str(tmp_path), "--repetitions", "2", "--only", "no effects, few rows", "two classes"]
    check.main(arguments, SpikeSlabRegressor(hidden=(4,), steps=5, replicas=2))
    assert {path.name for path in tmp_path.iterdir()} == {
        "rows.csv",
        "config.yaml",
        "table.csv",
        "rates.png",
        "rates.svg",
    }
    rows, config = pd.read_csv(tmp_path / "rows.csv"), yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert len(rows) == 2 * 2 * len(check.TARGETS)
    assert rows.false_share.between(0, 1).all()
    assert rows[rows.design == "no effects, few rows"].found_share.isna().all()
    assert [design["name"] for design in config["designs"]] == ["no effects, few rows", "two classes"]
    assert config["estimator"]["steps"] == 5
    assert report.table(rows).draws.tolist() == [2, 2]


def test_designs_have_the_effects_they_name(check):
    for design in check.DESIGNS:
        x, y, active = design.draw(np.random.default_rng(0), 400, 40)
        assert x.shape == (400, 40)
        assert y.shape == (400,)
        assert np.isfinite(x).all()
        assert active.shape == (40,)
        assert active.any() != design.name.startswith("no effects")


@pytest.mark.skipif(not RESULTS.exists(), reason="the check has not been run: make selection-rates")
def test_the_committed_rates_are_kept_and_of_the_committed_rows():
    rows = pd.read_csv(RESULTS / "rows.csv")
    assert (RESULTS / "table.csv").read_text() == report.table(rows).to_csv(index=False)
    rates = report.rates(rows)
    within = {errors: rates["false"] <= rates.target + errors * rates.false_se for errors in (2, 3)}
    assert within[3].all()
    assert (~within[2]).sum() <= 1  # one in forty is beyond two standard errors by chance
