"""One number for each experiment, next to the paper's, and what all of them taught."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sbnn.model.methods import GMP, SBNN
from sbnn.report.cells import Difference, Published
from sbnn.report.claims import PAPER
from sbnn.report.compression import GRADUAL, PUBLISHED, TITLES, measured_curves, network
from sbnn.report.compression import PAPER as PAPERS_NETWORK
from sbnn.report.factors import factors
from sbnn.report.names import called
from sbnn.report.perceptrons import PRUNED, published
from sbnn.report.perceptrons import network as perceptron
from sbnn.report.results import Results
from sbnn.report.simulated_correlation import of_scale
from sbnn.report.simulated_pruning import prunable_shares
from sbnn.report.simulated_relevance import influence_correlation
from sbnn.report.simulated_selection_claims import FIXED, accuracies, along
from sbnn.report.statistics import times
from sbnn.report.uci_claims import found, missed
from sbnn.report.uci_contests import gradual as gradual_on_uci
from sbnn.report.uci_pruning import prunable, summary

Rows = pd.DataFrame
AT, DEEP = 0.8, 98.5  # where pruning in training is compared: a droprate on UCI, per cent on LeNet
DEEPEST = {"lenet_300_100": 0.985, "lenet_5": 0.995}  # where the strongest rival is sought
FAR = 0.1  # relative difference from where on both recipes are named


class Headline(NamedTuple):
    """What was measured for a claim, in one number."""

    claim: str  # its id
    what: str
    paper: str
    ours: str


def percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def printed(claim: str) -> str:
    return PAPER.set_index("id").paper[claim]


def relevance(rows: Rows) -> Headline:
    r = influence_correlation(rows, "psi_2").mean()
    return Headline("1a", "correlation of influence and relevance ψ₂", printed("1a"), f"{r:.3f}")


def correlation(rows: Rows) -> Headline:
    found = of_scale(rows, "raw")
    lowest = found[found.metric == "correlation"].groupby(["f", "alpha"]).value.mean().min()
    return Headline("2a", "lowest correlation of relevance φ and effect β", printed("2a"), f"{lowest:.3f}")


def selection(rows: Rows) -> Headline:
    lowest = accuracies(along(rows, "D"), FIXED, "D")["mean"].min()
    return Headline("3a", "lowest share of features rightly selected", printed("3a"), f"{lowest:.3f}")


def simulated(rows: Rows) -> Headline:
    shares = prunable_shares(rows, "paper").mean()
    paper, ours = (f"{few}, {many}" for few, many in ((printed("4a"), printed("4c")), map(percent, shares[[0.2, 0.9]])))
    return Headline("4a", "weights that can go, with 20 % and 90 % of the features active", paper, ours)


def uci(rows: Rows) -> Headline:
    stated, tuned = (found(rows, recipe, 0.0) for recipe in ("paper", "tuned"))
    ours, best = (f"{len(cells) - len(missed(cells, 0.0))} of {len(cells)}" for cells in (stated, tuned))
    what = "data sets where the full network reaches the paper's RMSE"
    return Headline("5a", what, "10 of 10", f"{ours} as stated, {best} tuned" if tuned and best != ours else ours)


def mnist(rows: Rows) -> Headline:
    paper, ours = published("mnist", SBNN, PRUNED), perceptron(rows, SBNN, "paper").change(0.98)
    return Headline("6b", "test error, in full and with 98 % pruned", f"{paper[0.0]} % to {paper[0.98]} %", ours)


def cifar(rows: Rows) -> Headline:
    paper, ours = published("cifar10", SBNN, PRUNED)[0.0], perceptron(rows, SBNN, "tuned").error[0.0]
    return Headline("7a", "test error of the full network", f"{paper} %", f"{ours:.2f} %")


def both(stated: float, tuned: float | None) -> str:
    """An error in per cent by the recipe as stated, and by our own where that is another matter."""
    if tuned is None or abs(tuned - stated) <= FAR * min(tuned, stated):
        return f"{stated:.2f} %"
    return f"{stated:.2f} % as stated, {tuned:.2f} % tuned"


def compressed(name: str) -> Published:
    """The error that the paper prints for its own network."""
    own = PUBLISHED[(PUBLISHED.network == name) & (PUBLISHED.method == PAPERS_NETWORK)]
    return Published(f"{own.error.iloc[0]:g}")


def lenet(rows: Rows) -> Headline:
    name = "lenet_300_100"
    stated = min(c.error[0.95] for c in (network(rows, name, r) for r in ("set_1", "set_2")) if c.has(0.95))
    ours = both(stated, network(rows, name, "tuned").error.get(0.95))
    return Headline("8a", "LeNet-300-100, test error with 95 % pruned", f"{compressed(name)} %", ours)


def vgg(rows: Rows) -> Headline:
    run = {recipe: network(rows.assign(network="vgg_like"), "vgg_like", recipe) for recipe in ("paper", "tuned")}
    width = "" if rows.width.max() == 1 else f", {rows.width.max():g} of the width"
    ours = both(run["paper"].error[0.985], run["tuned"].error.get(0.985))
    gradual = rows[(rows.metric == GRADUAL) & (rows.method == SBNN.name) & (rows.droprate == 0.985)]
    if len(gradual):
        ours += f", {100 * gradual.value.mean():.2f} % pruned while trained"
    return Headline("9b", f"test error with 98.5 % pruned{width}", f"{compressed('vgg_like')} %", ours)


HEADLINES: dict[str, Callable[[Rows], Headline]] = {
    "simulated_relevance": relevance,
    "simulated_correlation": correlation,
    "simulated_selection": selection,
    "simulated_pruning": simulated,
    "uci_pruning": uci,
    "mnist_pruning": mnist,
    "cifar_pruning": cifar,
    "lenet_pruning": lenet,
    "vgg_pruning": vgg,
}


def headline(results: Results) -> Headline | None:
    """None where the run left out what it is about."""
    try:
        return HEADLINES[results.folder.name](results.rows)
    except (KeyError, IndexError, ValueError):
        return None


def findings(known: Mapping[str, Results], trials: Path) -> list[str]:
    """A line each: which score to prune by, what the start of the weights does, what the Bayesian part buys."""
    return [line for line in (score(known), start(known, trials), bayes(known), strongest(known)) if line]


def ran(known: Mapping[str, Results], name: str, metric: str) -> Rows | None:
    """An experiment's rows, if they hold a metric."""
    results = known.get(name)
    if results is None or not (results.folder / "rows.csv").exists():
        return None
    return results.rows if (results.rows.metric == metric).any() else None


