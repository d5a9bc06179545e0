"""What `make uci-settings` measured: Experiment 5 over steps, start, spike and width, as tables, figures and a chapter.

Claims of Experiment 5 that hang on what the paper leaves open are judged from these rows too.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.model.methods import SBNN
from sbnn.report import sensitivity
from sbnn.report.cells import Measured, as_csv
from sbnn.report.names import RECIPES
from sbnn.report.page.blocks import Block, Command, Picture, Table, Text
from sbnn.report.page.tables import readable
from sbnn.report.statistics import largest_droprate
from sbnn.report.style import BLUE, GREY, PRINTED, VERMILLION, legend_below, panels, plain_ticks, save
from sbnn.report.uci import DECIMALS, published

FOLDER, ROWS = "uci_settings", "rows.csv.gz"
RMSE, SLAB = "varied_rmse", "varied_chosen_kept"
VARIED = ["study", "steps", "mean_scale", "log_tau0"]  # columns that an experiment's own rows lack
STARTS = {0.04: "from the recipe's start", 0.577: "from torch's start"}


def of(rows: pd.DataFrame, study: str, metric: str = RMSE) -> pd.DataFrame:
    """The rows of one study; none where `rows` has no studies."""
    if "study" not in rows:
        return rows[:0].reindex(columns=[*rows, *VARIED])
    return rows[(rows.study == study) & (rows.metric == metric)]


def errors(rows: pd.DataFrame) -> pd.DataFrame:
    """By data set, start and steps, RMSE over the splits: of the full network, and of half of it by two scores."""
    own = of(rows, "steps")
    own = own[(own.droprate == 0) & (own.score == SBNN.score) | (own.droprate == 0.5)]
    kind = np.where(own.droprate == 0, "full", "half by " + own.score)
    groups = own.assign(kind=kind).groupby(["dataset", "mean_scale", "steps", "kind"], sort=False)["value"]
    return groups.agg(mean="mean", se="sem").reset_index()


def steps_table(rows: pd.DataFrame) -> pd.DataFrame:
    found, lines = errors(rows), []
    for (dataset, scale, steps), own in found.groupby(["dataset", "mean_scale", "steps"], sort=False):
        line = {"dataset": dataset, sensitivity.NAMES["mean_scale"]: scale, "steps": int(steps)}
        line |= {f"{half} (paper)": published(dataset, SBNN.name, at) for half, at in (("full", 0.0), ("half", 0.5))}
        digits = DECIMALS.get(dataset, 2)
        lines.append(line | {e.kind: Measured(e.mean, e.se, digits) for e in own.itertuples()})
    return pd.DataFrame(lines)


def steps_figure(rows: pd.DataFrame) -> Figure:
    """A panel a data set: error against steps of training, in full and with half of the weights."""
    found = errors(rows)
    names = list(found.dataset.unique())
    columns = min(3, len(names))
    drawn, axes = panels(columns, -(-len(names) // columns), height=2.2)
    looks = {"full": (GREY, "o"), "half by inclusion": (VERMILLION, "s"), "half by snr": (BLUE, "^")}
    for ax, name in zip(axes, names, strict=False):
        for (kind, scale), own in found[found.dataset == name].groupby(["kind", "mean_scale"], sort=False):
            colour, marker = looks[kind]
            style = {"color": colour, "marker": marker, "ls": "-" if scale == min(STARTS) else "--", "capsize": 2}
            ax.errorbar(own.steps, own["mean"], own.se.fillna(0), label=f"{kind}, {STARTS[scale]}", lw=1.1, **style)
        if (paper := published(name, SBNN.name, 0.5)) is not None and paper.value > 0:
            ax.axhline(paper.value, **PRINTED | {"marker": ""}, label="half (paper)")
        ax.set(xscale="log", yscale="log", title=name, xlabel="steps", ylabel="test RMSE")
        ax.set_xticks(sorted(found.steps.unique()), [f"{steps / 1000:g}k" for steps in sorted(found.steps.unique())])
        ax.minorticks_off()
        plain_ticks(ax)
    for ax in axes[len(names) :]:
        ax.set_visible(False)
    legend_below(drawn, axes, columns=4)
    return drawn


def grid(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By data set, the rows of the grid under the names that `sensitivity` knows."""
    error, slab = of(rows, "grid"), of(rows, "grid", SLAB)
    both = [part[part.score == SBNN.score].assign(metric=name) for part, name in
            ((error, sensitivity.ERROR), (slab, sensitivity.SLAB))]  # fmt: skip
    return dict(list(pd.concat(both).groupby("dataset", sort=False)))


