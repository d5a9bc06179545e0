"""How likely one method is to do better than another over the datasets of the benchmark."""

from itertools import combinations

import numpy as np
import pandas as pd

DRAWS = 2000
INTERVAL = (2.5, 97.5)  # per cent


def improvements(errors: dict[str, pd.Series]) -> pd.DataFrame:
    """Every pair of contenders, whose errors are indexed by dataset, hidden units and split.

    The probability is the mean over datasets of the share of splits on which the first has the lower error, ties
    counting half. Its interval is a bootstrap stratified by dataset (Agarwal and others 2021): splits are drawn again
    within each, the same for both, since they are paired.
    """
    lines = []
    for first, second in combinations(errors, 2):
        both = pd.concat([errors[first], errors[second]], axis=1, join="inner", keys=["first", "second"])
        wins = (both["first"] < both["second"]) + 0.5 * (both["first"] == both["second"])
        strata = [own.to_numpy(float) for _, own in wins.groupby(level=["dataset", "hidden"])]
        if strata:
            low, high = np.percentile(bootstrapped(strata), INTERVAL)
            probability = np.mean([own.mean() for own in strata])
            lines.append([first, second, len(strata), probability, low, high])
    return pd.DataFrame(lines, columns=["method", "better than", "datasets", "probability", "95 % from", "to"])


def bootstrapped(strata: list[np.ndarray]) -> np.ndarray:
    """(DRAWS,) means over strata of the mean of each, drawn again with repeats."""
    random = np.random.default_rng(0)
    return np.mean([random.choice(own, (DRAWS, len(own))).mean(1) for own in strata], axis=0)
