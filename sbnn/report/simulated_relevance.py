"""Experiment 1: is a feature's relevance linear in its influence?"""

from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.report.base import Report
from sbnn.report.claims import LEFT_OUT, Finding, Judge
from sbnn.report.simulated import wide
from sbnn.report.statistics import in_deviations
from sbnn.report.style import BLUE, VERMILLION, panels


def influence_correlation(rows: pd.DataFrame, psi: str) -> pd.Series:
    """Pearson's r of influence and relevance over the alphas, one per replicate."""
    wide = rows.pivot_table(index=["replicate", "alpha"], columns="metric", values="value")
    return pd.Series({r: g["influence"].corr(g[psi]) for r, g in wide.groupby(level="replicate")})


def follows_influence(psi: str, sign: int) -> Judge:
    def find(rows: pd.DataFrame) -> Finding:
        r = influence_correlation(rows, psi)
        if r.isna().any():  # a single alpha has no correlation
            return LEFT_OUT
        margin = sign * r.mean() - 0.95
        margins = [in_deviations(sign * r - 0.95)]
        return Finding(f"r = {r.mean():.3f}", r.sem(), [margin >= 0], "", margin, len(r), margins)

    return find


def relevance(rows: pd.DataFrame) -> pd.DataFrame:
    """I, psi_1 and psi_2 by alpha."""
    return wide(rows[rows.metric != "train_mse"], ["alpha"], "metric")


class SimulatedRelevance(Report):
    claims: ClassVar[dict[str, Judge]] = {"1a": follows_influence("psi_2", 1), "1b": follows_influence("psi_1", -1)}

    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        return {"relevance": relevance(rows)}

    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        table = relevance(rows)
        figure, (axes,) = panels(1, width=4.2, height=3.2)
        for j, marker, colour in ((1, "o", BLUE), (2, "s", VERMILLION)):
            axes.errorbar(
                table["influence"], table[f"psi_{j}"], xerr=table["influence_se"], yerr=table[f"psi_{j}_se"],
                fmt=marker, color=colour, capsize=2, elinewidth=0.8, label=f"$\\psi_{j}$",
            )  # fmt: skip
        axes.set(xlabel="influence of $X_2$ on $Y$, $I$", ylabel="relevance $\\psi$", ylim=(0, None))
        axes.legend()
        return {"relevance": figure}

    def headline(self, rows: pd.DataFrame) -> float:
        """What the correlation lacks to 1."""
        return float(1 - influence_correlation(rows, "psi_2").mean())


REPORT = SimulatedRelevance()
