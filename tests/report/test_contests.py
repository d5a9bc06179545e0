"""Who improves on whom, and means over seeds."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sbnn.report.headlines import strongest
from sbnn.report.image_curves import curves
from sbnn.report.improvement import improvements
from sbnn.report.operating_points import operating_points


def series(values: dict[tuple[str, int], float]) -> pd.Series:
    index = pd.MultiIndex.from_tuples(
        [(name, 50, split) for name, split in values], names=["dataset", "hidden", "replicate"]
    )
    return pd.Series(list(values.values()), index)


def test_the_probability_of_improvement_weighs_datasets_alike():
    """Three wins of four on one dataset, one win and a tie of two on the other: (3/4 + 3/4) / 2."""
    ours = series({("a", 0): 1, ("a", 1): 1, ("a", 2): 1, ("a", 3): 3, ("b", 0): 1, ("b", 1): 2})
    theirs = series({("a", 0): 2, ("a", 1): 2, ("a", 2): 2, ("a", 3): 2, ("b", 0): 2, ("b", 1): 2})
    (found,) = improvements({"ours": ours, "theirs": theirs}).to_dict("records")
    assert (found["method"], found["better than"], found["datasets"]) == ("ours", "theirs", 2)
    assert found["probability"] == pytest.approx(0.75)
    assert found["95 % from"] < 0.75 < found["to"]
    swapped = improvements({"theirs": theirs, "ours": ours}).probability.item()
    assert swapped == pytest.approx(0.25)


def test_a_certain_improvement_has_no_interval():
    ours, theirs = (series({("a", split): value for split in range(5)}) for value in (1.0, 2.0))
    found = improvements({"ours": ours, "theirs": theirs})
    assert found[["probability", "95 % from", "to"]].to_numpy().tolist() == [[1.0, 1.0, 1.0]]


def test_curves_are_means_over_seeds():
    shared = {
        "method": "NN",
        "recipe": "ours",
        "score": "magnitude",
        "droprate": 0.0,
        "metric": "error",
        "measured": 100,
    }
    values = [0.02, 0.04, 0.03]
    rows = pd.DataFrame([{**shared, "replicate": seed, "value": value} for seed, value in enumerate(values)])
    several, one = curves(rows).iloc[0], curves(rows[:1]).iloc[0]
    assert several["mean"] == pytest.approx(3.0)
    assert several.se == pytest.approx(100 * np.std(values, ddof=1) / 3**0.5)
    assert one.se == pytest.approx(100 * (0.02 * 0.98 / 100) ** 0.5)  # over images


def test_the_strongest_rival_is_named_with_the_best_of_ours(tmp_path):
    (tmp_path / "rows.csv").touch()
    shared = {"network": "lenet_300_100", "droprate": 0.985, "measured": 10_000, "epochs": 100}
    networks = [
        ("sBNN", "tuned", "inclusion", "error", (0.020, 0.022)),
        ("sBNN", "gradual", "snr", "gradual_error", (0.017, 0.018)),
        ("SparseVD", "ours", "snr", "error", (0.016,)),
        ("SparseVD", "ours", "magnitude", "error", (0.010,)),  # not by its own score
        ("GMP", "ours", "magnitude", "gradual_error", (0.019, 0.019)),
    ]
    rows = pd.DataFrame(
        {**shared, "method": m, "recipe": r, "score": s, "metric": metric, "replicate": seed, "value": value}
        for m, r, s, metric, values in networks
        for seed, value in enumerate(values)
    )
    found = strongest({"lenet_pruning": SimpleNamespace(folder=tmp_path, rows=rows)})
    sides = "Sparse VD (pruned at the end, 1 seed) 1.60 ± 0.13 %", "sBNN gradual (pruned while trained, 2 seeds) 1.75"
    assert f"on LeNet-300-100 with 98.5 % pruned, {' against '.join(sides)} ± 0.05 %." in found
    assert strongest({}) == ""
    assert strongest({"lenet_pruning": SimpleNamespace(folder=tmp_path, rows=rows[rows.method == "sBNN"])}) == ""


def test_operating_points_stand_next_to_the_full_network():
    shared = {"method": "sBNN", "recipe": "tuned", "replicate": 0}
    rows = pd.DataFrame(
        [
            {**shared, "metric": "error", "score": "inclusion", "droprate": 0.0, "value": 0.02},
            {**shared, "metric": "chosen_error", "score": "snr", "value": 0.03},
            {**shared, "metric": "chosen_kept", "score": "snr", "value": 0.05},
        ]
    )
    (found,) = operating_points(rows, ["method", "recipe"], "error").to_dict("records")
    assert (found["threshold"], found["kept %"], found["error"]) == ("log alpha < 3", 5.0, 0.03)
    assert found["error of the full network"] == 0.02
