"""Error by droprate of every experiment that prunes, as data for the page's interactive plots."""

from collections.abc import Iterator

import pandas as pd

from sbnn.report import compression, images, uci
from sbnn.report.style import LOOKS, look
from sbnn.runs.rows import mean_and_error

# Which metric is the error, in what unit, and the columns that tell one panel from the next.
PLOTS = {
    "simulated_pruning": ("test_mse", "test MSE / variance of y", ["active_share"]),
    "uci_pruning": ("rmse", "test RMSE, target's units", ["dataset", "hidden"]),
    "mnist_pruning": ("error", "test error, %", ["width"]),
    "cifar_pruning": ("error", "test error, %", ["augmentation"]),
    "lenet_pruning": ("error", "test error, %", ["network"]),
    "vgg_pruning": ("error", "test error, %", ["width"]),
}
PRINT = "currentColor"  # the paper's own numbers: black on white, white on black


def plot(experiment: str, rows: pd.DataFrame) -> dict | None:
    """Panels of series with x (droprate), y and its standard error; None where nothing is pruned."""
    if experiment not in PLOTS:
        return None
    metric, unit, by = PLOTS[experiment]
    found = summarised(rows[rows.metric == metric], metric, by)
    if experiment == "mnist_pruning":
        found = found.sort_values("width", ascending=False, kind="stable")  # the widest is the one that is pruned
    panels = [
        {"title": title(experiment, panel.iloc[0]), "series": [*ours(panel), *papers(experiment, panel.iloc[0])]}
        for _, panel in found.groupby(by, sort=False)
    ]
    return {"unit": unit, "panels": panels}


def summarised(rows: pd.DataFrame, metric: str, by: list[str]) -> pd.DataFrame:
    """Mean and standard error over replicates, or over the images measured where there is one network."""
    if metric == "error":
        found = images.curves(rows)
        return found.assign(mean=100 * found["mean"], se=100 * found.se)
    index = [*by, "method", "recipe", "score", "droprate"]
    return mean_and_error(rows, index)


def ours(panel: pd.DataFrame) -> Iterator[dict]:
    for (method, recipe, score), curve in panel.groupby(["method", "recipe", "score"], sort=False, dropna=False):
        names = uci.NAMES | images.NAMES
        name = names.get((method, recipe), method)
        epochs = f", {curve.epochs.iloc[0]} epochs" if "epochs" in curve else ""
        yield series(name + epochs, score, LOOKS[look(method, recipe)][0], curve.droprate, curve["mean"], curve.se)


def papers(experiment: str, of: pd.Series) -> Iterator[dict]:
    """What the paper prints for the same network."""
    if experiment == "uci_pruning":
        p = uci.papers_curve(of.dataset, of.hidden)
        if len(p):
            yield series("sBNN (paper)", None, PRINT, p.droprate, p.rmse)
    elif experiment in ("mnist_pruning", "cifar_pruning"):
        p = images.PUBLISHED[(images.PUBLISHED.dataset == of.dataset) & (images.PUBLISHED.width == of.width)]
        for method, curve in p.groupby("method", sort=False):
            yield series(f"{method} (paper)", None, PRINT, curve.droprate, curve.error)
    elif experiment == "lenet_pruning" and of.network == "lenet_5":
        for recipe in ("set_1", "set_2"):
            name = f"{images.NAMES['sBNN', recipe]} (paper)"
            yield series(name, None, PRINT, compression.SETS.droprate, compression.SETS[recipe])
    elif experiment in ("lenet_pruning", "vgg_pruning"):
        p, network = compression.PUBLISHED, of.get("network", "vgg_like")
        p = p[(p.network == network) & (p.method == "sBNN (paper)")]
        yield series(f"sBNN (paper{', width 1' * (network == 'vgg_like')})", None, PRINT, p.sparsity / 100, p.error)


def series(name: str, score: str | None, colour: str, x: pd.Series, y: pd.Series, se: pd.Series | None = None) -> dict:
    errors = [None] * len(x) if se is None else [None if pd.isna(e) else float(f"{e:.4g}") for e in se]
    points = [[float(a), float(f"{b:.5g}"), e] for a, b, e in zip(x, y, errors, strict=True)]
    return {"method": name, "score": score, "colour": colour, "points": points}


def title(experiment: str, of: pd.Series) -> str:
    """What a panel is of."""
    return {
        "simulated_pruning": lambda: f"{of.active_share:.0%} of the features active",
        "uci_pruning": lambda: f"{of.dataset}, {of.hidden} units",
        "mnist_pruning": lambda: f"two hidden layers of {of.width} units",
        "cifar_pruning": lambda: images.TREATMENTS[of.augmentation],
        "lenet_pruning": lambda: compression.TITLES[of.network],
        "vgg_pruning": lambda: f"VGG-like, width {of.width:g}",
    }[experiment]()
