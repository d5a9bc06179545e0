"""Experiment 7: CIFAR-10, two hidden layers, as weights are pruned."""

import math
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import BBB, NN, SBNN, Method
from sbnn.report import interactive
from sbnn.report.claims import LEFT_OUT, Finding, Judge, within
from sbnn.report.image_curves import UNIT, Curve, calibration, curves
from sbnn.report.perceptrons import (
    PRUNED,
    TREATMENTS,
    PerceptronReport,
    figure,
    network,
    papers_curves,
    pruning,
    published,
)
from sbnn.report.reliability import reliability
from sbnn.report.statistics import in_deviations

JUDGED = ("none", "crop_and_flip")  # treatments of the training images


def networks(
    rows: pd.DataFrame, method: Method, recipe: str, *droprates: float, score: str | None = None
) -> dict[str, Curve]:
    """The networks that were run, by what was done to the training images."""
    found = {a: network(rows, method, recipe, augmentation=a, score=score) for a in JUDGED}
    return {treatment: curve for treatment, curve in found.items() if curve.has(*droprates)}


def full_of(run: dict[str, Curve]) -> str:
    """Errors of full networks, in words."""
    return ", ".join(f"{n.error[0.0]:.2f} % ({a}, {n.epochs} epochs)" for a, n in run.items())


def full_error(rows: pd.DataFrame) -> Finding:
    run = networks(rows, SBNN, "tuned", 0.0)
    if not run:
        return LEFT_OUT
    text = full_of(run)
    if plain := networks(rows, NN, "ours", 0.0):
        text += f"; a deterministic network {full_of(plain)}"
    best = min(run.values(), key=lambda curve: curve.error[0.0])
    limit = published(rows.dataset.iloc[0], SBNN, PRUNED)[0.0].value + 1
    margin = round(limit - best.error[0.0], 2)
    return Finding(text, best.se, [margin >= 0], " points", margin, margins=[best.below(limit, 0.0)])


def survives(rows: pd.DataFrame) -> Finding:
    run = networks(rows, SBNN, "tuned", 0.0, 0.9)
    if not run:
        return LEFT_OUT
    text = ", ".join(f"{curve.change(0.9)} ({treatment})" for treatment, curve in run.items())
    margins = {treatment: round(1 - curve.rise(0.9), 2) for treatment, curve in run.items()}
    holds = [treatment in run and margins[treatment] >= 0 for treatment in JUDGED]
    se = max(curve.rise_error(0.9) for curve in run.values())
    over_seeds = [curve.rise_below(1, 0.9) for curve in run.values()]
    return Finding(text, se, holds, " points", min(margins.values(), key=abs), margins=over_seeds)


def cheaper_than_bbb(rows: pd.DataFrame) -> Finding:
    ours = networks(rows, SBNN, "tuned", 0.0, 0.98, score=BBB.score)
    rivals = networks(rows, BBB, "ours", 0.0, 0.98)
    rises = {a: (ours[a].relative_rise(0.98), rivals[a].relative_rise(0.98)) for a in ours if a in rivals}
    if not rises:
        return LEFT_OUT
    errors = {a: math.hypot(ours[a].relative_error(0.98), rivals[a].relative_error(0.98)) for a in rises}
    text = ", ".join(
        f"{own:+.1%} against {other:+.1%} ({a}{within(own - other, errors[a])})" for a, (own, other) in rises.items()
    )
    holds = [a in rises and rises[a][0] < rises[a][1] / 2 and rises[a][1] > 0 for a in JUDGED]
    margins = [in_deviations(rivals[a].relative_rises(0.98) / 2 - ours[a].relative_rises(0.98)) for a in rises]
    return Finding(text, 100 * max(errors.values()), holds, " points", margins=margins)


class CifarPruning(PerceptronReport):
    claims: ClassVar[dict[str, Judge]] = {"7a": full_error, "7b": survives, "7c": cheaper_than_bbb}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return {"pruning": pruning(rows), "calibration": calibration(rows)}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        treated = [(rows[rows.augmentation == a], TREATMENTS[a]) for a in rows.augmentation.unique()]
        return {"pruning": figure(rows), "calibration": reliability(treated)}

    def curve(self, rows: pd.DataFrame) -> dict:
        by, title = ["augmentation"], lambda panel: TREATMENTS[panel.augmentation]
        return interactive.plot(curves(rows), by, UNIT, title, papers_curves)


REPORT = CifarPruning()
