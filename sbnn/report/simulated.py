"""Tables and figures of Experiments 1 to 4, from their rows alone."""

import itertools

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sbnn.report.style import COLOURS, by_score, line, panels
from sbnn.runs.rows import mean_and_error, paired

Drawn = tuple[dict[str, pd.DataFrame], dict[str, Figure]]

LABELS = {"D": "features D", "alpha": r"$\alpha$  ($\beta_j = j/\alpha$)", "active_share": "active share"}
GRID = np.linspace(0, 1, 200)
RIVALS = ["LM", "NN", "BNN", "NN_Dr"]
F = {"linear": "f(x) = x", "nonlinear": "f(x) = exp|x| − 2x + sin 2πx"}


def wide(rows: pd.DataFrame, index: list[str], columns: str) -> pd.DataFrame:
    """Mean and standard error side by side: one row per setting, two columns per metric or method."""
    summary = mean_and_error(rows, [*index, columns])
    table = summary.pivot_table(index=index, columns=columns, values=["mean", "se"], sort=False, dropna=False)
    table.columns = [name if kind == "mean" else f"{name}_se" for kind, name in table.columns]
    return table[sorted(table.columns)].reset_index()


def relevance(rows: pd.DataFrame) -> Drawn:
    """Experiment 1: I against psi_1 and psi_2."""
    table = wide(rows[rows.metric != "train_mse"], ["alpha"], "metric")
    figure, (axes,) = panels(1, width=4.2, height=3.2)
    for (j, marker), colour in zip(((1, "o"), (2, "s")), (COLOURS[4], COLOURS[0]), strict=True):
        axes.errorbar(
            table["influence"], table[f"psi_{j}"], xerr=table["influence_se"], yerr=table[f"psi_{j}_se"],
            fmt=marker, color=colour, capsize=2, elinewidth=0.8, label=f"$\\psi_{j}$",
        )  # fmt: skip
    axes.set(xlabel="influence of $X_2$ on $Y$, $I$", ylabel="relevance $\\psi$ (mean ± s.e.)", ylim=(0, None))
    axes.legend()
    return {"relevance": table}, {"relevance": figure}


def correlation(rows: pd.DataFrame) -> Drawn:
    """Experiment 2: correlation of phi and beta by alpha and f; densities of phi at the two ends of alpha."""
    found = rows[rows.metric == "correlation"]
    table = mean_and_error(found, ["recipe", "f", "alpha"])
    table["sd"] = found.groupby(["recipe", "f", "alpha"])["value"].std().to_numpy()
    functions, recipes = [f for f in F if f in set(found.f)], sorted(found.recipe.unique(), reverse=True)
    boxes, axes = panels(len(functions), len(recipes), sharey=True, sharex=True)
    densities, more = panels(len(functions), len(recipes), sharey="row", sharex=True)
    for ax, below, (recipe, f) in zip(axes, more, itertools.product(recipes, functions), strict=True):
        groups = [(alpha, g["value"]) for alpha, g in found[(found.f == f) & (found.recipe == recipe)].groupby("alpha")]
        ax.boxplot(
            [values for _, values in groups], tick_labels=[f"{alpha:g}" for alpha, _ in groups], patch_artist=True,
            boxprops={"facecolor": COLOURS[functions.index(f) * 4], "alpha": 0.5}, medianprops={"color": "black"},
        )  # fmt: skip
        ax.axhspan(0.90, 0.95, color="#999999", alpha=0.25, lw=0, label="the paper's range")
        phis = rows[(rows.metric == "phi") & (rows.f == f) & (rows.recipe == recipe)]
        for alpha, colour, dash in zip((phis.alpha.min(), phis.alpha.max()), COLOURS[::4], ("-", "--"), strict=False):
            values = phis[phis.alpha == alpha]["value"].to_numpy()
            below.plot(GRID, density(values, GRID), dash, color=colour, label=rf"$\alpha$ = {alpha:g}")
        for title in (ax, below):
            title.set_title(f"{F[f]}, {recipe} y")
    for lower, (ax, below) in enumerate(zip(axes, more, strict=True)):
        last = lower >= len(axes) - len(functions)
        ax.set(xlabel=LABELS["alpha"] if last else None)
        below.set(xlabel=r"relevance $\phi$" if last else None, ylim=(0, None))
        if lower % len(functions) == 0:
            ax.set_ylabel(r"correlation of $\phi$ and $\beta$")
            below.set_ylabel("density")
    axes[0].legend(loc="lower left")
    more[0].legend()
    return {"correlation": table}, {"correlation": boxes, "phi_density": densities}


def density(values: np.ndarray, grid: np.ndarray) -> np.ndarray:
    """Gaussian kernel density on [0, 1], mirrored at the ends so that no mass leaks out; Scott's bandwidth."""
    width = max(values.std() * len(values) ** -0.2, 1e-3)
    mirrored = np.concatenate([values, -values, 2 - values])
    kernels = np.exp(-0.5 * ((grid[:, None] - mirrored) / width) ** 2)
    return kernels.sum(1) / (len(values) * width * np.sqrt(2 * np.pi))


