"""How the claims of Experiment 3 are judged; their wording and criteria stand in paper/claims.csv."""

import math

import pandas as pd

from sbnn.model.methods import BNN, BNN_VS, BNN_VS_CV, LM, NN, NN_DR, NN_DR_IN, SBNN
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.statistics import in_deviations, mean_and_error, paired

UNSHRUNK = [method.name for method in (LM, NN, BNN)]
RIVALS = [*UNSHRUNK, NN_DR.name]
FIXED, CHOSEN = BNN_VS.name, BNN_VS_CV.name  # by how the threshold is set
SETTINGS = ["D", "alpha", "active_share"]
TRUE_COUNT = "true_count_accuracy"  # of as many features as are active, so of their ranking alone


def along(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows where only `key` varies: the other settings at their most common value."""
    for other in SETTINGS:
        if other != key:
            rows = rows[rows[other] == rows[other].mode()[0]]
    return rows


def accuracies(rows: pd.DataFrame, method: str, key: str, metric: str = "accuracy") -> pd.DataFrame:
    return mean_and_error(rows[(rows.metric == metric) & (rows.method == method)], [key])


def errors_by_method(rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """One line per dataset, one column per method; NN_Dr drops inputs too where its held-back rows say so."""
    chosen, by = rows[rows.metric == f"{part}_mse"], [*SETTINGS, "replicate"]
    errors = chosen.pivot_table(index=by, columns="method", values="value")
    if NN_DR_IN.name in errors:
        held = rows[rows.metric == "held_out_mse"].pivot_table(index=by, columns="method", values="value")
        better = (held[NN_DR_IN.name] < held[NN_DR.name]).reindex(errors.index)
        errors[NN_DR.name] = errors[NN_DR_IN.name].where(better, errors[NN_DR.name])
    return errors


def without_inputs(judge: Judge) -> Judge:
    """As it was judged before: NN_Dr drops nothing but hidden units."""
    return lambda rows: judge(rows[rows.method != NN_DR_IN.name])


def reached(margins: list[float], share: float) -> float:
    """The margin that so large a share of them reach: positive if, and only if, so many are positive."""
    return sorted(margins, reverse=True)[max(1, math.ceil(share * len(margins) - 1e-9)) - 1]


def accuracy_along(key: str) -> Judge:
    def find(rows: pd.DataFrame) -> Finding:
        found = along(rows[(rows.method == FIXED) & (rows.metric == "accuracy")], key)
        cells = accuracies(found, FIXED, key)
        worst = cells.loc[cells["mean"].idxmin()]
        ours = f"{cells['mean'].min():.3f} to {cells['mean'].max():.3f}; lowest at {key} = {worst[key]:g}"
        margin, margins = worst["mean"] - 0.88, [in_deviations(found[found[key] == worst[key]]["value"] - 0.88)]
        return Finding(ours, worst.se, [margin >= 0], "", margin, int(worst.replicates), margins)

    return find


def proportion_error(held: pd.Series) -> float:
    """Standard error, in per cent, of the share of cases in which something held."""
    return float(100 * (held.mean() * (1 - held.mean()) / len(held)) ** 0.5)


def orderings_hold(rows: pd.DataFrame) -> Finding:
    sweeps = pd.concat([along(rows, "D"), along(rows, "alpha")])  # the cell they share is averaged with itself
    train, test = (errors_by_method(sweeps, part) for part in ("train", "test"))
    least = test[UNSHRUNK].min(axis=1)
    every = [*RIVALS, FIXED]
    parts = {
        f"{FIXED} below {NN.name}, {BNN.name}, {LM.name}": test[FIXED] < least,
        f"{NN_DR.name} below them": test[NN_DR.name] < least,
        f"{NN.name} least train": train[every].idxmin(axis=1) == NN.name,
        f"{NN.name} worst test": test[every].idxmax(axis=1) == NN.name,
        f"{LM.name} highest train": train[every].idxmax(axis=1) == LM.name,
    }
    ours = ", ".join(f"{name} in {held.mean():.0%}" for name, held in parts.items())
    if NN_DR_IN.name in test:
        ours += f"; of {NN_DR.name}, hidden units dropped alone {(hidden_only(sweeps) < least).mean():.0%}"
        ours += f", inputs always too {(test[NN_DR_IN.name] < least).mean():.0%}"
    se = max(proportion_error(held) for held in parts.values())
    margins = [in_deviations(held - 0.5) for held in parts.values()]
    return Finding(ours, se, [held.mean() > 0.5 for held in parts.values()], " points", margins=margins)


def hidden_only(rows: pd.DataFrame) -> pd.Series:
    """Test error of NN_Dr that drops hidden units alone."""
    return errors_by_method(rows[rows.method != NN_DR_IN.name], "test")[NN_DR.name]


def least_margin(tests: pd.DataFrame, method: str) -> float:
    """By how much the nearest rival is above a method on the same data sets, in standard deviations."""
    return min(in_deviations((tests[rival] - tests[method]).dropna()) for rival in RIVALS)


def what_selection_buys(tests: pd.DataFrame, method: str) -> str:
    """The selected network against the full one that it was selected by, in words."""
    by_share = [paired(own[method], own[SBNN.name]) for _, own in tests.groupby("active_share")]
    clearly = sum(found is not None and found.is_lower for found in by_share)
    worse = sum(found is not None and found.beyond_noise and not found.is_lower for found in by_share)
    text = f"below the full {SBNN.name} beyond noise at {clearly} of {len(by_share)} shares"
    return f"; {text}, above it at {worse}"


def fixed_threshold_fails(rows: pd.DataFrame) -> Finding:
    shares = along(rows, "active_share")
    cells = accuracies(shares, FIXED, "active_share")
    beyond = cells[cells.active_share >= 0.2]
    tests = errors_by_method(shares, "test")
    few = tests[tests.index.get_level_values("active_share") < 0.5]
    if len(beyond) < 2 or few.empty:
        return LEFT_OUT
    best = few[[*RIVALS, FIXED]].groupby("active_share").mean().idxmin(axis=1) == FIXED
    ours = (
        f"accuracy {beyond['mean'].iloc[0]:.2f} at {beyond.active_share.iloc[0]:.0%} active, "
        f"{beyond['mean'].iloc[-1]:.2f} at {beyond.active_share.iloc[-1]:.0%}; "
        f"{FIXED} best at {best.sum()} of {len(best)} shares below 50 %{what_selection_buys(few, FIXED)}"
    )
    changes = beyond["mean"].diff().dropna()
    variance = beyond.se**2 * beyond.replicates  # over data sets, which differ from share to share
    between = ((variance + variance.shift()) ** 0.5).dropna()
    margins = [
        float((-changes / between).min()),
        min(least_margin(own, FIXED) for _, own in few.groupby("active_share")),
    ]
    return Finding(ours, cells.se.max(), [bool((changes < 0).all()), bool(best.all())], margins=margins)


def finds_the_share(rows: pd.DataFrame) -> Finding:
    chosen = along(rows[rows.method == CHOSEN], "active_share")
    pairs = chosen.pivot_table(index=["active_share", "replicate"], columns="metric", values="value")
    gap = (pairs["detected_share"] - pairs["actual_share"]).abs()
    r, margin = pairs["detected_share"].corr(pairs["actual_share"]), 0.10 - gap.mean()
    apart = pd.Series([own["detected_share"].corr(own["actual_share"]) for _, own in pairs.groupby("replicate")])
    margins = [in_deviations(0.10 - gap), in_deviations(r - 0.9 + apart - apart.mean())]  # of r over all data sets
    ours = f"mean gap {gap.mean():.3f}, r = {r:.3f}"
    return Finding(ours, gap.sem(), [margin >= 0, r >= 0.9], "", margin, len(gap), margins)


def stays_accurate(rows: pd.DataFrame) -> Finding:
    """At the share that was detected; as many features as are active, ranked by relevance and by Wald, say why."""
    shares = along(rows[rows.metric.isin(["accuracy", TRUE_COUNT])], "active_share")
    cells = accuracies(shares, CHOSEN, "active_share")
    worst = cells.loc[cells["mean"].idxmin()]
    ours = f"lowest {worst['mean']:.3f}, at {worst.active_share:.0%} active"
    here = shares[shares.active_share == worst.active_share]
    if (here.metric == TRUE_COUNT).any():
        ranked, wald = (here[(here.metric == TRUE_COUNT) & (here.method == m.name)]["value"] for m in (BNN_VS_CV, LM))
        ours += f"; at the true count there {ranked.mean():.3f}, by a Wald test on x and |x| {wald.mean():.3f}"
    values = here[(here.metric == "accuracy") & (here.method == CHOSEN)]["value"]
    margin = worst["mean"] - 0.80
    return Finding(ours, worst.se, [margin >= 0], "", margin, int(worst.replicates), [in_deviations(values - 0.80)])


def best_with_cv(rows: pd.DataFrame) -> Finding:
    tests = errors_by_method(along(rows, "active_share"), "test")
    best = tests[[*RIVALS, CHOSEN]].groupby("active_share").mean().idxmin(axis=1) == CHOSEN
    against = [[paired(own[CHOSEN], own[rival]) for rival in RIVALS] for _, own in tests.groupby("active_share")]
    clearly = sum(all(d is not None and d.is_lower for d in differences) for differences in against)
    ours = f"best at {best.sum()} of {len(best)} shares, at {clearly} of them beyond noise against every rival"
    margins = [reached([least_margin(own, CHOSEN) for _, own in tests.groupby("active_share")], 0.8)]
    return Finding(ours + what_selection_buys(tests, CHOSEN), None, [best.mean() >= 0.8], margins=margins)


def both_lose(rows: pd.DataFrame) -> Finding:
    """Against the best of the networks that shrink nothing and the linear model, share by share."""
    tests = errors_by_method(along(rows, "active_share"), "test")
    many = tests[tests.index.get_level_values("active_share") > 0.5]
    if many.empty:
        return LEFT_OUT
    texts, holds, margins = [], [], []
    for method in (FIXED, NN_DR.name):
        above = []
        for _, own in many.groupby("active_share"):
            best = own[UNSHRUNK].mean().idxmin()
            above.append((own[method] - own[best]).dropna())
        lost = [bool(distance.mean() > 0) for distance in above]
        texts.append(f"{method} at {sum(lost)} of {len(lost)} shares beyond 50 %")
        holds.append(sum(lost) > len(lost) / 2)
        margins.append(reached([in_deviations(distance) for distance in above], (len(above) // 2 + 1) / len(above)))
    few = tests[tests.index.get_level_values("active_share") < 0.5].mean()
    rises = ", ".join(f"{m} {few[m]:.2f} to {many[m].mean():.2f}" for m in (FIXED, NN_DR.name, SBNN.name) if m in few)
    ours = f"above the best of {', '.join(UNSHRUNK)}: {', '.join(texts)}; mean test error below and beyond: {rises}"
    return Finding(ours, None, holds, margins=margins)


JUDGES: dict[str, Judge] = {
    "3a": accuracy_along("D"),
    "3b": accuracy_along("alpha"),
    "3c": orderings_hold,
    "3d": fixed_threshold_fails,
    "3e": finds_the_share,
    "3f": stays_accurate,
    "3g": best_with_cv,
    "3h": both_lose,
}
BEFORE = {claim: without_inputs(JUDGES[claim]) for claim in ("3c", "3d", "3g")}
