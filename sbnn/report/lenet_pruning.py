"""Experiment 8: LeNet-300-100 and LeNet-5 on MNIST, pruned."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import BBB, MAP, NN, SBNN
from sbnn.report import interactive
from sbnn.report.cells import Percent, Published
from sbnn.report.claims import LEFT_OUT, Finding, Judge, within
from sbnn.report.compression import (
    TITLES,
    CompressionReport,
    by_sparsity,
    comparison,
    errors,
    every_curve,
    layers,
    network,
    papers_curve,
    with_epochs,
)
from sbnn.report.factors import factors
from sbnn.report.frontier import frontier
from sbnn.report.image_curves import NETWORK, UNIT, Curve, calibration, cell, own_curves
from sbnn.report.names import called
from sbnn.report.operating_points import operating_points
from sbnn.report.reliability import reliability
from sbnn.report.rivals import rivals
from sbnn.report.statistics import in_deviations
from sbnn.report.style import PRINTED as PRINTED_LOOK
from sbnn.report.style import left, line, look, name_lines, panels, plain_ticks, weights_left
from sbnn.report.units import units

PRINTED = pd.read_csv(Path(__file__).with_name("paper") / "lenet5.csv")  # errors in per cent of the paper's two priors
FAR = 0.96  # the droprate at which the paper's figure begins
BELIEVED = [method.name for method in (SBNN, BBB, NN, MAP)]  # in the figure of calibration
SETS, OURS = ("set_1", "set_2"), ("tuned",)


def at_most(name: str, droprate: float, limit: float, stated: tuple[str, ...]) -> Judge:
    """The error at a droprate: reproduced by one of the stated recipes, partly by another of the recipes only."""

    def find(rows: pd.DataFrame) -> Finding:
        curves = {recipe: network(rows, name, recipe) for recipe in (*SETS, *OURS)}
        margins = {recipe: round(limit - c.error[droprate], 2) for recipe, c in curves.items() if c.has(droprate)}
        if not margins:
            return LEFT_OUT
        text = "; ".join(
            f"{with_epochs(recipe, curves[recipe])} {curves[recipe].error[droprate]:.2f} %" for recipe in margins
        )
        best = max((recipe for recipe in margins if recipe in stated), key=margins.get, default=None)
        by_stated = best is not None and margins[best] >= 0
        shown = curves[best or next(iter(margins))]
        holds = [by_stated, by_stated or max(margins.values()) >= 0]
        over_seeds = [shown.below(limit, droprate)] if best else []
        return Finding(text, shown.spread[droprate], holds, " points", margins.get(best), margins=over_seeds)

    return find


def set_1(rows: pd.DataFrame) -> Finding:
    curve = network(rows, "lenet_5", "set_1")
    if not curve.has(0.0, 0.96, 0.98):
        return LEFT_OUT
    full, lost = curve.error[0.0], curve.error[0.98]
    holds = [full <= 0.85, curve.rise(0.96) <= 0.15, lost > 1.5]
    margins = [curve.below(0.85, 0.0), curve.rise_below(0.15, 0.96), -curve.below(1.5, 0.98)]
    return Finding(errors(curve, 0.0, 0.96, 0.98), curve.se, holds, " points", 0.85 - full, margins=margins)


def set_2(rows: pd.DataFrame) -> Finding:
    curve = network(rows, "lenet_5", "set_2")
    if not curve.has(0.0, 0.992, 0.997):
        return LEFT_OUT
    full, last = curve.error[0.0], curve.error[0.997]
    holds = [full <= 1.18, curve.rise(0.992) <= 0.15, last <= 2.0]
    margins = [curve.below(1.18, 0.0), curve.rise_below(0.15, 0.992), curve.below(2.0, 0.997)]
    return Finding(errors(curve, 0.0, 0.992, 0.997), curve.se, holds, " points", 1.18 - full, margins=margins)


def sturdier(rows: pd.DataFrame) -> Finding:
    one, two = (network(rows, "lenet_5", recipe) for recipe in SETS)
    if not one.has(0.0, 0.98) or not two.has(0.0, 0.98):
        return LEFT_OUT
    se = math.hypot(one.spread[0.98], two.spread[0.98])  # at 98 %, where they are nearer each other
    noise = within(two.error[0.98] - one.error[0.98], se)
    text = f"set 1 {errors(one, 0.0, 0.98)}; set 2 {errors(two, 0.0, 0.98)}{noise}"
    holds = [two.error[0.0] > one.error[0.0], two.error[0.98] < one.error[0.98]]
    above = (two.seeds - one.seeds).dropna()  # seed by seed
    return Finding(text, se, holds, " points", margins=[in_deviations(above[0.0]), in_deviations(-above[0.98])])


class LenetPruning(CompressionReport):
    claims: ClassVar[dict[str, Judge]] = {
        "8a": at_most("lenet_300_100", 0.95, 2.04, SETS),
        "8b": at_most("lenet_5", 0.992, 1.16, ("set_2",)),
        "8c": set_1,
        "8d": set_2,
        "8e": sturdier,
    }

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        found = {"comparison": comparison(rows), "layers": layers(rows), "calibration": calibration(rows)}
        found |= {f"comparison_{name}": by_sparsity(rows, name) for name in TITLES if name in set(rows.network)}
        found["factors"] = factors(rows)
        if rows.metric.str.startswith("chosen_").any():
            found["operating_points"] = operating_points(rows, NETWORK, "error")
        if "unit_error" in set(rows.metric):
            found["units"] = units(rows)
        if "lenet_5" in set(rows.network):
            found["lenet5_droprates"] = droprates(rows)
        return found

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        drawn = {"frontier": frontier(rows), "rivals": rivals(rows)}
        compared = rows[rows.method.isin(BELIEVED)]
        if "ece" in set(compared.metric):  # which networks pruned in training alone do not have
            drawn["calibration"] = reliability((compared[compared.network == name], TITLES[name]) for name in TITLES)
        ours = rows[(rows.network == "lenet_5") & (rows.method == SBNN.name) & (rows.score == SBNN.score)]
        if (ours.droprate >= FAR).any():
            drawn["proportional_increase"] = proportional_increase(ours)
        return drawn

    def curve(self, rows: pd.DataFrame) -> dict:
        return interactive.plot(every_curve(rows), ["network"], UNIT, lambda p: TITLES[p.network], papers_curves)


def papers_curves(panel: pd.Series) -> Iterator[dict]:
    """What the paper prints for the network of a panel in the interactive plot."""
    if panel.network == "lenet_5":
        for recipe in SETS:
            yield interactive.printed(f"{called(SBNN.name, recipe)} (paper)", PRINTED.droprate, PRINTED[recipe])
    else:
        yield papers_curve(panel.network)


def droprates(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's second table: LeNet-5 under its two priors, ranked by inclusion, and under our recipe."""
    own = own_curves(rows[(rows.network == "lenet_5") & (rows.method == SBNN.name)])
    lines = []
    for droprate, found in own.groupby("droprate"):
        line = {"removed": Percent(droprate), "weights left": round(found.weights.iloc[0] * (1 - droprate))}
        for recipe in (*SETS, *OURS):
            name, theirs = called(SBNN.name, recipe), None
            if recipe in SETS:
                printed = PRINTED[PRINTED.droprate == droprate][recipe]
                theirs = None if printed.empty else Published(f"{printed.iloc[0]:.2f}")
                line[f"{name} (paper)"] = theirs
            for _, row in found[found.recipe == recipe].iterrows():
                line[f"{name} ({row.epochs} epochs)"] = cell(row, theirs)
        lines.append(line)
    return pd.DataFrame(lines)


