"""How claims 8a to 9b are judged; their wording and criteria stand in paper_claims.csv."""

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding, within
from sbnn.report.compression import of_vgg, own_scores
from sbnn.report.images import NAMES, curves

SETS, OURS = ("set_1", "set_2"), ("tuned",)
FULL_WIDTH = 1.0


class Curve:
    """Errors of one sBNN network in per cent by droprate, ranked by inclusion, to the paper's two decimals."""

    def __init__(self, rows: pd.DataFrame, network: str, recipe: str):
        found = own_scores(curves(rows[(rows.network == network) & (rows.method == "sBNN")]))
        found = found[found.recipe == recipe]
        self.error = {d: round(100 * e, 2) for d, e in zip(found.droprate, found["mean"], strict=True)}
        self.se = None if found.empty else float(100 * found.se.iloc[0])
        self.name = "" if found.empty else f"{NAMES['sBNN', recipe]} ({found.epochs.iloc[0]} epochs)"

    def has(self, *droprates: float) -> bool:
        return all(droprate in self.error for droprate in droprates)

    def text(self, *droprates: float) -> str:
        return ", ".join(
            f"{self.error[d]:.2f} at {100 * d:g} %" if d else f"{self.error[d]:.2f} full" for d in droprates
        )


def at_most(network: str, droprate: float, limit: float, stated: tuple[str, ...]):
    """The error at a droprate: reproduced by one of the stated recipes, partly by another of the recipes only."""

    def find(rows: pd.DataFrame) -> Finding:
        curves = {recipe: Curve(rows, network, recipe) for recipe in (*SETS, *OURS)}
        run = {recipe: curve for recipe, curve in curves.items() if curve.has(droprate)}
        if not run:
            return LEFT_OUT
        text = "; ".join(f"{curve.name} {curve.error[droprate]:.2f} %" for curve in run.values())
        good = [recipe for recipe, curve in run.items() if curve.error[droprate] <= limit + 1e-9]
        by_stated = any(recipe in stated for recipe in good)
        missed = [curve.error[droprate] - limit for recipe, curve in run.items() if recipe in stated]
        se = max(curve.se for curve in run.values())
        if not by_stated and missed and min(missed) <= 2 * se:
            text += f"; the limit is missed by {min(missed):.2f}, within noise"
        return Finding(text, se, [by_stated, by_stated or bool(good)])

    return find


def set_1(rows: pd.DataFrame) -> Finding:
    curve = Curve(rows, "lenet_5", "set_1")
    if not curve.has(0.0, 0.96, 0.98):
        return LEFT_OUT
    full, held, lost = (curve.error[droprate] for droprate in (0.0, 0.96, 0.98))
    return Finding(curve.text(0.0, 0.96, 0.98), curve.se, [full <= 0.85, round(held - full, 2) <= 0.15, lost > 1.5])


def set_2(rows: pd.DataFrame) -> Finding:
    curve = Curve(rows, "lenet_5", "set_2")
    if not curve.has(0.0, 0.992, 0.997):
        return LEFT_OUT
    full, held, last = (curve.error[droprate] for droprate in (0.0, 0.992, 0.997))
    return Finding(curve.text(0.0, 0.992, 0.997), curve.se, [full <= 1.18, round(held - full, 2) <= 0.15, last <= 2.0])


def trade_off(rows: pd.DataFrame) -> Finding:
    one, two = (Curve(rows, "lenet_5", recipe) for recipe in SETS)
    if not one.has(0.0, 0.98) or not two.has(0.0, 0.98):
        return LEFT_OUT
    se = max(one.se, two.se)
    text = f"set 1 {one.text(0.0, 0.98)}; set 2 {two.text(0.0, 0.98)}{within(two.error[0.98] - one.error[0.98], se)}"
    return Finding(text, se, [two.error[0.0] > one.error[0.0], two.error[0.98] < one.error[0.98]])


def vgg(rows: pd.DataFrame, *droprates: float) -> dict[str, Curve]:
    """By the paper's prior and by ours, where they ran."""
    found = {recipe: Curve(of_vgg(rows), "vgg_like", recipe) for recipe in ("paper", *OURS)}
    return {recipe: curve for recipe, curve in found.items() if curve.has(*droprates)}


def vgg_full(rows: pd.DataFrame) -> Finding:
    """A narrower network says nothing of the paper's."""
    run, width = vgg(rows, 0.0), float(rows.width.max())
    if not run:
        return LEFT_OUT
    text = "; ".join(f"{curve.name} {100 - curve.error[0.0]:.2f} %" for curve in run.values()) + f", at width {width:g}"
    holds = ["paper" in run and run["paper"].error[0.0] <= 9.1] if width == FULL_WIDTH else []
    return Finding(text, max(curve.se for curve in run.values()), holds)


def vgg_survives(rows: pd.DataFrame) -> Finding:
    run = vgg(rows, 0.0, 0.985)
    if not run:
        return LEFT_OUT
    good = [recipe for recipe, curve in run.items() if round(curve.error[0.985] - curve.error[0.0], 2) <= 0.5]
    text = "; ".join(f"{curve.name} {curve.text(0.0, 0.985)}" for curve in run.values())
    se = max(curve.se for curve in run.values())
    return Finding(f"{text}, at width {rows.width.max():g}", se, ["paper" in good, bool(good)])


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