def score(known: Mapping[str, Results]) -> str:
    rows = ran(known, "uci_pruning", "rmse")
    if rows is None:
        return ""
    table = prunable(summary(rows, "rmse"))
    own = table[(table.method == SBNN.name) & (table.recipe == "paper")].dropna(subset=["snr", "inclusion"])
    further, less = (own.snr > own.inclusion).sum(), (own.snr < own.inclusion).sum()
    by_snr, by_inclusion = percent(own.snr.mean()), percent(own.inclusion.mean())
    return (
        f"**Prune by |mean|/σ, not by the inclusion probability.** By the first, {by_snr} of a UCI network's weights "
        f"can go before its error rises by 5 %; by the second, {by_inclusion} (as stated; ahead on "
        f"{further} of {len(own)} networks{f', behind on {less}' if less else ''})."
    )


def start(known: Mapping[str, Results], trials: Path) -> str:
    rows = ran(known, "simulated_relevance", "influence")
    if rows is None or not trials.exists():
        return ""
    table = pd.read_csv(trials, dtype=str)
    other = table[(table.experiment == "simulated_relevance") & (table.key == "init.mean_scale")]
    scale = known["simulated_relevance"].settings.init.mean_scale
    return "".join(
        "**Where the weights start decides the result, and the paper does not say where.** Experiment 1's correlation "
        f"is {influence_correlation(rows, 'psi_2').mean():.2f} from a standard deviation of {scale:g}/√inputs, and "
        f"{trial.errors} from {trial.value}/√inputs."
        for trial in other[:1].itertuples()
    )


def bayes(known: Mapping[str, Results]) -> str:
    rows = ran(known, "uci_pruning", "gradual_rmse")
    if rows is None:
        return ""
    table, name = gradual_on_uci(rows), f"{called(SBNN.name, 'gradual')} − {called(GMP.name, 'ours')}"
    if name not in table:
        return ""
    gaps = [gap for gap in table[table.droprate == AT][name] if gap is not None]
    lower = sum(gap.is_lower for gap in gaps)
    higher = sum(gap.beyond_noise and gap.mean > 0 for gap in gaps)
    return (
        f"**What the Bayesian part buys once pruning happens in training.** At {percent(AT)} pruned, {SBNN.label} "
        f"beats gradual magnitude pruning ({GMP.label}) on {lower} of {len(gaps)} UCI networks and loses on {higher}; "
        f"the rest is noise{on_lenet(known)}."
    )


def on_lenet(known: Mapping[str, Results]) -> str:
    """The same of LeNet-300-100, once it was run."""
    rows = ran(known, "lenet_pruning", "gradual_error")
    if rows is None:
        return ""
    table = factors(rows)
    both = table[table.part.str.startswith("Bayesian") & (table.network == "lenet_300_100")]
    gap = next(iter(both[both["weights pruned, %"] == DEEP].itertuples()), None)
    if gap is None or not isinstance(gap.difference, Difference):
        return ""
    own = gap.difference
    side, noise = "lower" if own.mean < 0 else "higher", "" if own.beyond_noise else ", within noise"
    return (
        f". On LeNet-300-100 with {DEEP} % pruned its error is {abs(own.mean):.2f} ± {own.se:.2f} points {side}{noise} "
        f"({gap.seeds} seeds)"
    )


def strongest(known: Mapping[str, Results]) -> str:
    """The best of the rivals on each LeNet, in whichever way it is pruned, next to the best of ours."""
    rows = ran(known, "lenet_pruning", "gradual_error")
    found = {} if rows is None else {name: contest(rows, name, droprate) for name, droprate in DEEPEST.items()}
    told = [f"on {TITLES[name]} with {100 * DEEPEST[name]:g} % pruned, {text}" for name, text in found.items() if text]
    return f"**The strongest rival** in the same loop: {'; '.join(told)}." if told else ""


def contest(rows: Rows, name: str, droprate: float) -> str:
    """Both errors in words; nothing where either is missing."""
    here = rows[(rows.network == name) & (rows.droprate == droprate)]
    ways = {"error": "pruned at the end", GRADUAL: "pruned while trained"}
    found = pd.concat([measured_curves(here, metric).assign(way=way) for metric, way in ways.items()])
    found, told = found.sort_values("mean"), []
    for side in (found[found.method != SBNN.name], found[found.method == SBNN.name]):
        if side.empty:
            return ""
        best = side.iloc[0]
        over = times(side[:1].drop(columns="epochs"))
        told.append(f"{called(best.method, best.recipe)} ({best.way}, {over}) {best['mean']:.2f} ± {best.se:.2f} %")
    return " against ".join(told)
