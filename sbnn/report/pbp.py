"""What `make pbp` measured: probabilistic backpropagation on the UCI data, for Experiment 5 and a chapter."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from sbnn.data.uci import DATASETS
from sbnn.files import write_text
from sbnn.report.cells import Measured, as_csv
from sbnn.report.page.blocks import Block, Command, Table, Text
from sbnn.report.page.tables import readable
from sbnn.report.uci import DECIMALS, Network, published

FOLDER = "pbp"
RMSE, NLL, COVERAGE = METRICS = ("pbp_rmse", "pbp_nll", "pbp_coverage")
LABEL = "PBP"  # as uci_rivals.csv has it


def errors(rows: pd.DataFrame) -> dict[Network, Measured]:
    """RMSE ± standard error over the splits, next to what its authors print; none where `rows` has none of it."""
    found = rows[rows.metric == RMSE].groupby(["dataset", "hidden"])["value"].agg(["mean", "sem"])
    return {
        Network(name, hidden): Measured(mean, se, DECIMALS.get(name, 2), published(name, LABEL))
        for (name, hidden), mean, se in found.itertuples(name=None)
    }


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a data set, in the paper's order."""
    rmse, lines = errors(rows), []
    for network in sorted(rmse, key=lambda network: list(DATASETS).index(network.dataset)):
        own = rows[(rows.dataset == network.dataset) & (rows.hidden == network.hidden)]
        values = own.pivot_table(index="replicate", columns="metric", values="value")
        line = {"dataset": network.dataset, "hidden": network.hidden, "splits": len(values)}
        line |= {f"RMSE, {LABEL} (published)": published(network.dataset, LABEL), "RMSE (ours)": rmse[network]}
        line["negative log-likelihood"] = Measured(values[NLL].mean(), values[NLL].sem(), 3)
        line["inside the 95 % interval, %"] = Measured(100 * values[COVERAGE].mean(), 100 * values[COVERAGE].sem(), 1)
        lines.append(line | {"seconds": float(own.seconds.iloc[0])})
    return pd.DataFrame(lines)


def draw(folder: Path) -> None:
    """Write the table from a folder's rows.csv."""
    write_text(folder / "table.csv", as_csv(table(pd.read_csv(folder / "rows.csv"))))


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make pbp")
    made = "`, `".join(sorted(set(rows.commit)))
    yield Text(f"Means ± standard errors over all splits, {rows.epochs.max()} epochs; commit `{made}`.")
    yield Table(readable(table(rows)), words["table"], f"{FOLDER}/table.csv")
