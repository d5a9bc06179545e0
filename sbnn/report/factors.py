"""What each part of the method buys: networks that differ in that part alone, error against error."""

import math
from collections.abc import Iterator

import pandas as pd
from scipy import stats

from sbnn.model.methods import BBB, BMR, GMP, MAP, NN, SBNN
from sbnn.report.cells import Difference, Measured, written
from sbnn.report.page.blocks import Block, Bullets, Heading, Text

AT = (0.0, 0.9, 0.95, 0.976, 0.98, 0.985, 0.9885, 0.99, 0.992, 0.995)
END, GRADUAL = "error", "gradual_error"
# A network with the part, and the same without it: metric, method, recipe and score of each.
FACTORS = {
    "prior: a mixture instead of none": ((END, MAP.name, "ours", "magnitude"), (END, NN.name, "ours", "magnitude")),
    "prior: a mixture instead of its slab": ((END, SBNN.name, "tuned", "snr"), (END, BMR.name, "ours", "snr")),
    "variance": ((END, SBNN.name, "tuned", "snr"), (END, MAP.name, "ours", "magnitude")),
    "closed-form penalty": ((END, SBNN.name, "tuned", "snr"), (END, BBB.name, "ours", "snr")),
    "score: snr instead of inclusion": ((END, SBNN.name, "tuned", "snr"), (END, SBNN.name, "tuned", "inclusion")),
    "score: snr instead of magnitude": ((END, SBNN.name, "tuned", "snr"), (END, SBNN.name, "tuned", "magnitude")),
    "pruning in training, Bayesian": ((GRADUAL, SBNN.name, "gradual", "snr"), (END, SBNN.name, "tuned", "snr")),
    "pruning in training, plain": ((GRADUAL, GMP.name, "ours", "magnitude"), (END, NN.name, "ours", "magnitude")),
    "Bayesian instead of plain, both pruned in training": (
        (GRADUAL, SBNN.name, "gradual", "snr"),
        (GRADUAL, GMP.name, "ours", "magnitude"),
    ),
}
COLUMNS = ["metric", "method", "recipe", "score"]
NETWORK, TELLING = "lenet_300_100", (0, 98, 98.5, 98.85, 99)  # in the chapter; per cent pruned


def factors(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in per cent with and without each part, and their difference, as means over seeds."""
    found = dict(list(rows.groupby([*COLUMNS, "network", "droprate"])))
    lines = []
    for network in rows.network.unique():
        for part, (one, other) in FACTORS.items():
            for droprate in AT:
                pair = [found.get((*wanted, network, droprate)) for wanted in (one, other)]
                if all(own is not None for own in pair):
                    with_it, without = (100 * own.set_index("replicate").value for own in pair)
                    line = {"network": network, "part": part, "weights pruned, %": round(100 * droprate, 2)}
                    line |= {"with": _mean(with_it), "without": _mean(without), "difference": _gap(with_it, without)}
                    lines.append(line | {"seeds": min(len(with_it), len(without))})
    return pd.DataFrame(lines)


def _mean(errors: pd.Series) -> Measured:
    return Measured(errors.mean(), errors.sem() if len(errors) > 1 else math.nan)


def _gap(ours: pd.Series, other: pd.Series) -> Difference | float:
    """Of two independent samples of seeds, by Welch's bound; a bare number where one of them is single."""
    gap = ours.mean() - other.mean()
    if min(len(ours), len(other)) < 2:
        return gap
    se = math.hypot(ours.sem(), other.sem())
    if se < 1e-9:  # all seeds alike, as where a network is lost: no test
        return Difference(gap, 0.0, abs(gap) > 1e-9)
    return Difference(gap, se, bool(stats.ttest_ind(ours, other, equal_var=False).pvalue < 0.05))


def chapter(found: pd.DataFrame, words: dict) -> Iterator[Block]:
    """What the page says of it: a line for each part, at the droprates that tell most."""
    own = found[(found.network == NETWORK) & found["weights pruned, %"].isin(TELLING)] if len(found) else found
    if len(own):
        yield Heading(2, words["title"])
        yield Text(words["about"])
        yield Bullets([spoken(words["parts"][part], lines) for part, lines in own.groupby("part", sort=False)])


def spoken(part: str, found: pd.DataFrame) -> str:
    """Differences of the error, by how much is pruned."""
    places = [f"at {share:g} % pruned" if share else "in full" for share in found["weights pruned, %"]]
    gaps = [f"{place} {written(gap)}" for gap, place in zip(found.difference, places, strict=True)]
    seeds = found.seeds.min()
    return f"**{part}**: {'; '.join(gaps)} ({seeds} {'seed' if seeds == 1 else 'seeds'})."