def widths(rows: pd.DataFrame) -> pd.DataFrame:
    """By split, up to which droprate the error stays within 5 % of the full network's."""
    by = ["recipe", "dataset", "score", "hidden", "replicate"]
    curves = of(rows, "widths").pivot_table(index=by, columns="droprate", values="value")
    return largest_droprate(curves).rename("prunable").reset_index()


def widths_table(rows: pd.DataFrame) -> pd.DataFrame:
    found, lines = widths(rows), []
    for (recipe, dataset, hidden), own in found.groupby(["recipe", "dataset", "hidden"]):
        line = {"recipe": RECIPES[recipe], "dataset": dataset, "hidden": int(hidden)}
        for score, shares in own.groupby("score").prunable:
            line[f"can go by {score}, %"] = Measured(100 * shares.mean(), 100 * shares.sem(), 1)
        lines.append(line)
    return pd.DataFrame(lines)


def widths_figure(rows: pd.DataFrame) -> Figure:
    found = widths(rows)
    names = sorted(found.dataset.unique())
    drawn, axes = panels(len(names), width=2.8, sharey=True)
    recipes = dict(zip(("paper", "tuned"), ("-", "--"), strict=True))
    for ax, name in zip(axes, names, strict=True):
        for (recipe, score), own in found[found.dataset == name].groupby(["recipe", "score"], sort=False):
            curve = 100 * own.groupby("hidden").prunable.agg(["mean", "sem"])
            colour, marker = (VERMILLION, "s") if score == SBNN.score else (BLUE, "^")
            style = {"color": colour, "marker": marker, "ls": recipes[recipe], "capsize": 2}
            ax.errorbar(curve.index, curve["mean"], curve["sem"], label=f"{RECIPES[recipe]}, by {score}", **style)
        ax.set(xscale="log", title=name, xlabel="hidden units", ylim=(0, 102))
        ax.set_xticks(sorted(own.hidden.unique()), [f"{units:g}" for units in sorted(own.hidden.unique())])
        ax.minorticks_off()
    axes[0].set_ylabel("weights that can go, %")
    legend_below(drawn, axes, columns=4)
    return drawn


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Of the studies that were run."""
    found, ran = {}, set(rows.study)
    if "steps" in ran:
        found["steps"] = steps_table(rows)
    if "grid" in ran:
        cells = {name: sensitivity.tables(own)["sensitivity"] for name, own in grid(rows).items()}
        found["grid"] = pd.concat([own.assign(dataset=name) for name, own in cells.items()])
    if "widths" in ran:
        found["widths"] = widths_table(rows)
    return found


def figures(rows: pd.DataFrame) -> dict[str, Figure]:
    found, ran = {}, set(rows.study)
    if "steps" in ran:
        found["steps"] = steps_figure(rows)
    for name, own in grid(rows).items() if "grid" in ran else ():
        found[f"grid_{name}"] = sensitivity.figures(own, "test RMSE")["sensitivity"]
    if "widths" in ran:
        found["widths"] = widths_figure(rows)
    return found


def draw(folder: Path) -> None:
    """Write tables and figures from a folder's rows."""
    rows = pd.read_csv(folder / ROWS)
    for name, table in tables(rows).items():
        write_text(folder / f"{name}.csv", as_csv(table))
    for name, figure in figures(rows).items():
        save(figure, folder / f"{name}.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make uci-settings")
    made = sorted(set(rows.commit))
    yield Text(f"Means ± standard errors over all splits; commit `{'`, `'.join(made)}`, torch {rows.torch.iloc[0]}.")
    shown = tables(rows)
    for kind in shown:
        for dataset in grid(rows) if kind == "grid" else [""]:
            name = f"{kind}_{dataset}".rstrip("_")
            yield Picture(f"{FOLDER}/{name}.svg", words["figures"][kind].format(dataset=dataset))
    for name, table in shown.items():
        yield Table(readable(table), words["tables"][name], f"{FOLDER}/{name}.csv")
