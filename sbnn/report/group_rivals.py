"""What `make group-rivals` measured: BC-GNJ and BC-GHS on the LeNets, HS-BNN on the UCI data."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sbnn.data.uci import DATASETS
from sbnn.files import write_text
from sbnn.report.cells import Measured, Published, as_csv
from sbnn.report.compression import PUBLISHED, TITLES
from sbnn.report.image_curves import LABEL
from sbnn.report.page.blocks import Block, Command, Picture, Table, Text
from sbnn.report.page.tables import readable
from sbnn.report.statistics import mean_and_error
from sbnn.report.style import INK, PALETTE, legend_below, line, panels, plain_ticks, weights_left
from sbnn.report.style import save as save_figure
from sbnn.report.uci import DECIMALS, RIVALS, Network, published

FOLDER, UNITS, STRENGTH = "group_rivals", "units", "strength"  # the metric of units left; what groups are ranked by
HS_BNN = next(name for name in RIVALS.index if name.startswith("HS-"))
LOOKS = {"BC-GNJ": (PALETTE[4], "o"), "BC-GHS": (PALETTE[6], "s")}


def own(rows: pd.DataFrame) -> pd.DataFrame:
    """The study's rows, where they stand among others."""
    return rows[rows.experiment == FOLDER] if "experiment" in rows else rows.iloc[:0]


def errors(rows: pd.DataFrame) -> dict[Network, Measured]:
    """HS-BNN's RMSE ± standard error over the splits, next to what its authors print."""
    found = own(rows)
    found = found[(found.metric == "rmse") & (found.droprate == 0) & (found.score == "snr")]
    if found.empty:
        return {}
    return {
        Network(name, int(hidden)): Measured(mean, se, DECIMALS.get(name, 2), published(name, HS_BNN))
        for name, hidden, mean, se, _ in mean_and_error(found, ["dataset", "hidden"]).itertuples(index=False, name=None)
    }


def on_images(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors in per cent by network, method and droprate, with the weights left on a path in per cent."""
    by = ["dataset", "method", "epochs", "droprate"]
    found = rows[rows.dataset.isin(TITLES)].assign(value=lambda r: 100 * r.value)
    lines = mean_and_error(found[found.metric == "error"], by)
    active = mean_and_error(found[found.metric == "active"], by)
    return lines.assign(left=active["mean"])


def units(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a network, method and droprate, published ones first: what is left of every layer, and the error."""
    lines, counts = [], rows[rows.metric == UNITS]
    for name, title in TITLES.items():
        curves = on_images(rows[rows.dataset == name])
        if curves.empty:
            continue
        for p in PUBLISHED[(PUBLISHED.network == name) & PUBLISHED.method.isin(LOOKS)].itertuples():
            lines.append([title, f"{p.method} (published)", p.sparsity, p.units, Published(f"{p.error:.2f}"), None])
        for row in curves.itertuples():
            here = counts[(counts.dataset == name) & (counts.method == row.method) & (counts.droprate == row.droprate)]
            widths = "-".join(f"{count:.0f}" for count in here.groupby(here.layer.astype(int)).value.mean())
            removed, error = round(100 - row.left, 2), Measured(row.mean, row.se)
            lines.append([title, f"{row.method} (ours)", removed, widths, error, int(row.epochs)])
    columns = ["network", "method", "weights removed %", "units left", "error %", "epochs"]
    return pd.DataFrame(lines, columns=columns).astype({"epochs": "Int64"})


def uci(rows: pd.DataFrame) -> pd.DataFrame:
    """HS-BNN, a line a data set in the paper's order."""
    rmse, lines = errors(rows), []
    full = rows[(rows.droprate == 0) & (rows.score == "snr")]
    for network in sorted(rmse, key=lambda network: list(DATASETS).index(network.dataset)):
        here = full[(full.dataset == network.dataset) & (full.hidden == network.hidden)]
        values = here.pivot_table(index="replicate", columns="metric", values="value")
        line = {"dataset": network.dataset, "hidden": network.hidden, "splits": len(values)}
        line |= {f"RMSE, {HS_BNN} (published)": published(network.dataset, HS_BNN), "RMSE (ours)": rmse[network]}
        line["negative log-likelihood"] = Measured(values.nll.mean(), values.nll.sem(), 3)
        line["inside the 95 % interval, %"] = Measured(100 * values.coverage.mean(), 100 * values.coverage.sem(), 1)
        lines.append(line)
    return pd.DataFrame(lines)


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By the names of their files, those of which there is anything."""
    found = {"units": units(rows), "uci": uci(rows)}
    return {name: table for name, table in found.items() if len(table)}


def figure(rows: pd.DataFrame) -> Figure | None:
    """Error against the weights that lie on a path once groups have left; hollow marks are published."""
    curves = on_images(rows)
    shown = [name for name in TITLES if name in set(curves.dataset)]
    if not shown:
        return None
    drawn, axes = panels(len(shown), width=4.2, height=3.0)
    for ax, name in zip(axes, shown, strict=True):
        here = curves[(curves.dataset == name) & (curves.left > 0)]
        for method, curve in here.groupby("method", sort=False):
            line(ax, curve.sort_values("left"), "left", LOOKS[method], f"{method} (ours)", markersize=3)
        for p in PUBLISHED[(PUBLISHED.network == name) & PUBLISHED.method.isin(LOOKS)].itertuples():
            hollow = {"ls": "", "marker": LOOKS[p.method][1], "color": INK, "mfc": "none"}
            ax.plot(100 - p.sparsity, p.error, label=f"{p.method} (published)", **hollow)
        ax.set(title=TITLES[name], yscale="log")
        weights_left(ax, 1 - here.left / 100, label="weights on a path, %")
        plain_ticks(ax)
    axes[0].set_ylabel(LABEL)
    legend_below(drawn, axes, columns=2 * len(shown))
    return drawn


def draw(folder: Path) -> None:
    """Write tables and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    for name, table in tables(rows).items():
        write_text(folder / f"{name}.csv", as_csv(table))
    if (drawn := figure(rows)) is not None:
        save_figure(drawn, folder / "frontier.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make group-rivals")
    yield Text(f"Means ± standard errors over seeds or splits; commit `{'`, `'.join(sorted(set(rows.commit)))}`.")
    if set(TITLES) & set(rows.dataset):
        yield Picture(f"{FOLDER}/frontier.svg", words["figure"])
    for name, table in tables(rows).items():
        yield Table(readable(table), words["tables"][name], f"{FOLDER}/{name}.csv")
