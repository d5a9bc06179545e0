"""What `make inclusion` measured: how inclusion and snr rank the weights of a network while it is trained."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.report.cells import Measured, as_csv
from sbnn.report.page.blocks import Block, Command, Picture, Table, Text
from sbnn.report.page.tables import readable
from sbnn.report.style import BLUE, GREY, VERMILLION, legend_below, panels, plain_ticks, save

FOLDER = "inclusion"
LOOKS = {
    "rmse": (GREY, "o", "full"),
    "rmse, half by inclusion": (VERMILLION, "s", "half by inclusion"),
    "rmse, half by snr": (BLUE, "^", "half by snr"),
}
SHARES = {
    "share with p > 1/2": (GREY, "o", "of all weights, p > 1/2"),
    "share of half by inclusion with |m| < sigma": (VERMILLION, "s", "of half by inclusion, |m| < σ"),
    "share of half by snr with |m| < sigma": (BLUE, "^", "of half by snr, |m| < σ"),
}
SPREADS = {"mean": "$\\log_{10}\\,|m|$", "sigma": "$\\log_{10}\\,\\sigma$", "p": "inclusion probability p"}


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the splits."""
    own = rows[rows.replicate.notna()]
    return own.groupby(["dataset", "metric", "step"], sort=False).value.agg(mean="mean", se="sem").reset_index()


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a data set and moment."""
    lines = []
    for (dataset, step), own in summary(rows).groupby(["dataset", "step"], sort=False):
        line, by = {"dataset": dataset, "steps": int(step)}, own.set_index("metric")
        digits = 3 if by["mean"]["rmse"] < 1 else 2
        line |= {name: Measured(*by.loc[metric, ["mean", "se"]], digits) for metric, (*_, name) in LOOKS.items()}
        shares = (100 * by[["mean", "se"]]).loc
        line |= {f"{name}, %": Measured(*shares[metric], 0) for metric, (*_, name) in SHARES.items()}
        lines.append(line)
    return pd.DataFrame(lines)


def over_time(rows: pd.DataFrame) -> Figure:
    """A row of panels a data set: errors by step, and what share of the weights the data say nothing about."""
    found = summary(rows)
    names = list(found.dataset.unique())
    drawn, axes = panels(2, len(names), width=4.2, height=2.5, sharex=True)
    for number, name in enumerate(names):
        here = found[found.dataset == name].assign(step=lambda own: own.step / 1000)
        for ax, looks, times in zip(axes[2 * number :], (LOOKS, SHARES), (1, 100), strict=False):
            for metric, (colour, marker, label) in looks.items():
                own = here[here.metric == metric]
                ax.errorbar(own.step, times * own["mean"], times * own.se, color=colour, marker=marker, label=label)
            ax.set(title=name, xlabel="thousand steps")
        axes[2 * number].set(yscale="log", ylabel="test RMSE")
        plain_ticks(axes[2 * number])
        axes[2 * number + 1].set(ylim=(0, 100), ylabel="%")
    legend_below(drawn, axes)
    return drawn


def spreads(rows: pd.DataFrame) -> Figure:
    """Histograms of |m|, sigma and p, early and late: a row of panels a data set."""
    binned = rows[rows.metric.str.startswith("bin of ")]
    names = list(binned.dataset.unique())
    drawn, axes = panels(len(SPREADS), len(names), height=2.1)
    for number, name in enumerate(names):
        here = binned[binned.dataset == name]
        for ax, (what, label) in zip(axes[len(SPREADS) * number :], SPREADS.items(), strict=False):
            own = here[here.metric == f"bin of {what}"]
            early, late = own.step.min(), own.step.max()
            for step, colour, when in ((early, BLUE, f"after {early:,} steps"), (late, VERMILLION, "at the end")):
                at = own[own.step == step].sort_values("bin")
                ax.step(at.bin, 100 * at.value / at.value.sum(), where="post", color=colour, lw=1.2, label=when)
            ax.set(xlabel=label, yscale="log" if what == "p" else "linear")
            ax.set_title(name)
        axes[len(SPREADS) * number].set_ylabel("weights, %")
    legend_below(drawn, axes)
    return drawn


def draw(folder: Path) -> None:
    """Write table and figures from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    write_text(folder / "table.csv", as_csv(table(rows)))
    save(over_time(rows), folder / "over_time.png")
    save(spreads(rows), folder / "spreads.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make inclusion")
    splits = int(rows.replicate.max()) + 1
    yield Text(f"Means ± standard errors over {splits} splits, commit `{rows.commit.iloc[0]}`.")
    for name, caption in words["figures"].items():
        yield Picture(f"{FOLDER}/{name}.svg", caption)
    yield Table(readable(table(rows)), words["table"], f"{FOLDER}/table.csv")