def proportional_increase(ours: pd.DataFrame) -> Figure:
    """The paper's figure: error over the full network's, from 96 % pruned, theirs and ours."""
    places = sorted(d for d in ours.droprate.unique() if d >= FAR)
    drawn, (ax,) = panels(1, width=6.4, height=3.8)
    for recipe, marker in zip(SETS, "x+", strict=True):
        printed = PRINTED[PRINTED.droprate.isin(places)]
        ratio, label = printed[recipe] / PRINTED[recipe].iloc[0], f"{called(SBNN.name, recipe)} (paper)"
        ax.plot(100 * (1 - printed.droprate), ratio, label=label, **PRINTED_LOOK | {"marker": marker})
    for recipe in [recipe for recipe in (*SETS, *OURS) if recipe in set(ours.recipe)]:
        curve = Curve(ours[ours.recipe == recipe])
        lines = [(d, 1 + curve.relative_rise(d), curve.relative_error(d)) for d in places]
        ratios = left(pd.DataFrame(lines, columns=["droprate", "mean", "se"]))
        line(ax, ratios, "left", look(SBNN.name, recipe), f"{called(SBNN.name, recipe)}, {curve.trained}")
    ax.set(yscale="log", ylabel="error / error of the full network", title=TITLES["lenet_5"])
    weights_left(ax, places, most=4)
    plain_ticks(ax)
    name_lines(ax)
    return drawn


REPORT = LenetPruning()
