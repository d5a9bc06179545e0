"""How claims 6a to 7c are judged; their wording and criteria stand in paper_claims.csv."""

import math
from collections.abc import Callable

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding, within
from sbnn.report.images import OWN_SCORE, Curve, curves, published

RECIPES = {"paper": "as stated", "tuned": "tuned"}
WIDTHS = (400, 800, 1200)
PRUNED = 1200  # the network that the paper prunes
TREATMENTS = ("none", "crop_and_flip")


def network(rows: pd.DataFrame, method: str, recipe: str, width: int = PRUNED, augmentation: str = "none") -> Curve:
    """Ranked by the method's own score."""
    wanted = [method, OWN_SCORE[method], recipe, width, augmentation]
    return Curve(rows[(rows[["method", "score", "recipe", "width", "augmentation"]] == wanted).all(axis=1)])


# Our figure, its standard error in points, whether the criterion holds, and by how much if that is one number.
Judged = tuple[str, float | None, list[bool], float | None]


def by_recipe(judge: Callable[[pd.DataFrame, str], Judged | None]) -> Callable[[pd.DataFrame], Finding]:
    """A claim is one about the paper's settings; that only our own bear it out makes it true in part."""

    def find(rows: pd.DataFrame) -> Finding:
        judged = {recipe: found for recipe in RECIPES if (found := judge(rows, recipe)) is not None}
        if not judged:
            return LEFT_OUT
        text = "; ".join(f"{RECIPES[recipe]} {found[0]}" for recipe, found in judged.items())
        _, se, holds, margin = judged.get("paper") or ("", judged["tuned"][1], [False], None)
        if not all(holds) and "tuned" in judged:
            holds = [*holds, *judged["tuned"][2]]
        return Finding(text, se, holds, " points", margin)

    return find


@by_recipe
def full_errors(rows: pd.DataFrame, recipe: str) -> Judged | None:
    networks = {width: network(rows, "sBNN", recipe, width) for width in WIDTHS}
    run = {width: curve for width, curve in networks.items() if curve.has(0.0)}
    if not run:
        return None
    limits = {width: published(rows, "sBNN", width).error.iloc[0] + 0.15 for width in run}
    margins = {width: round(limits[width] - curve.error[0.0], 2) for width, curve in run.items()}
    holds = [width in run and margins[width] >= 0 for width in WIDTHS]
    text = " / ".join(f"{run[width].error[0.0]:.2f}" if width in run else "not run" for width in WIDTHS)
    epochs = max(curve.epochs for curve in run.values())
    return f"{text} % ({epochs} epochs)", max(curve.se for curve in run.values()), holds, min(margins.values(), key=abs)


@by_recipe
def survives(rows: pd.DataFrame, recipe: str) -> Judged | None:
    curve = network(rows, "sBNN", recipe)
    if not curve.has(0.0, 0.98):
        return None
    margin = round(0.15 - curve.rise(0.98), 2)
    text = f"{curve.change(0.98)} ({curve.epochs} epochs)"
    return text, curve.rise_error(0.98), [margin >= 0], margin


@by_recipe
def excluded(rows: pd.DataFrame, recipe: str) -> Judged | None:
    below = rows[(rows.metric == "inclusion_below") & (rows.threshold == 0.25) & (rows.augmentation == "none")]
    share = below[(below.recipe == recipe) & (below.width == PRUNED)]["value"]
    return None if share.empty else (f"{share.iloc[0]:.1%} have p < 0.25", None, [bool(share.iloc[0] > 0.95)], None)


@by_recipe
def cheaper_than_bbb(rows: pd.DataFrame, recipe: str) -> Judged | None:
    curve, rival = network(rows, "sBNN", recipe), network(rows, "BbB", "ours")
    if not curve.has(0.0, 0.98) or not rival.has(0.0, 0.98):
        return None
    own, other = curve.relative_rise(0.98), rival.relative_rise(0.98)
    se = math.hypot(curve.relative_error(0.98), rival.relative_error(0.98))
    texts = (f"{c.relative_rise(0.98):+.1%} ({c.change(0.98)}, {c.epochs} epochs)" for c in (curve, rival))
    text = " against BbB's ".join(texts) + within(own - other, se)
    return text, 100 * se, [own < other, other - own > 2 * se], None


def networks(rows: pd.DataFrame, method: str, recipe: str, *droprates: float) -> dict[str, Curve]:
    """CIFAR's, by what was done to the training images, where they were run."""
    found = {a: network(rows, method, recipe, augmentation=a) for a in TREATMENTS}
    return {treatment: curve for treatment, curve in found.items() if curve.has(*droprates)}


def full_of(run: dict[str, Curve]) -> str:
    return ", ".join(f"{n.error[0.0]:.2f} % ({a}, {n.epochs} epochs)" for a, n in run.items())


def cifar_full(rows: pd.DataFrame) -> Finding:
    run = networks(rows, "sBNN", "tuned", 0.0)
    if not run:
        return LEFT_OUT
    text = full_of(run)
    if plain := networks(rows, "NN", "ours", 0.0):
        text += f"; a deterministic network {full_of(plain)}"
    best = min(run.values(), key=lambda curve: curve.error[0.0])
    margin = round(published(rows, "sBNN", PRUNED).error.iloc[0] + 1 - best.error[0.0], 2)
    return Finding(text, best.se, [margin >= 0], " points", margin)


def cifar_survives(rows: pd.DataFrame) -> Finding:
    run = networks(rows, "sBNN", "tuned", 0.0, 0.9)
    if not run:
        return LEFT_OUT
    text = ", ".join(f"{curve.change(0.9)} ({treatment})" for treatment, curve in run.items())
    margins = {treatment: round(1 - curve.rise(0.9), 2) for treatment, curve in run.items()}
    holds = [treatment in run and margins[treatment] >= 0 for treatment in TREATMENTS]
    se = max(curve.rise_error(0.9) for curve in run.values())
    return Finding(text, se, holds, " points", min(margins.values(), key=abs))


def cifar_cheaper(rows: pd.DataFrame) -> Finding:
    ours, rivals = networks(rows, "sBNN", "tuned", 0.0, 0.98), networks(rows, "BbB", "ours", 0.0, 0.98)
    rises = {a: (ours[a].relative_rise(0.98), rivals[a].relative_rise(0.98)) for a in ours if a in rivals}
    if not rises:
        return LEFT_OUT
    errors = {a: math.hypot(ours[a].relative_error(0.98), rivals[a].relative_error(0.98)) for a in rises}
    text = ", ".join(
        f"{own:+.1%} against {other:+.1%} ({a}{within(own - other, errors[a])})" for a, (own, other) in rises.items()
    )
    holds = [a in rises and rises[a][0] < rises[a][1] / 2 and rises[a][1] > 0 for a in TREATMENTS]
    return Finding(text, 100 * max(errors.values()), holds, " points")


def mean_error(rows: pd.DataFrame) -> float:
    """The sweeper's number: the error of the full sBNN networks, averaged over widths; tuned if both recipes ran."""
    full = curves(rows)
    full = full[(full.method == "sBNN") & (full.droprate == 0) & (full.score == OWN_SCORE["sBNN"])]
    tuned = full[full.recipe == "tuned"]
    return float((full if tuned.empty else tuned)["mean"].mean())


JUDGES = {
    "6a": full_errors,
    "6b": survives,
    "6c": excluded,
    "6d": cheaper_than_bbb,
    "7a": cifar_full,
    "7b": cifar_survives,
    "7c": cifar_cheaper,
}
