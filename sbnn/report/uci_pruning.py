"""Experiment 5: UCI regression, full and pruned, next to the numbers that others published."""

from typing import ClassVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.data.uci import DATASETS
from sbnn.model.methods import BBB, MAP, NN, NN_DR, SBNN, SPARSE_VD, SVBNN, Method
from sbnn.report import group_rivals, interactive, pbp, uci_claims, uci_settings
from sbnn.report.base import Report
from sbnn.report.cells import NOT_RUN, Measured, Word
from sbnn.report.claims import Judge
from sbnn.report.names import RECIPES, called
from sbnn.report.operating_points import operating_points
from sbnn.report.statistics import largest_droprate, paired
from sbnn.report.style import DASHES
from sbnn.report.uci import (
    CURVE,
    DECIMALS,
    OVERLAP,
    RIVALS,
    Estimate,
    Network,
    estimates,
    papers,
    papers_curve,
    published,
    summary,
)
from sbnn.report.uci_contests import GRADUAL, gradual, improvement
from sbnn.report.uci_figures import PAPER, by_interval, by_method, by_ranking, networks

STATED, TUNED = (SBNN, "paper"), (SBNN, "tuned")
TRAINED = (STATED, TUNED, (NN, "ours"), (NN_DR, "ours"), (BBB, "ours"))  # in the tables' order
NAMES = {(method.name, recipe): called(method.name, recipe) for method, recipe in TRAINED}
HALF = f"{SBNN.label}-50"
# Columns of the comparison: method, recipe, score and droprate of each.
COMPARED = {
    called(SBNN.name, "paper"): (*STATED, "inclusion", 0.0),
    called(SBNN.name, "tuned"): (*TUNED, "inclusion", 0.0),
    f"{HALF} {RECIPES['paper']} (inclusion)": (*STATED, "inclusion", 0.5),
    f"{HALF} {RECIPES['tuned']} (inclusion)": (*TUNED, "inclusion", 0.5),
    f"{HALF} {RECIPES['tuned']} (snr)": (*TUNED, "snr", 0.5),
    f"{NN.label} (ours)": (NN, "ours", "magnitude", 0.0),
    f"{NN.label}-50 by magnitude (ours)": (NN, "ours", "magnitude", 0.5),
    f"{NN_DR.label} (ours)": (NN_DR, "ours", "magnitude", 0.0),
    f"{BBB.label} (ours)": (BBB, "ours", "snr", 0.0),
    f"{BBB.label}-50 by snr (ours)": (BBB, "ours", "snr", 0.5),
    **{f"{rival.label} (ours)": (rival, "ours", rival.score, 0.0) for rival in (MAP, SPARSE_VD, SVBNN)},
}
# The comparison on one screen: the paper's number, ours by both recipes, and the strongest published rival.
CLOSING = [
    "dataset", "hidden", PAPER, called(SBNN.name, "paper"), called(SBNN.name, "tuned"),
    f"{HALF} {RECIPES['tuned']} (snr)", "Dropout 2018 (published)",
]  # fmt: skip


class UciPruning(Report):
    claims: ClassVar[dict[str, Judge]] = uci_claims.JUDGES
    claims_before: ClassVar[dict[str, Judge]] = uci_claims.BEFORE
    studies: ClassVar[tuple[str, ...]] = (uci_settings.FOLDER,)
    tabled: ClassVar[tuple[str, ...]] = (pbp.FOLDER, group_rivals.FOLDER)

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        beside = {pbp.LABEL: pbp.errors(rows), group_rivals.HS_BNN: group_rivals.errors(rows)}
        rows = rows[rows.experiment == "uci_pruning"]
        found, also = estimates(rows), {}
        if (rows.metric == GRADUAL).any():
            also["gradual"] = gradual(rows)
        if rows.metric.str.startswith("chosen_").any():
            also["operating_points"] = operating_points(rows, CURVE[:4], "rmse")
        if not found:  # only networks that were pruned while they were trained
            return also
        return also | {
            "comparison": comparison(rows, found, beside),
            "rmse_by_droprate": rmse_by_droprate(rows, found),
            "datasets": datasets(rows),
            "calibration": calibration(rows),
            "prunable": prunable(summary(rows, "rmse")),
            "paired": paired_differences(rows),
            "improvement": improvement(rows),
        }

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        if not (rows.metric == "rmse").any():
            return {}
        tuned = ((rows.method == SBNN.name) & (rows.recipe == "tuned")).any()
        drawn = {"rmse_by_droprate": by_method(rows)} | ({"rmse_by_score": by_ranking(rows)} if tuned else {})
        return drawn | ({"coverage": by_interval(rows)} if (rows.metric == "coverage").any() else {})

    def headline(self, rows: pd.DataFrame) -> float:
        """The geometric mean over datasets of the full networks' RMSE; of the tuned ones if both recipes ran.

        Where there is no full network, of those that were pruned while they were trained.
        """
        ours = rows[rows.method == SBNN.name]
        full = ours[(ours.metric == "rmse") & (ours.droprate == 0)]
        tuned, gradually = full[full.recipe == "tuned"], ours[ours.metric == GRADUAL]
        shown = next(part for part in (tuned, full, gradually) if len(part))
        means = shown.groupby(["dataset", "hidden", "droprate"])["value"].mean()
        return float(np.exp(np.log(means).mean()))

    def curve(self, rows: pd.DataFrame) -> dict:
        def printed(panel: pd.Series) -> list[dict]:
            theirs = papers_curve(Network(panel.dataset, panel.hidden))
            return [interactive.printed(PAPER, theirs, theirs.values())] if theirs else []

        def title(panel: pd.Series) -> str:
            return f"{panel.dataset}, {panel.hidden} units"

        found = pd.concat([summary(rows, metric).assign(metric=metric) for metric in ("rmse", GRADUAL)])
        return interactive.plot(found, ["dataset", "hidden"], "test RMSE, target's units", title, printed, of="split")

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame:
        if not (rows.metric == "rmse").any():
            return gradual(rows)
        return comparison(rows, estimates(rows), {})[CLOSING]


