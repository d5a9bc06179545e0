"""How claims 1a to 4c are judged; their wording and criteria stand in paper_claims.csv."""

from collections.abc import Callable

import pandas as pd

from sbnn.report.claims import LEFT_OUT, Finding
from sbnn.report.simulated import RIVALS, along
from sbnn.runs.rows import largest_droprate, mean_and_error, paired

# Experiment 1


def influence_correlation(rows: pd.DataFrame, psi: str) -> pd.Series:
    """Pearson's r of influence and relevance over the alphas, one per replicate."""
    wide = rows.pivot_table(index=["replicate", "alpha"], columns="metric", values="value")
    return pd.Series({r: g["influence"].corr(g[psi]) for r, g in wide.groupby(level="replicate")})


def follows_influence(psi: str, sign: int) -> Callable[[pd.DataFrame], Finding]:
    def find(rows: pd.DataFrame) -> Finding:
        r = influence_correlation(rows, psi)
        if r.isna().any():  # a single alpha has no correlation
            return LEFT_OUT
        margin = sign * r.mean() - 0.95
        return Finding(f"r = {r.mean():.3f}", r.sem(), [margin >= 0], margin=margin)

    return find


# Experiment 2


def correlations(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows.metric == "correlation") & (rows.recipe == "standardised")]


def every_cell_correlates(rows: pd.DataFrame) -> Finding:
    cells = mean_and_error(correlations(rows), ["f", "alpha"])
    if set(cells.f) != {"linear", "nonlinear"}:
        return LEFT_OUT
    worst = cells.loc[cells["mean"].idxmin()]
    ours = f"{cells['mean'].min():.3f} to {cells['mean'].max():.3f}; lowest for {worst.f} f, alpha = {worst.alpha:g}"
    holds = [bool((g["mean"] >= 0.90).all()) for _, g in cells.groupby("f")]
    return Finding(ours, worst.se, holds, margin=worst["mean"] - 0.90)


def linear_is_steadier(rows: pd.DataFrame) -> Finding:
    by_f = correlations(rows).groupby("f")["value"]
    if set(by_f.groups) != {"linear", "nonlinear"}:
        return LEFT_OUT
    mean = by_f.mean()
    sd = correlations(rows).groupby(["f", "alpha"])["value"].std().groupby("f").mean()  # over datasets, within a cell
    ours = f"mean {mean.linear:.3f} vs {mean.nonlinear:.3f}; sd {sd.linear:.3f} vs {sd.nonlinear:.3f}"
    se = float((by_f.sem() ** 2).sum() ** 0.5)  # of the difference of the means
    return Finding(ours, se, [mean.linear > mean.nonlinear, sd.linear < sd.nonlinear])


def skewness_flips(rows: pd.DataFrame) -> Finding:
    """Judged on the raw target: standardising y removes what alpha does, for the noise is negligible throughout."""
    phis = rows[(rows.metric == "phi") & (rows.f == "nonlinear")]
    skews = phis.groupby(["recipe", "alpha", "replicate"])["value"].skew().groupby(["recipe", "alpha"])
    ends = {recipe: g.droplevel("recipe").iloc[[0, -1]] for recipe, g in skews.agg(["mean", "sem"]).groupby("recipe")}
    ours = "; ".join(
        f"{recipe} y: skewness {' to '.join(f'{m:+.2f}' for m in g['mean'])}" for recipe, g in sorted(ends.items())
    )
    if "raw" not in ends or ends["raw"].index.nunique() < 2:
        return LEFT_OUT
    small, large = ends["raw"].iloc[0], ends["raw"].iloc[1]
    holds = [small["mean"] + 2 * small["sem"] < 0, large["mean"] - 2 * large["sem"] > 0]
    return Finding(ours, max(small["sem"], large["sem"]), holds)


# Experiment 3


