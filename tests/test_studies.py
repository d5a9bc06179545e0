"""The studies beside the experiments run, write what they say, and their committed tables are made of their rows."""

import importlib
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
import yaml

from sbnn.report import gradients, group_rivals, inclusion, remarks, uci_settings
from sbnn.report.cells import as_csv
from sbnn.report.page import content
from sbnn.report.page.words import WORDS

RESULTS = Path(__file__).parents[1] / "results"
TINY = {"trainer": {"steps": 5}, "data": {"datasets": ["boston", "yacht"], "splits": 2}, "predictive": {"samples": 1}}


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")
    threads = torch.get_num_threads()
    yield importlib.import_module
    torch.set_num_threads(threads)


def chapter(module, folder):
    """Its text, as the page has it."""
    return "\n".join(map(str, content.study(module, folder.parent)))


def test_settings_of_uci_are_varied_study_by_study(script, tmp_path, monkeypatch):
    study = script("uci_settings")
    few = {name: lambda jobs=jobs: list(islice(jobs(), 2)) for name, jobs in study.STUDIES.items()}
    monkeypatch.setattr(study, "STUDIES", few)
    folder = tmp_path / uci_settings.FOLDER
    study.main(["--folder", str(folder)], TINY)
    rows = pd.read_csv(folder / uci_settings.ROWS)
    assert set(rows.study) == set(few)
    assert set(rows.metric) == {uci_settings.RMSE, uci_settings.SLAB}
    assert sorted(rows[rows.study == "steps"].steps.unique()) == [1000, 3000]
    assert sorted(rows[rows.study == "grid"].log_tau0.unique()) == [-6, -5]
    assert sorted(rows[rows.study == "widths"].hidden.unique()) == [25, 50]
    assert yaml.safe_load((folder / "config.yaml").read_text())["smaller"] == TINY
    assert {"steps.csv", "steps.png", "grid.csv", "grid_boston.svg", "widths.csv", "widths.png"} <= {
        path.name for path in folder.iterdir()
    }
    text = chapter(uci_settings, folder)
    assert all(f"{uci_settings.FOLDER}/{name}" in text for name in ("steps.svg", "grid_boston.svg", "widths.csv"))
    before = rows[rows.study == "grid"].reset_index(drop=True)
    study.main(["--folder", str(folder), "--only", "widths"], TINY)
    after = pd.read_csv(folder / uci_settings.ROWS)
    pd.testing.assert_frame_equal(after[after.study == "grid"].reset_index(drop=True), before)


def test_a_study_of_steps_gives_every_data_set_as_many(script):
    study = script("uci_settings")
    (_, changes), *_ = study.steps()
    settings = study.settings_of("steps", changes)
    assert {by.steps for by in settings.data.enlarge.values()} == {1}
    assert settings.trainer.steps == 1000
    assert settings.recipes["paper"]["init"]["mean_scale"] == study.ITS_OWN
    assert settings.recipes["paper"]["prior"]["log_tau0"] == -6
    assert {by.steps for by in study.settings_of("widths", {}).data.enlarge.values()} != {1}


def test_inclusion_is_looked_at_while_a_network_trains(script, tmp_path):
    study, folder = script("inclusion"), tmp_path / inclusion.FOLDER
    study.main(["--folder", str(folder), "--steps", "40"], ["boston"])
    rows = pd.read_csv(folder / "rows.csv")
    steps = sorted(rows.step.unique())
    assert len(steps) >= 5
    assert steps[-1] >= 40
    measured = rows[rows.replicate.notna()].groupby("metric").value
    assert measured.size().eq(len(steps) * study.SPLITS).all()
    assert rows[rows.metric.str.contains("share")].value.between(0, 1).all()
    binned = rows[rows.metric.str.startswith("bin of ")].groupby(["metric", "step"]).value.sum()
    assert (binned == study.SPLITS * (14 * 50 + 51)).all(), "every weight of every split lies in a bin"
    assert f"{inclusion.FOLDER}/over_time.svg" in chapter(inclusion, folder)


def test_the_sampled_gradient_has_the_closed_forms_mean_where_one_component_holds_the_weight(script, tmp_path):
    study, folder = script("gradients"), tmp_path / gradients.FOLDER
    study.main(["--folder", str(folder), "--points", "200001"])
    found = gradients.measures(pd.read_csv(folder / "rows.csv"))
    far = found[(found.log_sigma == found.log_tau1) & (found.ratio == 10)]  # deep in the slab
    assert np.allclose(far.apart, 0, atol=1e-3)
    narrow = found[(found.prior == "Experiment 5") & (found.log_sigma == found.log_tau0) & (found.ratio == 0.1)]
    assert np.allclose(narrow.apart, 0, atol=0.02)  # deep in the spike
    assert f"{gradients.FOLDER}/gradients.svg" in chapter(gradients, folder)


def test_moments_of_a_normal_by_the_trapezoid_rule(script, tmp_path, monkeypatch):
    """In the slab alone, W / tau1^2 has the mean m / tau1^2 and the deviation sigma / tau1^2."""
    study = script("gradients")
    monkeypatch.setattr(study, "PRIORS", {"wide": (1.0, -30.0)})
    monkeypatch.setattr(study, "WIDTHS", (1.0,))
    rows = pd.DataFrame(study.measured(20_001)).query("derivative == 'm' and ratio >= 2")
    sigma = np.exp(rows.log_sigma)
    assert np.allclose(rows["mean"], rows.ratio * sigma * np.exp(-2), rtol=1e-3)
    assert np.allclose(rows.sd, sigma * np.exp(-2), rtol=1e-3)