def cell(
    found: dict[tuple, Estimate], network: Network, method: Method, recipe: str, score: str, droprate: float
) -> Measured | Word:
    """Our RMSE; what the paper prints for the same network stands next to that of its own method."""
    ours = found.get((*network, method.name, recipe, score, droprate))
    if ours is None:
        return NOT_RUN
    theirs = papers(network, droprate) if method is SBNN else None
    return Measured(ours.mean, ours.se, DECIMALS.get(network.dataset, 2), theirs)


def comparison(
    rows: pd.DataFrame, found: dict[tuple, Estimate], beside: dict[str, dict[Network, Measured]]
) -> pd.DataFrame:
    """RMSE ± standard error of full networks and of sBNN at 50 %, next to what others published.

    Our own run of a rival stands right before the published one; those of some are `beside` the experiment.
    """
    lines = []
    for network in networks(rows):
        line = {"dataset": network.dataset, "hidden": network.hidden or NOT_RUN}
        line |= {PAPER: papers(network, 0.0), f"{HALF} (paper)": papers(network, 0.5)}
        line |= {label: cell(found, network, *wanted) for label, wanted in COMPARED.items()}
        for rival, note in RIVALS.note.items():
            if rival in beside:
                line[f"{rival} (ours)"] = beside[rival].get(network, NOT_RUN)
            line[f"{rival} ({note})"] = published(network.dataset, rival)
        lines.append(line)
    return pd.DataFrame(lines)


def rmse_by_droprate(rows: pd.DataFrame, found: dict[tuple, Estimate]) -> pd.DataFrame:
    """The paper's table, theirs and ours side by side, ± standard error over the splits."""
    run = {key[2:5] for key in found}
    columns = [
        (*trained, score) for trained in TRAINED for score in DASHES if (trained[0].name, trained[1], score) in run
    ]
    lines = []
    for network in networks(rows):
        for droprate in sorted({key[-1] for key in found}):
            line = {"dataset": network.dataset, "hidden": network.hidden or NOT_RUN, "droprate": droprate}
            line[PAPER] = papers(network, droprate)
            for method, recipe, score in columns:
                label = f"{called(method.name, recipe)}, {score}"
                line[label] = cell(found, network, method, recipe, score, droprate)
            lines.append(line)
    return pd.DataFrame(lines)


def datasets(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's table of characteristics, with where our copy came from."""
    lines = []
    for name, hidden in networks(rows):
        d, own = DATASETS[name], rows[rows.dataset == name]
        lines.append(
            {
                "dataset": name,
                "title": d.title,
                "N": d.rows,
                "p": d.features,
                "hidden": hidden or NOT_RUN,
                "weights": (d.features + 2) * hidden + 1 if hidden else NOT_RUN,
                "splits": f"{own.replicate.nunique()} of {d.splits}" if hidden else NOT_RUN,
                "source": own.source.iloc[0] if hidden else NOT_RUN,
            }
        )
    return pd.DataFrame(lines)


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """Test negative log-likelihood and coverage of the 95 % interval along every pruning curve."""
    nll, coverage = summary(rows, "nll"), summary(rows, "coverage")
    table = nll.rename(columns={"mean": "nll", "se": "nll_se"})
    return table.assign(coverage=coverage["mean"], coverage_se=coverage["se"])


def prunable(curves: pd.DataFrame) -> pd.DataFrame:
    """How much can go before the mean RMSE rises by 5 %, score by score."""
    curves = curves.assign(dataset=pd.Categorical(curves.dataset, list(DATASETS)))
    index = ["method", "recipe", "dataset", "hidden", "score"]
    lines = curves.pivot_table(index=index, columns="droprate", values="mean", observed=True)
    found = largest_droprate(lines).rename("prunable").reset_index()
    return found.pivot_table(index=index[:-1], columns="score", values="prunable", observed=True).reset_index()


def paired_differences(rows: pd.DataFrame) -> pd.DataFrame:
    """RMSE of the tuned sBNN less each rival's, and of itself with half of its weights less that of all of them."""
    rmse = rows[rows.metric == "rmse"].set_index("replicate")
    splits = dict(iter(rmse.groupby(CURVE)["value"]))

    def of(network: Network, method: Method, recipe: str, score: str, droprate: float = 0.0) -> pd.Series:
        return splits.get((*network, method.name, recipe, score, droprate), pd.Series(dtype=float))

    lines = []
    for network in networks(rows):
        if network.hidden is None:
            continue
        tuned = of(network, *TUNED, SBNN.score)
        line = {"dataset": network.dataset, "hidden": network.hidden}
        line["splits"] = rmse[rmse.dataset == network.dataset].index.nunique()
        for method, recipe in TRAINED:
            if (method, recipe) != TUNED:
                rival = of(network, method, recipe, method.score)
                line[f"tuned − {called(method.name, recipe)}"] = paired(tuned, rival, OVERLAP)
        line["tuned at 50 % (snr) − full"] = paired(of(network, *TUNED, "snr", 0.5), tuned, OVERLAP)
        lines.append(line)
    return pd.DataFrame(lines)


REPORT = UciPruning()