def accuracy_along(key: str) -> Callable[[pd.DataFrame], Finding]:
    def find(rows: pd.DataFrame) -> Finding:
        chosen = along(rows[(rows.method == "BNN_VS") & (rows.metric == "accuracy")], key)
        cells = mean_and_error(chosen, [key])
        worst = cells.loc[cells["mean"].idxmin()]
        ours = f"{cells['mean'].min():.3f} to {cells['mean'].max():.3f}; lowest at {key} = {worst[key]:g}"
        margin = worst["mean"] - 0.88
        return Finding(ours, worst.se, [margin >= 0], margin=margin)

    return find


def errors_by_method(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """One line per dataset, one column per method."""
    chosen = rows[rows.metric == f"{part}_mse"]
    return chosen.pivot_table(index=["D", "alpha", "active_share", "replicate"], columns="method", values="value")


def proportion_error(held: pd.Series) -> float:
    """Standard error, in per cent, of the share of cases in which something held."""
    return float(100 * (held.mean() * (1 - held.mean()) / len(held)) ** 0.5)


def orderings_hold(rows: pd.DataFrame) -> Finding:
    sweeps = pd.concat([along(rows, "D"), along(rows, "alpha")])  # the cell they share is averaged with itself
    train, test = errors_by_method(sweeps, "train"), errors_by_method(sweeps, "test")
    train, test = train[[*RIVALS, "BNN_VS"]], test[[*RIVALS, "BNN_VS"]]
    unshrunk = test[["NN", "BNN", "LM"]].min(axis=1)
    parts = {
        "BNN_VS below NN, BNN, LM": test["BNN_VS"] < unshrunk,
        "NN_Dr below them": test["NN_Dr"] < unshrunk,
        "NN least train": train.idxmin(axis=1) == "NN",
        "NN worst test": test.idxmax(axis=1) == "NN",
        "LM highest train": train.idxmax(axis=1) == "LM",
    }
    ours = ", ".join(f"{name} in {held.mean():.0%}" for name, held in parts.items())
    se = max(proportion_error(held) for held in parts.values())
    return Finding(ours, se, [held.mean() > 0.5 for held in parts.values()], " points")


def fixed_threshold_fails(rows: pd.DataFrame) -> Finding:
    shares = along(rows, "active_share")
    cells = mean_and_error(shares[(shares.metric == "accuracy") & (shares.method == "BNN_VS")], ["active_share"])
    beyond = cells[cells.active_share >= 0.2]
    tests = errors_by_method(shares, "test")[[*RIVALS, "BNN_VS"]].groupby("active_share").mean()
    if len(beyond) < 2 or not (tests.index < 0.5).any():
        return LEFT_OUT
    best = tests[tests.index < 0.5].idxmin(axis=1) == "BNN_VS"
    ours = (
        f"accuracy {beyond['mean'].iloc[0]:.2f} at {beyond.active_share.iloc[0]:.0%} active, "
        f"{beyond['mean'].iloc[-1]:.2f} at {beyond.active_share.iloc[-1]:.0%}; "
        f"BNN_VS best at {best.sum()} of {len(best)} shares below 50 %"
    )
    return Finding(ours, cells.se.max(), [bool((beyond["mean"].diff().dropna() < 0).all()), bool(best.all())])


def finds_the_share(rows: pd.DataFrame) -> Finding:
    chosen = along(rows[rows.method == "BNN_VS_CV"], "active_share")
    pairs = chosen.pivot_table(index=["active_share", "replicate"], columns="metric", values="value")
    gap = (pairs["detected_share"] - pairs["actual_share"]).abs()
    r = pairs["detected_share"].corr(pairs["actual_share"])
    margin = 0.10 - gap.mean()
    return Finding(f"mean gap {gap.mean():.3f}, r = {r:.3f}", gap.sem(), [margin >= 0, r >= 0.9], margin=margin)


def stays_accurate(rows: pd.DataFrame) -> Finding:
    chosen = along(rows[(rows.method == "BNN_VS_CV") & (rows.metric == "accuracy")], "active_share")
    cells = mean_and_error(chosen, ["active_share"])
    worst = cells.loc[cells["mean"].idxmin()]
    ours, margin = f"lowest {worst['mean']:.3f}, at {worst.active_share:.0%} active", worst["mean"] - 0.80
    return Finding(ours, worst.se, [margin >= 0], margin=margin)


def best_with_cv(rows: pd.DataFrame) -> Finding:
    tests = errors_by_method(along(rows, "active_share"), "test")[[*RIVALS, "BNN_VS_CV"]]
    best = tests.groupby("active_share").mean().idxmin(axis=1) == "BNN_VS_CV"
    clearly = [
        all(paired(own["BNN_VS_CV"], own[rival]).endswith("lower") for rival in RIVALS)
        for _, own in tests.groupby("active_share")
    ]
    ours = f"best at {best.sum()} of {len(best)} shares, at {sum(clearly)} of them beyond noise against every rival"
    return Finding(ours, None, [best.mean() >= 0.8])


# Experiment 4


def largest_droprates(rows: pd.DataFrame, method: str = "sBNN", score: str = "inclusion") -> pd.DataFrame:
    """Per active share: the droprate up to which the test error stays within 5 % of the full model's."""
    chosen = rows[(rows.metric == "test_mse") & (rows.method == method) & (rows.score == score)]
    curves = chosen.pivot_table(index=["active_share", "replicate"], columns="droprate", values="value")
    return largest_droprate(curves).groupby("active_share").agg(["mean", "sem"])


def prunable(share: float, low: float, high: float) -> Callable[[pd.DataFrame], Finding]:
    """The paper prunes `low` to `high` of the weights at this active share, and less at larger ones."""

    def find(rows: pd.DataFrame) -> Finding:
        largest = largest_droprates(rows)
        if share not in largest.index or len(largest) < 2:
            return LEFT_OUT
        mean, here = largest["mean"], largest.loc[share]
        noise = (largest["sem"].iloc[0] ** 2 + largest["sem"].iloc[-1] ** 2) ** 0.5
        falls = bool((mean.diff().dropna() < 0).all()) and mean.iloc[0] - mean.iloc[-1] > 2 * noise
        ours = f"{here['mean']:.0%} ({', '.join(f'{m:.0%} at {s:.0%}' for s, m in mean.items())} active)"
        return Finding(ours, 100 * here["sem"], [low - 0.10 <= here["mean"] <= high + 0.10, falls], " points")

    return find


JUDGES: dict[str, Callable[[pd.DataFrame], Finding]] = {
    "1a": follows_influence("psi_2", 1),
    "1b": follows_influence("psi_1", -1),
    "2a": every_cell_correlates,
    "2b": linear_is_steadier,
    "2c": skewness_flips,
    "3a": accuracy_along("D"),
    "3b": accuracy_along("alpha"),
    "3c": orderings_hold,
    "3d": fixed_threshold_fails,
    "3e": finds_the_share,
    "3f": stays_accurate,
    "3g": best_with_cv,
    "4a": prunable(0.2, 0.5, 0.6),
    "4b": prunable(0.5, 0.4, 0.4),
    "4c": prunable(0.9, 0.2, 0.2),
}


def mean_error(rows: pd.DataFrame) -> float:
    """On test data, over all settings and replicates."""
    return rows[rows.metric == "test_mse"]["value"].mean()


# Lower is better: what correlations lack to 1, an error, the share of the weights that has to stay.
HEADLINES: dict[str, Callable[[pd.DataFrame], float]] = {
    "simulated_relevance": lambda rows: 1 - influence_correlation(rows, "psi_2").mean(),
    "simulated_correlation": lambda rows: 1 - correlations(rows)["value"].mean(),
    "simulated_selection": lambda rows: mean_error(rows[rows.method == "BNN_VS"]),
    "simulated_pruning": lambda rows: 1 - largest_droprates(rows)["mean"].mean(),
}
