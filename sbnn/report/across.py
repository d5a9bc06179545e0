"""Claims of the paper that no single experiment settles: judged from the rows of all that are in a folder."""

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

from sbnn.errors import SbnnError
from sbnn.model.methods import BBB, SBNN
from sbnn.report import gradients, sensitivity, uci_settings
from sbnn.report.claims import LEFT_OUT, Finding, judge, scoreboard
from sbnn.report.names import called
from sbnn.report.results import Results, study_rows
from sbnn.report.statistics import largest_droprate
from sbnn.report.uci import OVERLAP

NAME = "across"  # in the place of an experiment's
# The error of each experiment that prunes weights, and what its networks differ in.
PRUNED = {
    "simulated_pruning": ("test_mse", ["active_share"]),
    "uci_pruning": ("rmse", ["dataset", "hidden"]),
    "mnist_pruning": ("error", ["width"]),
    "cifar_pruning": ("error", ["augmentation"]),
    "lenet_pruning": ("error", ["network"]),
    "vgg_pruning": ("error", ["width"]),
}
ORDER = list(PRUNED)
ERROR_RANGE, SHARE_RANGE = 0.05, 0.10  # how far a setting may move what it matters little for


class Evidence:
    """The rows that a folder holds, of experiments that were judged and of studies."""

    def __init__(self, folder: Path, known: Mapping[str, Results]):
        self.folder = folder
        self.rows = {
            name: rows for name in PRUNED if (rows := judged(known.get(name, Results(folder / name)))) is not None
        }

    def networks(self) -> Iterator[tuple[str, str, pd.DataFrame]]:
        """Experiment, method by recipe, and rows of every network with a posterior that was pruned at the end."""
        for experiment, rows in self.rows.items():
            metric, differ = PRUNED[experiment]
            own = rows[rows.metric.isin([metric, "switched"]) & rows.method.isin([SBNN.name, BBB.name])]
            own = own.assign(metric=own.metric.replace(metric, "error"))
            for (*_, method, recipe), found in own.groupby([*differ, "method", "recipe"], sort=False):
                yield experiment, called(method, recipe), found

    def study(self, name: str) -> pd.DataFrame | None:
        return study_rows(self.folder / name)


def judged(results: Results) -> pd.DataFrame | None:
    """An experiment's rows, unless it was not run, is a smoke run, or cannot be read, of which the page says so."""
    try:
        return results.rows if (results.folder / "run.json").exists() and results.is_judged else None
    except (OSError, ValueError, KeyError, SbnnError):
        return None


def number(experiment: str) -> int:
    """Of an experiment, as the paper counts them."""
    return ORDER.index(experiment) + 4


def curves(rows: pd.DataFrame, score: str, metric: str = "error") -> pd.DataFrame:
    """Replicates by droprate."""
    own = rows[(rows.score == score) & (rows.metric == metric)]
    return own.pivot_table(index="replicate", columns="droprate", values="value")


def gain(experiment: str, rows: pd.DataFrame) -> float:
    """The best chance, allowing for all droprates, that a lower error than the full network's is luck.

    Over splits or seeds where there are several, else over the images on which pruning changed the answer.
    """
    errors = curves(rows, SBNN.score)
    pruned, full, best = errors.drop(columns=0.0), errors[0.0], 1.0
    for droprate in pruned:
        gaps = (errors[droprate] - full).dropna()
        if len(gaps) > 1:
            more = OVERLAP if experiment == "uci_pruning" else 0.0
            se, luck = gaps.std() * math.sqrt(1 / len(gaps) + more), stats.t(len(gaps) - 1)
        else:
            switched = curves(rows, SBNN.score, "switched")
            if droprate not in switched or gaps.empty:
                continue
            se, luck = math.sqrt(switched[droprate].mean() / rows.measured.iloc[0]), stats.norm
        if se > 0:
            best = min(best, 2 * luck.cdf(gaps.mean() / se))
    return best * pruned.shape[1]


def pruned_is_better(evidence: Evidence) -> Finding:
    better: dict[str, list[bool]] = {}
    for experiment, name, rows in evidence.networks():
        if name.startswith(SBNN.label) and 0.0 in curves(rows, SBNN.score):
            better.setdefault(experiment, []).append(gain(experiment, rows) < 0.05)
    if not better:
        return LEFT_OUT
    counts = [f"Experiment {number(name)}: {sum(found)} of {len(found)}" for name, found in better.items()]
    return Finding("networks: " + "; ".join(counts), None, [any(found) for found in better.values()])


def second_moment_is_better(evidence: Evidence) -> Finding:
    """On how many networks more weights can go, within 5 % of the full error, by inclusion than by snr."""
    found: dict[tuple[str, str], list[float]] = {}
    for experiment, name, rows in evidence.networks():
        shares = [curves(rows, score).mean().to_frame().T for score in ("inclusion", "snr")]
        if all(0.0 in share for share in shares):
            further, less = (float(largest_droprate(share).iloc[0]) for share in shares)
            found.setdefault((experiment, name.split()[0]), []).append(further - less)
    texts, holds = [], []
    for (experiment, method), gaps in sorted(found.items(), key=lambda entry: ORDER.index(entry[0][0])):
        further, less = (sum(np.sign(gaps) == sign) for sign in (1, -1))
        texts.append(f"Experiment {number(experiment)}, {method}: {further} further, {less} less far, of {len(gaps)}")
        holds.append(2 * further > len(gaps))
    return Finding("; ".join(texts), None, holds) if holds else LEFT_OUT


def settings_matter_little(evidence: Evidence) -> Finding:
    """Over the spike's width, from every start: how far the full error and the share that can go move."""
    grids, simulated, uci = {}, evidence.rows.get("simulated_pruning"), evidence.study(uci_settings.FOLDER)
    if simulated is not None and sensitivity.has_grid(simulated):
        grids["Experiment 4"] = simulated
    if uci is not None and "grid" in set(uci.study):
        grids |= uci_settings.grid(uci)
    texts, holds = [], []
    for name, own in grids.items():
        cells = sensitivity.measures(own).groupby(sensitivity.GRID).mean()
        rows_of = cells.groupby("mean_scale")
        error = rows_of["full error"].max() / rows_of["full error"].min() - 1
        share = rows_of["prunable"].max() - rows_of["prunable"].min()
        texts.append(f"{name}: error by {error.max():.0%}, share that can go by {100 * share.max():.0f} points")
        holds += [bool(error.max() <= ERROR_RANGE), bool(share.max() <= SHARE_RANGE)]
    return Finding("at most, " + "; ".join(texts), None, holds) if holds else LEFT_OUT


def gradients_agree(evidence: Evidence) -> Finding:
    rows = evidence.study(gradients.FOLDER)
    return LEFT_OUT if rows is None else gradients.same_mean(rows)


JUDGES = {
    "10a": pruned_is_better,
    "10b": second_moment_is_better,
    "10c": settings_matter_little,
    "10d": gradients_agree,
}


def verdicts(folder: Path, known: Mapping[str, Results]) -> pd.DataFrame:
    """Of these claims, by what is in the folder; budgets differ from one experiment to the next."""
    return judge(NAME, JUDGES, Evidence(folder, known), "")


def board(folder: Path, fresh: Iterable[Results] = (), known: Mapping[str, Results] | None = None) -> pd.DataFrame:
    """The verdict on every claim, by a folder's results; `fresh` ones are judged anew, those `known` are not read."""
    judged_anew = {results.folder.name: results.verdicts for results in fresh if results.is_judged}
    return scoreboard(folder, judged_anew | {NAME: verdicts(folder, known or {})})
