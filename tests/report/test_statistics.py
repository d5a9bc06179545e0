"""Margins and bounds of the claims, against their definitions."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from sbnn.report.claims import Finding, judge, least, signed
from sbnn.report.simulated_selection_claims import reached
from sbnn.report.statistics import in_deviations, student


def test_students_bound_is_that_of_a_t_test():
    assert student(10) == pytest.approx(2.262, abs=1e-3)
    assert student(None) == 2
    assert math.isnan(student(1))


@pytest.mark.parametrize("shift", [-1.0, 0.1, 0.6, 2.0])
def test_a_margin_beyond_noise_is_positive_where_a_t_test_says_so(shift):
    distances = np.random.default_rng(0).normal(shift, 1, 8)
    assert in_deviations(distances) == pytest.approx(distances.mean() / distances.std(ddof=1))
    below = stats.ttest_1samp(distances, 0, alternative="greater").pvalue < 0.025
    assert (in_deviations(distances, beyond_noise=True) > 0) == below


def test_margins_of_too_few_or_equal_replicates():
    assert math.isnan(in_deviations(pd.Series([0.3])))
    assert in_deviations(pd.Series([0.5, 0.5])) == math.inf
    assert in_deviations(pd.Series([-0.5, -0.5])) == -math.inf
    assert signed([1.23, math.nan, -math.inf, 363.4, -0.04, 0.0]) == "+1.2 / – / < -10 / > +10 / -0.04 / +0"
    assert least("+1.2 / – / < -10 / > +10") == "< -10"
    assert least("> +10 / -0.04") == "-0.04"
    assert least("–") == least("") == ""
    assert signed([math.nan]) == signed([]) == ""


def test_a_margin_reached_by_a_share():
    margins = [3.0, -1.0, 2.0, 0.5, 1.0]
    assert reached(margins, 0.8) == 0.5  # by 4 of 5
    assert reached(margins, 1.0) == -1.0
    assert reached(margins, 0.6) == 1.0
    assert reached(margins[:1], 0.1) == 3.0


def test_few_replicates_widen_what_counts_as_noise():
    assert "within noise" not in Finding("ours", 0.1, [True], margin=0.22).text
    assert "within noise" in Finding("ours", 0.1, [True], margin=0.22, replicates=5).text


def test_an_altered_criterion_keeps_its_old_verdict():
    holds, fails = (lambda rows, good=good: Finding("ours", None, [good], margins=[1.0]) for good in (True, False))
    judges = dict.fromkeys(["2a", "2b", "2c"], holds)
    found = judge("simulated_correlation", judges, pd.DataFrame(), "test", {"2a": fails}).set_index("id")
    assert list(found["verdict"]) == ["reproduced"] * 3
    assert list(found["old_verdict"]) == ["not reproduced", "", ""]
    assert found.loc["2a", "old_criterion"] == "mean correlation >= 0.90 in every cell (standardised y)"
    assert list(found["margin"]) == ["+1.0"] * 3
