"""Experiment 6: MNIST, two hidden layers, by width and as the widest network is pruned."""

import math
from collections.abc import Callable, Sequence
from typing import ClassVar, NamedTuple

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import BBB, SBNN
from sbnn.report import interactive
from sbnn.report.claims import LEFT_OUT, Finding, Judge, within
from sbnn.report.image_curves import NETWORK, UNIT, calibration, cell, curves, named
from sbnn.report.names import RECIPES, called
from sbnn.report.perceptrons import PRUNED, PerceptronReport, figure, network, papers_curves, pruning, published, widest
from sbnn.report.reliability import reliability
from sbnn.report.statistics import in_deviations
from sbnn.report.style import INK, look, panels

WIDTHS = (400, 800, 1200)


class Judged(NamedTuple):
    """Our figure, its standard error in points, whether the criterion holds, and the margins that a Finding has."""

    text: str
    se: float | None
    holds: list[bool]
    margin: float | None = None
    margins: Sequence[float] = ()


def by_recipe(judge: Callable[[pd.DataFrame, str], Judged | None]) -> Judge:
    """A claim is one about the paper's settings; that only our own bear it out makes it true in part."""

    def find(rows: pd.DataFrame) -> Finding:
        judged = {recipe: found for recipe in ("paper", "tuned") if (found := judge(rows, recipe)) is not None}
        if not judged:
            return LEFT_OUT
        text = "; ".join(f"{RECIPES[recipe]} {found.text}" for recipe, found in judged.items())
        stated = judged.get("paper") or Judged("", judged["tuned"].se, [False])
        holds = stated.holds
        if not all(holds) and "tuned" in judged:
            holds = [*holds, *judged["tuned"].holds]
        return Finding(text, stated.se, holds, " points", stated.margin, margins=list(stated.margins))

    return find


@by_recipe
def full_errors(rows: pd.DataFrame, recipe: str) -> Judged | None:
    networks = {width: network(rows, SBNN, recipe, width) for width in WIDTHS}
    run = {width: curve for width, curve in networks.items() if curve.has(0.0)}
    if not run:
        return None
    limits = {width: published(rows.dataset.iloc[0], SBNN, width)[0.0].value + 0.15 for width in run}
    margins = {width: round(limits[width] - curve.error[0.0], 2) for width, curve in run.items()}
    holds = [width in run and margins[width] >= 0 for width in WIDTHS]
    text = " / ".join(f"{run[width].error[0.0]:.2f}" if width in run else "not run" for width in WIDTHS)
    epochs = max(curve.epochs for curve in run.values())
    se, nearest = max(curve.se for curve in run.values()), min(margins.values(), key=abs)
    over_seeds = [curve.below(limits[width], 0.0) for width, curve in run.items()]
    return Judged(f"{text} % ({epochs} epochs)", se, holds, nearest, over_seeds)


@by_recipe
def survives(rows: pd.DataFrame, recipe: str) -> Judged | None:
    curve = network(rows, SBNN, recipe)
    if not curve.has(0.0, 0.98):
        return None
    margin = round(0.15 - curve.rise(0.98), 2)
    text = f"{curve.change(0.98)} ({curve.epochs} epochs)"
    return Judged(text, curve.rise_error(0.98), [margin >= 0], margin, [curve.rise_below(0.15, 0.98)])


@by_recipe
def excluded(rows: pd.DataFrame, recipe: str) -> Judged | None:
    below = rows[(rows.metric == "inclusion_below") & (rows.threshold == 0.25) & (rows.augmentation == "none")]
    share = below[(below.recipe == recipe) & (below.width == PRUNED)]["value"]
    if share.empty:
        return None
    holds, margins = [bool(share.mean() > 0.95)], [in_deviations(share - 0.95)]
    return Judged(f"{share.mean():.1%} have p < 0.25", None, holds, margins=margins)


@by_recipe
def cheaper_than_bbb(rows: pd.DataFrame, recipe: str) -> Judged | None:
    """BbB is trained by our own recipe only, and compared with what was trained and is ranked as it is."""
    curve, rival = network(rows, SBNN, recipe, score=BBB.score), network(rows, BBB, "ours")
    if recipe != "tuned" or not curve.has(0.0, 0.98) or not rival.has(0.0, 0.98):
        return None
    own, other = curve.relative_rise(0.98), rival.relative_rise(0.98)
    se = math.hypot(curve.relative_error(0.98), rival.relative_error(0.98))
    texts = (f"{c.relative_rise(0.98):+.1%} ({c.change(0.98)}, {c.epochs} epochs)" for c in (curve, rival))
    text = f" against {BBB.label}'s ".join(texts) + within(own - other, se)
    margins = [in_deviations((rival.relative_rises(0.98) - curve.relative_rises(0.98)).dropna())]
    return Judged(text, 100 * se, [own < other, other - own > 2 * se], margins=margins)


class MnistPruning(PerceptronReport):
    claims: ClassVar[dict[str, Judge]] = {"6a": full_errors, "6b": survives, "6c": excluded, "6d": cheaper_than_bbb}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return {"error_rates": error_rates(rows), "pruning": pruning(rows), "calibration": calibration(rows)}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        believed = reliability([(widest(rows), f"{PRUNED} units")])
        return {"pruning": figure(rows), "inclusion_cdf": inclusion_cdf(rows), "calibration": believed}

    def curve(self, rows: pd.DataFrame) -> dict:
        widest_first = curves(rows).sort_values("width", ascending=False, kind="stable")
        return interactive.plot(widest_first, ["width"], UNIT, title, papers_curves)


def title(panel: pd.Series) -> str:
    return f"two hidden layers of {panel.width} units"


def error_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's first table: full networks by width, errors in per cent."""
    full = curves(rows).drop_duplicates([column for column in NETWORK if column in rows])
    lines = []
    for width, own in full.groupby("width"):
        theirs = published(own.dataset.iloc[0], SBNN, width).get(0.0)
        line = {"units": width, "weights": own.weights.iloc[0], f"{SBNN.label} (paper)": theirs}
        line |= {named(row): cell(row, theirs if row.method == SBNN.name else None) for _, row in own.iterrows()}
        lines.append(line)
    return pd.DataFrame(lines)


def inclusion_cdf(rows: pd.DataFrame) -> Figure:
    """The paper's figure: the share of weights with an inclusion probability below p, and its line at 95 %."""
    below = widest(rows[rows.metric == "inclusion_below"])
    drawn, (ax,) = panels(1, width=4.2, height=3.0)
    for recipe, curve in below.groupby("recipe", sort=False):
        colour, _ = look(SBNN.name, recipe)
        share = curve.groupby("threshold").value.mean()
        ax.plot(share, color=colour)
        risen = share.index[share > 0.5].min()
        beside = {"ha": "left", "xytext": (6, 0)} if risen < 0.5 else {"ha": "right", "xytext": (-6, 0)}
        name = called(SBNN.name, recipe)
        ax.annotate(name, (risen, 0.5), color=colour, textcoords="offset points", va="center", **beside)
    ax.axhline(0.95, color=INK, ls=":", lw=1.2)
    ax.text(0.5, 0.93, "the paper's 95 %", ha="center", va="top")
    ax.set(xlabel="posterior inclusion probability p", ylabel="share of weights below p", ylim=(-0.02, 1.02))
    return drawn


REPORT = MnistPruning()