def test_rivals_of_groups_run_on_images_and_on_tables(script, tmp_path, has_images, monkeypatch):
    has_images("mnist")
    study, folder = script("group_rivals"), tmp_path / group_rivals.FOLDER
    monkeypatch.setattr(study, "SHARES", (0.0, 0.9))
    tiny = {"data": {"train_images": 500, "test_images": 100}, "finetune": []}
    tiny |= {"by_network": {"lenet_300_100": {"trainer": {"epochs": 1}}}, "progress": False}
    study.main(["--folder", str(folder), "--only", "lenet_300_100", "--seeds", "2"], tiny)
    few = {"data": {"splits": 2}, "trainer": {"steps": 20}, "predictive": {"samples": 2}, "progress": False}
    study.main(["--folder", str(folder), "--only", "boston"], few)
    rows = pd.read_csv(folder / "rows.csv")
    left = rows[(rows.metric == group_rivals.UNITS) & (rows.method == "BC-GNJ")].groupby(["droprate", "layer"]).value
    assert left.mean().loc[0.0].tolist() == [784, 300, 100]
    assert (left.mean().loc[0.9] < left.mean().loc[0.0]).all()
    table = group_rivals.units(rows)
    ours = [f"{rival.name} (ours)" for rival in reversed(study.IMAGES) for _ in study.SHARES]
    assert [(rival.name, name) for rival, name in study.asked(["yacht", "lenet_5"], ["BC-GNJ", "HS-BNN"])] == [
        ("BC-GNJ", "lenet_5"),
        ("HS-BNN", "yacht"),
    ]
    assert table.method.tolist() == ["BC-GNJ (published)", "BC-GHS (published)", *ours]
    (network, rmse), *others = group_rivals.errors(rows).items()
    assert (network.dataset, network.hidden, others) == ("boston", 50, [])
    own = rows[(rows.dataset == "boston") & (rows.metric == "rmse") & (rows.droprate == 0) & (rows.score == "snr")]
    assert rmse.mean == pytest.approx(own.value.mean())
    text = chapter(group_rivals, folder)
    assert all(f"{group_rivals.FOLDER}/{name}" in text for name in ("frontier.svg", "units.csv", "uci.csv"))


def test_the_curves_of_the_remarks_go_where_the_paper_says(script, tmp_path):
    study, folder = script("remarks"), tmp_path / remarks.FOLDER
    study.main(["--folder", str(folder)])
    rows = pd.read_csv(folder / "rows.csv")
    curves = rows.groupby(["remark", "log_tau1", "log_tau0"], sort=False)
    assert curves.p.apply(lambda p: p.is_monotonic_increasing).all()  # the first remark
    at = {remark: here[here.root == 0.1].p.tolist() for remark, here in rows.groupby("remark")}
    least = {remark: here[here.root == here.root.min()].p.tolist() for remark, here in rows.groupby("remark")}
    assert sorted(least[remarks.ALIKE]) == least[remarks.ALIKE]
    assert least[remarks.ALIKE][-1] == pytest.approx(study.PI, abs=0.03)
    assert sorted(at[remarks.WIDE], reverse=True) == at[remarks.WIDE]
    assert at[remarks.WIDE][-1] < 1e-4
    assert sorted(at[remarks.NARROW]) == at[remarks.NARROW]
    assert at[remarks.NARROW][-1] == 1
    # p = 1/2 where the second moment's two densities, weighted by pi, are alike (Eq. 10)
    log_tau1, log_tau0 = study.PRIORS[remarks.RISES][0]
    exact = np.sqrt(2 * (log_tau1 - log_tau0) / (np.exp(-2 * log_tau0) - np.exp(-2 * log_tau1)))
    first = rows[(rows.log_tau1 == log_tau1) & (rows.log_tau0 == log_tau0)]
    assert remarks.switch(first) == pytest.approx(exact, rel=0.01)
    assert f"{remarks.FOLDER}/remarks.svg" in chapter(remarks, folder)


@pytest.mark.parametrize("module", [uci_settings, inclusion, remarks, gradients, group_rivals])
def test_the_committed_tables_are_of_the_committed_rows(module):
    folder = RESULTS / module.FOLDER
    if not folder.exists():
        pytest.skip("the study has not been run")
    rows = pd.read_csv(folder / getattr(module, "ROWS", "rows.csv"))
    tables = module.tables(rows) if hasattr(module, "tables") else {"table": module.table(rows)}
    for name, table in tables.items():
        assert (folder / f"{name}.csv").read_text() == as_csv(table), "run make report"


def test_the_page_goes_on_without_studies(tmp_path):
    blocks = content.page(tmp_path, pd.read_csv(RESULTS / "claims.csv", dtype=str, keep_default_na=False))
    assert not any(
        WORDS[module.FOLDER]["title"] in str(block)
        for module in (uci_settings, inclusion, remarks, gradients, group_rivals)
        for block in blocks
    )
