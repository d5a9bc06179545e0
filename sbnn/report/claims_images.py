"""How claims 6a to 7c are judged; their wording and criteria stand in paper_claims.csv."""

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding
from sbnn.report.images import OWN_SCORE, curves, published, widest

RECIPES = {"paper": "as stated", "tuned": "tuned"}
WIDTHS = (400, 800, 1200)


class Network:
    """One trained network as its claims need it: errors in per cent, ranked by the method's own score."""

    def __init__(self, rows: pd.DataFrame, method: str, **wanted: object):
        own = curves(rows)
        own = own[(own.method == method) & (own.score == OWN_SCORE[method])]
        for column, value in wanted.items():
            own = own[own[column] == value]
        self.error = dict(zip(own.droprate, 100 * own["mean"], strict=True))
        self.se = None if own.empty else 100 * float(own.se.iloc[0])
        self.epochs = None if own.empty else int(own.epochs.iloc[0])

    def has(self, *droprates: float) -> bool:
        return all(droprate in self.error for droprate in droprates)

    def rise(self, droprate: float) -> float:
        """In points, to the paper's two decimals."""
        return round(self.error[droprate] - self.error[0.0], 2)

    def relative_rise(self, droprate: float) -> float:
        return self.rise(droprate) / self.error[0.0]


def stated_or_tuned(stated: list[bool], tuned: list[bool]) -> list[bool]:
    """A claim is the paper's settings'; that only ours bear it out makes it true in part."""
    return stated if stated and all(stated) else stated + tuned if stated else tuned + [False] * bool(tuned)


def full_errors(rows: pd.DataFrame) -> Finding:
    texts, holds = [], {}
    for recipe, label in RECIPES.items():
        networks = {w: Network(rows, "sBNN", recipe=recipe, width=w) for w in WIDTHS}
        networks = {w: network for w, network in networks.items() if network.has(0.0)}
        holds[recipe] = [
            round(network.error[0.0], 2) <= published(rows, "sBNN", w).error.iloc[0] + 0.15 + 1e-9
            for w, network in networks.items()
        ]
        if networks:
            errors = " / ".join(f"{networks[w].error[0.0]:.2f}" if w in networks else "not run" for w in WIDTHS)
            texts.append(f"{label} {errors} % ({max(n.epochs for n in networks.values())} epochs)")
            se = max(n.se for n in networks.values())
            holds[recipe] += [False] * (len(networks) < len(WIDTHS))
    return Finding("; ".join(texts), se, stated_or_tuned(holds["paper"], holds["tuned"])) if texts else LEFT_OUT


def survives(rows: pd.DataFrame) -> Finding:
    texts, holds, se = [], {"paper": [], "tuned": []}, None
    for recipe, label in RECIPES.items():
        network = Network(rows, "sBNN", recipe=recipe, width=1200)
        if network.has(0.0, 0.98):
            holds[recipe] = [network.rise(0.98) <= 0.15]
            texts.append(f"{label} {network.error[0.0]:.2f} % to {network.error[0.98]:.2f} % ({network.epochs} epochs)")
            se = network.se
    return Finding("; ".join(texts), se, stated_or_tuned(holds["paper"], holds["tuned"])) if texts else LEFT_OUT


def excluded(rows: pd.DataFrame) -> Finding:
    below = widest(rows[(rows.metric == "inclusion_below") & (rows.threshold == 0.25)])
    shares = below.drop_duplicates("recipe").set_index("recipe")["value"]
    if shares.empty:
        return LEFT_OUT
    holds = {recipe: [bool(shares[recipe] > 0.95)] if recipe in shares else [] for recipe in RECIPES}
    text = "; ".join(
        f"{label} {shares[recipe]:.1%} have p < 0.25" for recipe, label in RECIPES.items() if recipe in shares
    )
    return Finding(text, None, stated_or_tuned(holds["paper"], holds["tuned"]))


def cheaper_than_bbb(rows: pd.DataFrame) -> Finding:
    rival = Network(rows, "BbB", width=1200)
    if not rival.has(0.0, 0.98):
        return LEFT_OUT
    texts, holds = [], {"paper": [], "tuned": []}
    for recipe, label in RECIPES.items():
        network = Network(rows, "sBNN", recipe=recipe, width=1200)
        if network.has(0.0, 0.98):
            holds[recipe] = [network.relative_rise(0.98) < rival.relative_rise(0.98)]
            texts.append(f"{label} {network.relative_rise(0.98):+.1%}")
    if not texts:
        return LEFT_OUT
    texts.append(f"BbB {rival.relative_rise(0.98):+.1%} ({rival.error[0.0]:.2f} to {rival.error[0.98]:.2f} %)")
    return Finding(", ".join(texts), None, stated_or_tuned(holds["paper"], holds["tuned"]))


def cifar_networks(rows: pd.DataFrame, method: str) -> dict[str, Network]:
    """By what was done to the training images."""
    return {a: Network(rows, method, width=1200, augmentation=a) for a in rows.augmentation.unique()}


def cifar_full(rows: pd.DataFrame) -> Finding:
    networks = {a: n for a, n in cifar_networks(rows, "sBNN").items() if n.has(0.0)}
    if not networks:
        return LEFT_OUT
    limit = published(rows, "sBNN", 1200).error.iloc[0] + 1
    text = ", ".join(f"{n.error[0.0]:.1f} % ({a}, {n.epochs} epochs)" for a, n in networks.items())
    best = min(networks.values(), key=lambda network: network.error[0.0])
    return Finding(text, best.se, [round(best.error[0.0], 2) <= limit])


def cifar_survives(rows: pd.DataFrame) -> Finding:
    networks = {a: n for a, n in cifar_networks(rows, "sBNN").items() if n.has(0.0, 0.9)}
    if not networks:
        return LEFT_OUT
    text = ", ".join(f"{n.error[0.0]:.1f} to {n.error[0.9]:.1f} % ({a})" for a, n in networks.items())
    return Finding(text, max(n.se for n in networks.values()), [n.rise(0.9) <= 1 for n in networks.values()])


def cifar_cheaper(rows: pd.DataFrame) -> Finding:
    ours, rivals = cifar_networks(rows, "sBNN"), cifar_networks(rows, "BbB")
    rises = {
        a: (ours[a].relative_rise(0.98), rivals[a].relative_rise(0.98))
        for a in ours
        if ours[a].has(0.0, 0.98) and rivals[a].has(0.0, 0.98)
    }
    if not rises:
        return LEFT_OUT
    text = ", ".join(f"{own:+.1%} against {other:+.1%} ({a})" for a, (own, other) in rises.items())
    return Finding(text, None, [own < other / 2 for own, other in rises.values()])


def mean_error(rows: pd.DataFrame) -> float:
    """The sweeper's number: the error of the full sBNN networks, averaged over widths; tuned if both recipes ran."""
    full = curves(rows)
    full = full[(full.method == "sBNN") & (full.droprate == 0) & (full.score == "inclusion")]
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
