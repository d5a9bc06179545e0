"""Experiment 9: a VGG-like network on CIFAR-10, pruned."""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report import interactive
from sbnn.report.cells import Percent
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.compression import (
    TITLES,
    CompressionReport,
    comparison,
    errors,
    every_curve,
    layers,
    network,
    papers_curve,
    width_of,
    with_epochs,
)
from sbnn.report.frontier import legend_of, trade_off
from sbnn.report.image_curves import LABEL, UNIT, Curve, calibration, cell, curves, in_order, named, own_curves
from sbnn.report.names import called
from sbnn.report.reliability import reliability
from sbnn.report.style import left, line, look, panels, plain_ticks, weights_left
from sbnn.report.units import units

NAME = "vgg_like"
FULL_WIDTH = 1.0


def of_vgg(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that name their network, of which this experiment has one."""
    return rows.assign(network=NAME)


def run_curves(rows: pd.DataFrame, *droprates: float) -> dict[str, Curve]:
    """The networks that were run, by the paper's prior and by ours."""
    found = {recipe: network(of_vgg(rows), NAME, recipe) for recipe in ("paper", "tuned")}
    return {recipe: curve for recipe, curve in found.items() if curve.has(*droprates)}


def full_accuracy(rows: pd.DataFrame) -> Finding:
    """A narrower network says nothing of the paper's."""
    run, width = run_curves(rows, 0.0), float(rows.width.max())
    if not run:
        return LEFT_OUT
    accuracies = (f"{with_epochs(recipe, curve)} {100 - curve.error[0.0]:.2f} %" for recipe, curve in run.items())
    is_judged = width == FULL_WIDTH
    holds = ["paper" in run and run["paper"].error[0.0] <= 9.1] if is_judged else []
    margins = [run["paper"].below(9.1, 0.0)] if is_judged and "paper" in run else []
    se = max(curve.se for curve in run.values())
    return Finding(f"{'; '.join(accuracies)}, at width {width:g}", se, holds, " points", margins=margins)


def survives(rows: pd.DataFrame) -> Finding:
    run = run_curves(rows, 0.0, 0.985)
    if not run:
        return LEFT_OUT
    margins = {recipe: round(0.5 - curve.rise(0.985), 2) for recipe, curve in run.items()}
    good = [recipe for recipe, margin in margins.items() if margin >= 0]
    text = "; ".join(f"{with_epochs(recipe, curve)} {errors(curve, 0.0, 0.985)}" for recipe, curve in run.items())
    se = max(curve.rise_error(0.985) for curve in run.values())
    text = f"{text}, at width {rows.width.max():g}"
    nearest = min(margins.values(), key=abs)
    over_seeds = [run["paper"].rise_below(0.5, 0.985)] if "paper" in run else []
    return Finding(text, se, ["paper" in good, bool(good)], " points", nearest, margins=over_seeds)


class VggPruning(CompressionReport):
    claims: ClassVar[dict[str, Judge]] = {"9a": full_accuracy, "9b": survives}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        rows = of_vgg(rows)
        found = {"comparison": comparison(rows), "pruning": pruning(rows), "layers": layers(rows)}
        if "unit_error" in set(rows.metric):
            found["units"] = units(rows)
        return {**found, "calibration": calibration(rows)}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {"pruning": with_statistics(of_vgg(rows)), "calibration": reliability([(rows, title(rows.iloc[0]))])}

    def curve(self, rows: pd.DataFrame) -> dict:
        theirs = papers_curve(NAME, f"{SBNN.label} (paper, width 1)")
        return interactive.plot(every_curve(rows), ["width"], UNIT, title, lambda panel: [theirs])

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame:
        return super().closing(of_vgg(rows))


def title(panel: pd.Series) -> str:
    return f"{TITLES[NAME]}, width {panel.width:g}"


def pruning(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in per cent by droprate under every score; `old statistics` are batch norm's of training."""
    own, stale = in_order(curves(rows)), in_order(curves(rows, "stale_error"))
    lines = []
    for droprate, found in own.groupby("droprate"):
        line = {"removed": Percent(droprate), "weights left": round(found.weights.iloc[0] * (1 - droprate))}
        for more, part in (("", found), (", old statistics", stale[stale.droprate == droprate])):
            line |= {f"{named(c)}{width_of(c)}, {c.score}{more}": cell(c) for _, c in part.iterrows()}
        lines.append(line)
    return pd.DataFrame(lines)


def with_statistics(rows: pd.DataFrame) -> Figure:
    """Error against what is left, and what taking the statistics of batch norm again does to it."""
    drawn, (compared, again) = panels(2, width=4.9, height=3.6)
    trade_off(compared, rows, NAME)
    compared.set_title(f"{TITLES[NAME]}, width {rows.width.iloc[0]:g} (published: 1)")
    legend_of(compared, 7.5)
    ours = rows[rows.method == SBNN.name]
    for metric, dash, what in (("error", "-", "taken again"), ("stale_error", "--", "of training")):
        for recipe, curve in own_curves(ours, metric).groupby("recipe", sort=False):
            label = f"{called(SBNN.name, recipe)}, {what}"
            line(again, left(curve), "left", look(SBNN.name, recipe), label, ls=dash, markersize=3)
    again.set(yscale="log", title=f"{TITLES[NAME]}, batch norm's statistics", ylabel=LABEL)
    weights_left(again, ours.droprate.dropna())
    plain_ticks(again)
    legend_of(again, 7.5)
    return drawn


REPORT = VggPruning()