def selection(rows: pd.DataFrame) -> Drawn:
    """Experiment 3: accuracy and errors along D, alpha and the active share; then with the CV threshold."""
    settings = ["D", "alpha", "active_share"]
    measured = rows[rows.metric.isin(["train_mse", "test_mse"])]
    shares = along(rows, "active_share")
    tables = {
        "accuracy": mean_and_error(rows[rows.metric == "accuracy"], [*settings, "method"]),
        "errors": mean_and_error(measured, [*settings, "method", "metric"]),
        "detected_share": wide(shares[shares.metric.str.endswith("_share")], ["active_share"], "metric"),
        "paired": paired_errors(shares),
    }
    figures = {}
    for key in settings:
        figures[f"by_{key}"], (left, middle, right) = panels(3)
        _accuracy(left, along(rows, key), key, "BNN_VS")
        _errors(middle, right, along(rows, key), key, [*RIVALS, "BNN_VS"])

    figures["cross_validation"], (left, right) = panels(2)
    found = shares.pivot_table(index=["active_share", "replicate"], columns="metric", values="value")
    left.plot([0, 1], [0, 1], color="#666666", lw=0.8, label="y = x")
    left.scatter(found["actual_share"], found["detected_share"], s=14, alpha=0.6, color=COLOURS[0], label="one dataset")
    left.set(xlabel="actual share of active features", ylabel="share chosen by cross-validation")
    left.set(xlim=(0, 1.02), ylim=(0, 1.02))
    left.legend()
    right.axhline(0.8, color="#666666", lw=0.8, ls="--", label="the paper's 80 %")
    _accuracy(right, shares, "active_share", "BNN_VS_CV")
    right.legend(loc="lower right")

    figures["errors_cv"], (left, right) = panels(2)
    _errors(left, right, shares, "active_share", [*RIVALS, "BNN_VS_CV"])
    return tables, figures


def paired_errors(rows: pd.DataFrame) -> pd.DataFrame:
    """Test error of both selected networks less that of every rival, on the same data sets, by active share."""
    lines = []
    for share, own in rows[rows.metric == "test_mse"].groupby("active_share"):
        errors = own.pivot_table(index="replicate", columns="method", values="value")
        line = {"active_share": share, "datasets": len(errors)}
        for method in ("BNN_VS", "BNN_VS_CV"):
            line |= {f"{method} − {r}": paired(errors[method], errors[r]) for r in RIVALS if r in errors}
        lines.append(line)
    return pd.DataFrame(lines)


def along(rows: pd.DataFrame, key: str) -> pd.DataFrame:
    """The rows where only `key` varies: the other settings at their most common value."""
    for other in ("D", "alpha", "active_share"):
        if other != key:
            rows = rows[rows[other] == rows[other].mode()[0]]
    return rows


def _accuracy(axes: Axes, rows: pd.DataFrame, key: str, method: str) -> None:
    chosen = rows[(rows.metric == "accuracy") & (rows.method == method)]
    line(axes, mean_and_error(chosen, [key]), key, method, method)
    axes.set(xlabel=LABELS[key], ylabel="selection accuracy", ylim=(0, 1.02))


def _errors(left: Axes, right: Axes, rows: pd.DataFrame, key: str, methods: list[str]) -> None:
    for axes, part in ((left, "train"), (right, "test")):
        for method in methods:
            chosen = rows[(rows.method == method) & (rows.metric == f"{part}_mse")]
            line(axes, mean_and_error(chosen, [key]), key, method, method)
        axes.set(xlabel=LABELS[key], ylabel=f"{part} MSE / variance of y", ylim=(0, None))
    right.legend(loc="center left", bbox_to_anchor=(1, 0.5))


def pruning(rows: pd.DataFrame) -> Drawn:
    """Experiment 4: test error by droprate, one panel per active share."""
    tests = rows[rows.metric == "test_mse"]
    table = mean_and_error(tests, ["active_share", "method", "score", "droprate"])
    shares = sorted(tests.active_share.unique())
    droprates = sorted(table.droprate.unique())
    placed = table.assign(place=table.droprate.map(droprates.index))  # evenly: most of what happens does so at the end
    figure, axes = panels(len(shares), sharey=True)
    for ax, share in zip(axes, shares, strict=True):
        for (method, score), curve in placed[placed.active_share == share].groupby(["method", "score"], sort=False):
            line(ax, curve, "place", method, f"{method}, {score}", **by_score(score), markersize=3)
        shown = sorted({*range(0, len(droprates), 4), len(droprates) - 1})
        ax.set_xticks(shown, [f"{100 * droprates[place]:g}" for place in shown])
        ax.set(title=f"{share:.0%} of features active", xlabel="weights pruned, %")
    axes[0].set(ylabel="test MSE / variance of y", ylim=(0, None))
    axes[-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return {"pruning": table, "paired": paired_pruned(tests)}, {"pruning": figure}


def paired_pruned(tests: pd.DataFrame) -> pd.DataFrame:
    """Test error of sBNN pruned by inclusion less that of all else at the same droprate, and less its own in full."""
    lines = []
    for share, own in tests.groupby("active_share"):
        curves = own.pivot_table(index="replicate", columns=["method", "score", "droprate"], values="value")
        ours = curves["sBNN", "inclusion"]
        others = [key for key in curves.columns.droplevel("droprate").unique() if key != ("sBNN", "inclusion")]
        for droprate in ours:
            line = {"active_share": share, "droprate": droprate, "datasets": len(ours)}
            line["sBNN, inclusion − full"] = paired(ours[droprate], ours[0.0]) if droprate else ""
            line |= {f"sBNN, inclusion − {m}, {s}": paired(ours[droprate], curves[m, s, droprate]) for m, s in others}
            lines.append(line)
    return pd.DataFrame(lines)
