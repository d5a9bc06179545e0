"""Claims that several experiments settle together: what counts as better, and what is left out."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sbnn.report import across, gradients, sensitivity
from sbnn.report.across import Evidence
from sbnn.report.claims import NOT, NOT_RUN, PARTLY, REPRODUCED

RESULTS = Path(__file__).parents[2] / "results"


def rows_of(errors: dict[float, list[float]], **columns) -> pd.DataFrame:
    """Errors by droprate, one for each replicate."""
    lines = [(d, r, value) for d, values in errors.items() for r, value in enumerate(values)]
    fixed = {"method": "sBNN", "recipe": "paper", "score": "inclusion", "metric": "test_mse", "active_share": 0.2}
    return pd.DataFrame(lines, columns=["droprate", "replicate", "value"]).assign(**fixed | columns)


@pytest.fixture
def judged(tmp_path):
    """The verdict on a claim by an experiment's rows."""

    def verdict(claim: str, **rows: pd.DataFrame):
        evidence = Evidence(tmp_path, {})
        evidence.rows = rows
        return across.JUDGES[claim](evidence)

    return verdict


def test_a_pruned_network_is_better_only_beyond_noise_and_for_all_droprates_together(judged):
    full = [1.0, 1.1, 0.9, 1.05, 0.95]
    lower = [value - 0.1 + 0.001 * n for n, value in enumerate(full)]
    noisy = [value - gap for value, gap in zip(full, (0.3, -0.1, 0.2, -0.2, 0.1), strict=True)]
    assert judged("10a", simulated_pruning=rows_of({0.0: full, 0.5: lower})).verdict == REPRODUCED
    assert judged("10a", simulated_pruning=rows_of({0.0: full, 0.5: noisy})).verdict == NOT
    both = {"simulated_pruning": rows_of({0.0: full, 0.5: lower})}
    both["uci_pruning"] = rows_of({0.0: full, 0.5: noisy}, metric="rmse", dataset="boston", hidden=50)
    found = judged("10a", **both)
    assert found.verdict == PARTLY
    assert found.ours == "networks: Experiment 4: 1 of 1; Experiment 5: 0 of 1"


def test_a_bound_is_divided_by_the_number_of_droprates():
    full = [1.0, 1.1, 0.9, 1.05, 0.95]
    lower = [value - gap for value, gap in zip(full, (0.1, 0.12, 0.05, 0.02, 0.15), strict=True)]
    one = across.gain("simulated_pruning", rows_of({0.0: full, 0.5: lower}, metric="error"))
    three = across.gain(
        "simulated_pruning", rows_of({0.0: full, 0.5: lower, 0.8: full[::-1], 0.9: full[::-1]}, metric="error")
    )
    assert three == pytest.approx(3 * one)
    wider = across.gain("uci_pruning", rows_of({0.0: full, 0.5: lower}, metric="error"))
    assert wider > one, "splits share their training rows"


def test_one_network_on_images_is_judged_by_the_images_whose_answer_changed(judged):
    fixed = {"metric": "error", "width": 1200, "measured": 10_000}
    errors = rows_of({0.0: [0.0200], 0.9: [0.0150]}, **fixed)
    switched = rows_of({0.9: [0.0060]}, **fixed | {"metric": "switched"})
    assert judged("10a", mnist_pruning=errors).verdict == NOT, "nothing says how sure it is"
    assert judged("10a", mnist_pruning=pd.concat([errors, switched])).verdict == REPRODUCED
    many = rows_of({0.9: [0.5]}, **fixed | {"metric": "switched"})
    assert judged("10a", mnist_pruning=pd.concat([errors, many])).verdict == NOT


def test_scores_are_compared_by_how_far_each_prunes(judged):
    by_inclusion = rows_of({0.0: [1.0], 0.5: [1.0], 0.9: [2.0]})
    by_snr = rows_of({0.0: [1.0], 0.5: [1.2], 0.9: [2.0]}, score="snr")
    assert judged("10b", simulated_pruning=pd.concat([by_inclusion, by_snr])).verdict == REPRODUCED
    swapped = pd.concat([by_inclusion.assign(score="snr"), by_snr.assign(score="inclusion")])
    assert judged("10b", simulated_pruning=swapped).verdict == NOT
    assert judged("10b", simulated_pruning=by_inclusion).verdict == NOT_RUN, "one score cannot be compared"


def test_settings_matter_by_the_widest_move_of_the_spike(judged):
    def grid(prunable: dict[float, float], full: dict[float, float]) -> pd.DataFrame:
        cells = []
        for spike, share in prunable.items():
            errors = {d: [full[spike] * (1 if d <= share else 2)] for d in (0.0, 0.5, 0.55, 0.7)}
            cells.append(rows_of(errors, metric=sensitivity.ERROR, mean_scale=0.1, log_tau0=spike))
        slab = rows_of({0.0: [0.5]}, metric=sensitivity.SLAB, mean_scale=0.1, log_tau0=-6.0)
        return pd.concat([*cells, slab])

    still = judged("10c", simulated_pruning=grid({-6.0: 0.5, -2.0: 0.55}, {-6.0: 1.0, -2.0: 1.04}))
    assert still.verdict == REPRODUCED
    moved = judged("10c", simulated_pruning=grid({-6.0: 0.5, -2.0: 0.7}, {-6.0: 1.0, -2.0: 1.04}))
    assert moved.verdict == PARTLY
    assert moved.ours == "at most, Experiment 4: error by 4%, share that can go by 20 points"


def test_means_that_agree_at_some_points_only_do_not_reproduce():
    rows = pd.DataFrame(
        {"prior": "one", "derivative": ["m", "m", "sigma"], "ratio": [1.0, 2.0, 1.0], "log_sigma": 0.0}
        | {"closed": [1.0, 1.0, 0.0], "mean": [1.04, 1.5, 0.01], "sd": [1.0, 2.0, 3.0]}
    )
    found = gradients.same_mean(rows)
    assert found.holds == [False, True]
    assert "at 1 of 2 points" in found.ours
    assert gradients.same_mean(rows[rows.ratio == 1]).verdict == REPRODUCED


def test_without_anything_to_judge_by_nothing_is_judged(tmp_path):
    assert set(across.verdicts(tmp_path, {}).verdict) == {NOT_RUN}


def test_a_smoke_run_or_a_damaged_folder_settles_nothing(tmp_path):
    folder = tmp_path / "uci_pruning"
    folder.mkdir()
    facts = json.loads((RESULTS / "uci_pruning" / "run.json").read_text())
    (folder / "rows.csv").write_bytes((RESULTS / "uci_pruning" / "rows.csv").read_bytes()[:5000])
    for budget in ("smoke", "laptop"):
        (folder / "run.json").write_text(json.dumps(facts | {"budget": budget}))
        assert ("uci_pruning" in Evidence(tmp_path, {}).rows) == (budget == "laptop")
    (folder / "run.json").write_text("{")
    assert "uci_pruning" not in Evidence(tmp_path, {}).rows


def test_the_committed_verdicts_are_of_the_committed_rows():
    found = across.verdicts(RESULTS, {}).set_index("id")
    board = pd.read_csv(RESULTS / "claims.csv", dtype=str, keep_default_na=False).set_index("id")
    assert (board.loc[found.index, ["ours", "verdict"]] == found[["ours", "verdict"]]).all(axis=None), "run make report"
    assert np.isin(found.verdict, [REPRODUCED, PARTLY, NOT, NOT_RUN]).all()
