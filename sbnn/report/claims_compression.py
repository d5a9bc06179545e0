"""How claims 8a to 9b are judged; their wording and criteria stand in paper_claims.csv."""

import math

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding, within
from sbnn.report.compression import of_vgg
from sbnn.report.images import NAMES, Curve, curves

SETS, OURS = ("set_1", "set_2"), ("tuned",)
FULL_WIDTH = 1.0


def network(rows: pd.DataFrame, name: str, recipe: str) -> Curve:
    """sBNN's, ranked by inclusion."""
    wanted = [name, "sBNN", recipe, "inclusion"]
    return Curve(rows[(rows[["network", "method", "recipe", "score"]] == wanted).all(axis=1)])


def called(recipe: str, curve: Curve) -> str:
    return f"{NAMES['sBNN', recipe]} ({curve.epochs} epochs)"


def errors(curve: Curve, *droprates: float) -> str:
    return ", ".join(
        f"{curve.error[d]:.2f} % at {100 * d:g} %" if d else f"error {curve.error[d]:.2f} % full" for d in droprates
    )


def at_most(name: str, droprate: float, limit: float, stated: tuple[str, ...]):
    """The error at a droprate: reproduced by one of the stated recipes, partly by another of the recipes only."""

    def find(rows: pd.DataFrame) -> Finding:
        curves = {recipe: network(rows, name, recipe) for recipe in (*SETS, *OURS)}
        margins = {recipe: round(limit - c.error[droprate], 2) for recipe, c in curves.items() if c.has(droprate)}
        if not margins:
            return LEFT_OUT
        text = "; ".join(
            f"{called(recipe, curves[recipe])} {curves[recipe].error[droprate]:.2f} %" for recipe in margins
        )
        best = max((recipe for recipe in margins if recipe in stated), key=margins.get, default=None)
        by_stated = best is not None and margins[best] >= 0
        se = curves[best or next(iter(margins))].spread[droprate]
        holds = [by_stated, by_stated or max(margins.values()) >= 0]
        return Finding(text, se, holds, " points", margins.get(best))

    return find


def set_1(rows: pd.DataFrame) -> Finding:
    curve = network(rows, "lenet_5", "set_1")
    if not curve.has(0.0, 0.96, 0.98):
        return LEFT_OUT
    full, lost = curve.error[0.0], curve.error[0.98]
    holds = [full <= 0.85, curve.rise(0.96) <= 0.15, lost > 1.5]
    return Finding(errors(curve, 0.0, 0.96, 0.98), curve.se, holds, " points", 0.85 - full)


def set_2(rows: pd.DataFrame) -> Finding:
    curve = network(rows, "lenet_5", "set_2")
    if not curve.has(0.0, 0.992, 0.997):
        return LEFT_OUT
    full, last = curve.error[0.0], curve.error[0.997]
    holds = [full <= 1.18, curve.rise(0.992) <= 0.15, last <= 2.0]
    return Finding(errors(curve, 0.0, 0.992, 0.997), curve.se, holds, " points", 1.18 - full)


def trade_off(rows: pd.DataFrame) -> Finding:
    one, two = (network(rows, "lenet_5", recipe) for recipe in SETS)
    if not one.has(0.0, 0.98) or not two.has(0.0, 0.98):
        return LEFT_OUT
    se = math.hypot(one.spread[0.98], two.spread[0.98])  # at 98 %, where they are nearer each other
    noise = within(two.error[0.98] - one.error[0.98], se)
    text = f"set 1 {errors(one, 0.0, 0.98)}; set 2 {errors(two, 0.0, 0.98)}{noise}"
    return Finding(text, se, [two.error[0.0] > one.error[0.0], two.error[0.98] < one.error[0.98]], " points")


def vgg(rows: pd.DataFrame, *droprates: float) -> dict[str, Curve]:
    """By the paper's prior and by ours, where they ran."""
    found = {recipe: network(of_vgg(rows), "vgg_like", recipe) for recipe in ("paper", *OURS)}
    return {recipe: curve for recipe, curve in found.items() if curve.has(*droprates)}


def vgg_full(rows: pd.DataFrame) -> Finding:
    """A narrower network says nothing of the paper's."""
    run, width = vgg(rows, 0.0), float(rows.width.max())
    if not run:
        return LEFT_OUT
    accuracies = (f"{called(recipe, curve)} {100 - curve.error[0.0]:.2f} %" for recipe, curve in run.items())
    holds = ["paper" in run and run["paper"].error[0.0] <= 9.1] if width == FULL_WIDTH else []
    se = max(curve.se for curve in run.values())
    return Finding(f"{'; '.join(accuracies)}, at width {width:g}", se, holds, " points")


def vgg_survives(rows: pd.DataFrame) -> Finding:
    run = vgg(rows, 0.0, 0.985)
    if not run:
        return LEFT_OUT
    margins = {recipe: round(0.5 - curve.rise(0.985), 2) for recipe, curve in run.items()}
    good = [recipe for recipe, margin in margins.items() if margin >= 0]
    text = "; ".join(f"{called(recipe, curve)} {errors(curve, 0.0, 0.985)}" for recipe, curve in run.items())
    se = max(curve.rise_error(0.985) for curve in run.values())
    text = f"{text}, at width {rows.width.max():g}"
    return Finding(text, se, ["paper" in good, bool(good)], " points", min(margins.values(), key=abs))


def mean_error(rows: pd.DataFrame) -> float:
    """The sweeper's number: the mean error of the sBNN networks that were trained, along their whole curves."""
    found = curves(rows[(rows.method == "sBNN") & (rows.score == "inclusion")])
    return float(found["mean"].mean())


JUDGES = {
    "8a": at_most("lenet_300_100", 0.95, 2.04, SETS),
    "8b": at_most("lenet_5", 0.992, 1.16, ("set_2",)),
    "8c": set_1,
    "8d": set_2,
    "8e": trade_off,
    "9a": vgg_full,
    "9b": vgg_survives,
}
