"""How claims 6a to 7c are judged; their wording and criteria stand in paper_claims.csv."""

import math
from collections.abc import Callable

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding, within
from sbnn.report.images import OWN_SCORE, curves, published

RECIPES = {"paper": "as stated", "tuned": "tuned"}
WIDTHS = (400, 800, 1200)
PRUNED = 1200  # the network that the paper prunes
TREATMENTS = ("none", "crop_and_flip")


class Network:
    """One trained network as the claims need it: errors in per cent, ranked by the method's own score."""

    def __init__(self, rows: pd.DataFrame, method: str, recipe: str, width: int = PRUNED, augmentation: str = "none"):
        own = curves(rows)
        wanted = [method, OWN_SCORE[method], recipe, width, augmentation]
        own = own[(own[["method", "score", "recipe", "width", "augmentation"]] == wanted).all(axis=1)]
        self.error = dict(zip(own.droprate, 100 * own["mean"], strict=True))
        self.spread = dict(zip(own.droprate, 100 * own.se, strict=True))
        self.se = self.spread.get(0.0)
        self.epochs = None if own.empty else int(own.epochs.iloc[0])

    def has(self, *droprates: float) -> bool:
        return all(droprate in self.error for droprate in droprates)

    def rise(self, droprate: float) -> float:
        """In points, to the paper's two decimals."""
        return round(self.error[droprate] - self.error[0.0], 2)

    def relative_rise(self, droprate: float) -> float:
        return self.rise(droprate) / self.error[0.0]

    def relative_error(self, droprate: float) -> float:
        """Standard error of the relative rise, as if other images were measured; they are the same, so it is less."""
        full = self.error[0.0]
        return math.hypot(self.spread[droprate], self.spread[0.0] * self.error[droprate] / full) / full

    def change(self, droprate: float) -> str:
        return f"{self.error[0.0]:.2f} % to {self.error[droprate]:.2f} %"


Judged = tuple[str, float | None, list[bool]]  # our figure, its standard error, and whether the criterion holds


def by_recipe(judge: Callable[[pd.DataFrame, str], Judged | None]) -> Callable[[pd.DataFrame], Finding]:
    """A claim is one about the paper's settings; that only our own bear it out makes it true in part."""

    def find(rows: pd.DataFrame) -> Finding:
        judged = {recipe: found for recipe in RECIPES if (found := judge(rows, recipe)) is not None}
        if not judged:
            return LEFT_OUT
        text = "; ".join(f"{RECIPES[recipe]} {found[0]}" for recipe, found in judged.items())
        errors = [se for _, se, _ in judged.values() if se is not None]
        holds = judged["paper"][2] if "paper" in judged else [False]
        if not all(holds) and "tuned" in judged:
            holds = [*holds, *judged["tuned"][2]]
        return Finding(text, max(errors, default=None), holds)

    return find


@by_recipe
def full_errors(rows: pd.DataFrame, recipe: str) -> Judged | None:
    networks = {width: Network(rows, "sBNN", recipe, width) for width in WIDTHS}
    run = {width: network for width, network in networks.items() if network.has(0.0)}
    if not run:
        return None
    holds = [
        width in run and round(run[width].error[0.0], 2) <= published(rows, "sBNN", width).error.iloc[0] + 0.15 + 1e-9
        for width in WIDTHS
    ]
    text = " / ".join(f"{run[width].error[0.0]:.2f}" if width in run else "not run" for width in WIDTHS)
    epochs = max(network.epochs for network in run.values())
    return f"{text} % ({epochs} epochs)", max(network.se for network in run.values()), holds


@by_recipe
def survives(rows: pd.DataFrame, recipe: str) -> Judged | None:
    network = Network(rows, "sBNN", recipe)
    if not network.has(0.0, 0.98):
        return None
    return f"{network.change(0.98)} ({network.epochs} epochs)", network.se, [network.rise(0.98) <= 0.15]


@by_recipe
def excluded(rows: pd.DataFrame, recipe: str) -> Judged | None:
    below = rows[(rows.metric == "inclusion_below") & (rows.threshold == 0.25) & (rows.augmentation == "none")]
    share = below[(below.recipe == recipe) & (below.width == PRUNED)]["value"]
    return None if share.empty else (f"{share.iloc[0]:.1%} have p < 0.25", None, [bool(share.iloc[0] > 0.95)])


@by_recipe
def cheaper_than_bbb(rows: pd.DataFrame, recipe: str) -> Judged | None:
    network, rival = Network(rows, "sBNN", recipe), Network(rows, "BbB", "ours")
    if not network.has(0.0, 0.98) or not rival.has(0.0, 0.98):
        return None
    own, other = network.relative_rise(0.98), rival.relative_rise(0.98)
    se = math.hypot(network.relative_error(0.98), rival.relative_error(0.98))
    text = f"{own:+.1%} ({network.change(0.98)}), BbB {other:+.1%} ({rival.change(0.98)}){within(own - other, se)}"
    return text, 100 * se, [own < other]


def networks(rows: pd.DataFrame, method: str, recipe: str, *droprates: float) -> dict[str, Network]:
    """CIFAR's, by what was done to the training images, where they were run."""
    found = {a: Network(rows, method, recipe, augmentation=a) for a in TREATMENTS}
    return {treatment: network for treatment, network in found.items() if network.has(*droprates)}


def cifar_full(rows: pd.DataFrame) -> Finding:
    run = networks(rows, "sBNN", "tuned", 0.0)
    if not run:
        return LEFT_OUT
    text = ", ".join(f"{n.error[0.0]:.2f} % ({a}, {n.epochs} epochs)" for a, n in run.items())
    best = min(run.values(), key=lambda network: network.error[0.0])
    return Finding(text, best.se, [round(best.error[0.0], 2) <= published(rows, "sBNN", PRUNED).error.iloc[0] + 1])


def cifar_survives(rows: pd.DataFrame) -> Finding:
    run = networks(rows, "sBNN", "tuned", 0.0, 0.9)
    if not run:
        return LEFT_OUT
    text = ", ".join(f"{network.change(0.9)} ({treatment})" for treatment, network in run.items())
    holds = [treatment in run and run[treatment].rise(0.9) <= 1 for treatment in TREATMENTS]
    return Finding(text, max(network.se for network in run.values()), holds)


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
    return Finding(text, 100 * max(errors.values()), holds)


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
