"""Experiment 5 in figures: methods against each other, the scores that one network can be ranked by, and intervals."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sbnn.data.uci import DATASETS
from sbnn.model.methods import GMP, NN, SBNN, SPARSE_VD, SVBNN
from sbnn.report.names import called
from sbnn.report.style import (
    DASHES,
    INK,
    PALETTE,
    PRINTED,
    by_score,
    left,
    legend_below,
    line,
    look,
    panels,
    plain_ticks,
    weights_left,
)
from sbnn.report.uci import Network, papers_curve, summary

PAPER = f"{SBNN.label} (paper)"
# Method, recipe, score and metric of every curve of the first figure.
DRAWN = (
    (SBNN.name, "paper", "inclusion", "rmse"),
    (SBNN.name, "tuned", "snr", "rmse"),
    (SBNN.name, "gradual", "snr", "gradual_rmse"),
    (GMP.name, "ours", "magnitude", "gradual_rmse"),
)
RANKED = ("inclusion", "magnitude", "snr", "evidence", "path")  # scores of the second figure
BELIEVED = (  # of the third: method, recipe and metric, each by one score
    (SBNN.name, "paper", "coverage", "snr"),
    (SBNN.name, "tuned", "coverage", "snr"),
    (SBNN.name, "gradual", "gradual_coverage", "snr"),
    *((method.name, "ours", "coverage", method.score) for method in (SPARSE_VD, SVBNN, NN)),
)
NOMINAL = 95  # per cent
SMALL = {"markersize": 3, "lw": 1}


def networks(rows: pd.DataFrame) -> list[Network]:
    """Every dataset of the benchmark with each width it was run at, in the paper's order."""
    widths = rows.groupby("dataset")["hidden"].unique()
    return [Network(name, w) for name in DATASETS for w in (sorted(widths[name]) if name in widths else [None])]


def by_method(rows: pd.DataFrame) -> Figure:
    """RMSE by the weights that are left: the paper, ours as stated and at its best, and the strongest rival."""
    curves = {metric: summary(rows, metric) for metric in ("rmse", "gradual_rmse")}

    def draw(ax: Axes, network: Network) -> None:
        # naval's 0.00 has no place on a logarithmic axis
        theirs = {100 * (1 - droprate): rmse for droprate, rmse in papers_curve(network).items() if rmse > 0}
        ax.plot(list(theirs), list(theirs.values()), label=PAPER, **PRINTED | SMALL)
        for method, recipe, score, metric in DRAWN:
            own = _along(curves[metric], network, method, recipe)
            when = "pruned in training" if metric != "rmse" else f"by {score} at the end"
            label = f"{called(method, recipe)}, {when}"
            line(ax, own[own.score == score], "left", look(method, recipe), label, **SMALL)

    return _figure(rows, draw)


def by_ranking(rows: pd.DataFrame) -> Figure:
    """RMSE of the tuned networks by the weights that are left, ranked by each score."""
    curves = summary(rows, "rmse")

    def draw(ax: Axes, network: Network) -> None:
        own = _along(curves, network, SBNN.name, "tuned")
        for score, curve in own[own.score.isin(RANKED)].groupby("score", sort=False):
            colour = PALETTE[list(DASHES).index(score) % len(PALETTE)]
            line(ax, curve, "left", (colour, "o"), f"by {score}", **by_score(score) | SMALL)

    return _figure(rows, draw)


def by_interval(rows: pd.DataFrame) -> Figure:
    """The share of the test rows inside the 95 % predictive interval, by the weights that are left."""
    inside = rows[rows.metric.isin(["coverage", "gradual_coverage"])].assign(value=lambda r: 100 * r.value)
    curves = {metric: summary(inside, metric) for metric in inside.metric.unique()}

    def draw(ax: Axes, network: Network) -> None:
        ax.axhline(NOMINAL, color=INK, ls=":", lw=1)
        for method, recipe, metric, score in BELIEVED:
            if metric in curves:
                own = _along(curves[metric], network, method, recipe)
                line(ax, own[own.score == score], "left", look(method, recipe), called(method, recipe), **SMALL)

    return _figure(rows, draw, "inside 95 % interval, %", yscale="linear")


def _along(curves: pd.DataFrame, network: Network, method: str, recipe: str) -> pd.DataFrame:
    """The points of one network by a recipe, with the weights left in per cent."""
    wanted = [*network, method, recipe]
    return left(curves[(curves[["dataset", "hidden", "method", "recipe"]] == wanted).all(axis=1)])


def _figure(
    rows: pd.DataFrame, draw: Callable[[Axes, Network], None], label: str = "test RMSE", yscale: str = "log"
) -> Figure:
    """A panel per network that was run; errors on a logarithmic scale: a network that breaks is wrong by a factor."""
    shown = [network for network in networks(rows) if network.hidden]
    across = next((n for n in (4, 5, 3) if len(shown) % n == 0), 4)
    drawn, axes = panels(across, -(-len(shown) // across), width=10.4 / across, height=2.1)
    for ax, network in zip(axes, shown, strict=False):
        draw(ax, network)
        ax.set(title=f"{network.dataset}, {network.hidden} units", yscale=yscale)
        weights_left(ax, rows.droprate.dropna(), label="")
        if yscale == "log":
            plain_ticks(ax)
    for ax in axes[len(shown) :]:
        ax.axis("off")
    for ax in axes[::across]:
        ax.set_ylabel(label)
    for ax in axes[max(0, len(shown) - across) : len(shown)]:
        ax.set_xlabel("weights left, %")
    legend_below(drawn, axes[: len(shown)])
    return drawn
