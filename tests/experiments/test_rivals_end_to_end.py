"""Rivals by name, and networks that are pruned while they are trained, end to end."""

import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.errors import ConfigError
from sbnn.experiments.images import Job
from sbnn.experiments.recipes import recipes
from sbnn.model.methods import GMP, METHODS, SBNN
from sbnn.report.results import Results

pytestmark = pytest.mark.usefixtures("undrawn")
UCI = ("experiment=uci_pruning", "budget=smoke", "data.datasets=[boston]", "droprates=[0,0.5]")
LENET = ("experiment=lenet_pruning", "budget=smoke", "data.train_images=300", "data.test_images=50")


def run(configured, folder, *keys):
    execute(configured(*keys), folder)
    return pd.read_csv(folder / "rows.csv")


@pytest.mark.parametrize("rival", [method for method in METHODS.values() if method.is_rival], ids=lambda m: m.name)
def test_every_rival_runs_on_uci(rival, configured, tmp_path):
    alone = "trainer.gradual.biases=false" if rival.comeback == "gradient" else "trainer.gradual.biases=true"
    keys = (*UCI, "recipe=paper", f"rivals=[{rival.name}]", "prune_gradually=[0.5]", "trainer.gradual.every=10", alone)
    rows = run(configured, tmp_path / "out", *keys)
    own = rows[rows.method == rival.name]
    error = "rmse" if rival.comeback is None else "gradual_rmse"
    assert set(own[own.metric == error].droprate) == ({0, 0.5} if rival.comeback is None else {0.5})
    assert own[own.metric == error].value.between(1, 12).all()  # Boston's target has a standard deviation of 9.2


def test_a_gradual_network_is_one_of_its_own(configured, tmp_path):
    keys = ("recipe=gradual", "rivals=[GMP]", "prune_gradually=[0.5,0.9]", "trainer.gradual.every=10")
    rows = run(configured, tmp_path / "out", *UCI, *keys)
    assert set(rows.method) == {SBNN.name, GMP.name}
    assert set(rows.metric) == {f"gradual_{metric}" for metric in ("rmse", "nll", "coverage", "active")}
    assert set(rows.droprate) == {0.5, 0.9}
    tables = Results(tmp_path / "out").tables
    assert list(tables) == ["gradual"]
    assert {"sBNN gradual", "GMP", "sBNN gradual − GMP"} <= set(tables["gradual"].columns)


def test_seeds_are_replicates(configured, tmp_path, has_images):
    has_images("mnist")
    keys = ("recipe=gradual", "rivals=[]", "vary.network=[lenet_300_100]", "prune_gradually=[0.9]", "data.seeds=2")
    rows = run(configured, tmp_path / "out", *LENET, *keys)
    errors = rows[rows.metric == "gradual_error"]
    assert sorted(errors.replicate) == [0, 1]
    assert errors.value.nunique() == 2
    kept = rows[rows.metric == "gradual_kept"].groupby("replicate").value.sum()
    assert (kept == 266_200 - round(0.9 * 266_200) + 410).all()  # biases stay


def test_what_was_measured_before_a_cut_is_not_trained_again(configured, tmp_path, has_images, monkeypatch):
    has_images("mnist")
    keys = ("recipe=gradual", "rivals=[]", "vary.network=[lenet_300_100]", "prune_gradually=[0.9,0.95]")
    whole = run(configured, tmp_path / "whole" / "out", *LENET, *keys)
    trained, really = [], Job.train

    def train(job, *given):
        trained.append(job.settings.trainer.prune_to)
        if len(trained) == 2:
            raise KeyboardInterrupt
        return really(job, *given)

    monkeypatch.setattr(Job, "train", train)
    with pytest.raises(KeyboardInterrupt):
        run(configured, tmp_path / "cut" / "out", *LENET, *keys)
    for checkpoint in (tmp_path / "cut" / ".checkpoints").rglob("*.pt"):
        checkpoint.unlink()
    again = run(configured, tmp_path / "cut" / "out", *LENET, *keys)

    assert trained == [0.9, 0.95, 0.95]
    pd.testing.assert_frame_equal(again, whole)
    histories = [pd.read_csv(tmp_path / name / "out" / "history.csv") for name in ("whole", "cut")]
    pd.testing.assert_frame_equal(*(history.drop(columns="seconds") for history in histories))
    assert not list(tmp_path.rglob("*.pt"))


def test_whole_units_are_pruned_too(configured, tmp_path, has_images):
    has_images("mnist")
    keys = ("recipe=tuned", "rivals=[]", "vary.network=[lenet_300_100]", "droprates=[0,0.9]", "finetune=[]")
    rows = run(configured, tmp_path / "out", *LENET, *keys)
    table = Results(tmp_path / "out").tables["units"]
    ours = table[table.network.eq("LeNet-300-100") & table.epochs.notna()]
    assert list(ours["weights removed %"]) == pytest.approx([0, 90, 0, 90], abs=1)
    assert list(ours["units left"])[::2] == ["784-300-100"] * 2
    left = rows[(rows.metric == "units") & (rows.droprate == 0.9)]
    left = left.pivot_table(index="score", columns="layer", values="value")
    assert (left.to_numpy() < [784, 300, 100]).any(axis=1).all()
    assert "278-98-13" in set(table["units left"])


def test_a_recipe_may_name_droprates_of_its_own(settings_from):
    plain = recipes(settings_from(*UCI, "recipe=tuned", "rivals=[MAP]"))
    assert [own.trainer.prune_to for _, _, own in plain] == [None, None]
    more = recipes(settings_from(*UCI, "recipe=tuned", "rivals=[MAP]", "+recipes.MAP.prune_gradually=[0.5]"))
    assert [own.trainer.prune_to for _, _, own in more] == [None, None, 0.5]


def test_what_cannot_be_is_said_before_training(configured, tmp_path):
    keys = (*UCI, "recipe=gradual", "rivals=[]", "prune_gradually=[0.5]", "trainer.gradual.comeback=magnitude")
    with pytest.raises(ConfigError, match=r"recipes.gradual: trainer.gradual.comeback=magnitude is for point"):
        execute(configured(*keys), tmp_path / "out")
    with pytest.raises(ConfigError, match=r"prune_gradually=1.0 must be a number in \(0, 1\)"):
        execute(configured(*UCI, "prune_gradually=[1.0]"), tmp_path / "out")
    assert not (tmp_path / "out").exists()
