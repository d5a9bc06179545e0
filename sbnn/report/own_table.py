"""A table of the user's own: how well it is predicted, from what, and how far the predictions can be trusted."""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report.base import Report
from sbnn.report.cells import Measured, Percent
from sbnn.report.claims import Judge
from sbnn.report.operating_points import operating_points
from sbnn.report.statistics import mean_and_error, paired
from sbnn.report.style import BLUE, GREY, VERMILLION, by_score, line, look, panels

SHOWN = 30  # features in a figure
AT_THE_END = 10  # features in the table that a run ends with
WORDS = {"rmse": "RMSE", "error": "error (share wrong)"}
OTHERS = {"rmse": ["nll", "coverage"], "error": ["nll", "ece", "sampled_error", "sampled_nll", "sampled_ece"]}


def error_of(rows: pd.DataFrame) -> str:
    """The metric that is called the error: of numbers or of classes."""
    return "rmse" if (rows.metric == "rmse").any() else "error"


def ours(rows: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Means over the networks by score and droprate."""
    return mean_and_error(rows[(rows.metric == metric) & (rows.method == SBNN.name)], ["score", "droprate"])


def errors(rows: pd.DataFrame) -> pd.DataFrame:
    """By score and droprate: the error of the network at the posterior mean, its likelihood and calibration."""
    error = error_of(rows)
    table = ours(rows, error).rename(columns={"mean": error, "se": f"{error}_se", "replicates": "networks"})
    for metric in (*OTHERS[error], "active"):
        table[metric] = ours(rows, metric)["mean"]
    return table


def features(rows: pd.DataFrame) -> pd.DataFrame:
    """The most relevant first: relevance, its deviation over half samples, and the share of them that select it."""
    found = rows[rows.metric == "relevance"].groupby("feature", sort=False)["value"]
    selected = rows[rows.metric == "selected"].groupby("feature", sort=False)["value"].mean()
    table = pd.DataFrame({"relevance": found.mean(), "deviation": found.std(), "selected": selected})
    return table.sort_values("relevance", ascending=False, kind="stable").reset_index()


def calibration(rows: pd.DataFrame) -> pd.DataFrame:
    """What is said and what is so, over all networks: intervals by their level, or labels by their confidence."""
    if error_of(rows) == "rmse":
        table = mean_and_error(rows[rows.metric == "covered"], ["level"])
        return table.rename(columns={"level": "expected", "mean": "observed"})[["expected", "observed", "se"]]
    bins = rows[rows.metric.isin(["bin_rows", "bin_confidence", "bin_right"])]
    table = bins.pivot_table(index="level", columns="metric", values="value", aggfunc="mean")
    table = table[table.bin_rows > 0]
    said, so = table.bin_confidence / table.bin_rows, table.bin_right / table.bin_rows
    return pd.DataFrame({"expected": said, "observed": so, "share of rows": table.bin_rows}).reset_index(drop=True)


def comparison(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors of the full network and of scikit-learn's models on the same rows, the best first.

    `less ours` is the difference from the network's, by Nadeau and Bengio's standard error.
    """
    error = error_of(rows)
    full = rows[(rows.metric == error) & (rows.droprate == 0) & (rows.score.isna() | (rows.score == SBNN.score))]
    by_network = full.pivot_table(index="replicate", columns="method", values="value")
    own, overlap = by_network[SBNN.name], rows[rows.metric == "test_over_train"]["value"].iloc[0]
    lines = [
        {
            "method": SBNN.label if method == SBNN.name else method,
            error: Measured(values.mean(), values.sem(), digits=3),
            "less ours": None if method == SBNN.name else paired(values, own, overlap),
        }
        for method, values in by_network.items()
    ]
    return pd.DataFrame(sorted(lines, key=lambda one: one[error].mean))


class OwnTable(Report):
    claims: ClassVar[dict[str, Judge]] = {}  # the paper makes none about it

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        found = {"errors": errors(rows), "features": features(rows), "calibration": calibration(rows)}
        found["operating_points"] = operating_points(rows[rows.method == SBNN.name], ["method"], error_of(rows))
        return found | ({"comparison": comparison(rows)} if (rows.method != SBNN.name).any() else {})

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        return {
            "errors": draw_errors(rows),
            "features": draw_features(rows),
            "calibration": draw_calibration(rows),
        }

    def headline(self, rows: pd.DataFrame) -> float:
        """The error of the full network."""
        own = rows[(rows.metric == error_of(rows)) & (rows.method == SBNN.name) & (rows.droprate == 0)]
        return float(own["value"].mean())

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The features that matter most."""
        table = features(rows).head(AT_THE_END)
        return table.assign(selected=table.selected.map(Percent))


def draw_errors(rows: pd.DataFrame) -> Figure:
    error = error_of(rows)
    figure, (axes,) = panels(1, width=4.6, height=3.2)
    for score, curve in ours(rows, error).groupby("score", sort=False):
        line(axes, curve, "droprate", look(SBNN.name), f"by {score}", **by_score(score))
    others = rows[(rows.metric == error) & (rows.method != SBNN.name)].groupby("method", sort=False)["value"].mean()
    for (name, value), style in zip(others.items(), ("--", "-.", ":"), strict=False):
        axes.axhline(value, color=GREY, ls=style, lw=1, label=name)
    axes.set(xlabel="droprate", ylabel=f"{WORDS[error]} (mean ± s.e.)")
    axes.legend()
    return figure


def draw_features(rows: pd.DataFrame) -> Figure:
    """Bars, the most relevant on top: relevance ± its deviation, and on the right how often a feature is selected."""
    table = features(rows).head(SHOWN)[::-1]
    control = rows[rows.metric == "control"]["value"].mean()
    figure, (axes, often) = panels(2, width=3.3, height=1.2 + 0.2 * len(table), sharey=True)
    names = [name if len(name) <= 24 else f"{name[:23]}…" for name in table.feature]
    axes.barh(range(len(table)), table.relevance, xerr=table.deviation, color=BLUE, ecolor=GREY, capsize=2)
    axes.axvline(control, color=VERMILLION, ls="--", lw=1, label="the most relevant\nshuffled copy")
    axes.set(yticks=range(len(table)), yticklabels=names, xlabel="relevance $\\phi$ (mean ± deviation)", xlim=(0, None))
    axes.legend(loc="lower right")
    often.barh(range(len(table)), 100 * table.selected, color=BLUE)
    often.set(xlabel="selected in % of the half samples", xlim=(0, 100))
    return figure


def draw_calibration(rows: pd.DataFrame) -> Figure:
    table = calibration(rows)
    figure, (axes,) = panels(1, width=3.6, height=3.3)
    axes.plot([0, 1], [0, 1], color=GREY, lw=1, ls="--", label="perfect")
    if "se" in table:
        axes.errorbar(table.expected, table.observed, yerr=table.se.fillna(0), color=BLUE, marker="o", capsize=2)
        axes.set(xlabel="level of the central interval", ylabel="share of targets inside (mean ± s.e.)")
    else:
        axes.plot(table.expected, table.observed, color=BLUE, marker="o")
        for point in table.itertuples(index=False):
            axes.annotate(f"{100 * point[2]:.0f} %", point[:2], (4, -9), textcoords="offset points", fontsize=7)
        axes.set(xlabel="confidence", ylabel="share of right labels")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.legend()
    return figure


REPORT = OwnTable()
