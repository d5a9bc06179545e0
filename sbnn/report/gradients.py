"""What `make gradients` measured: the penalty's gradient in closed form and as Bayes by Backprop samples it."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.report.claims import Finding
from sbnn.report.page.blocks import Block, Command, Picture, Table, Text
from sbnn.report.page.tables import readable
from sbnn.report.style import INK, PALETTE, legend_below, panels, save

FOLDER = "gradients"
DERIVATIVES = {"m": "with respect to m", "sigma": "with respect to σ"}
UNITS = {"m": "times the closed form", "sigma": "/ σ"}
PLACES = ("at the spike's width", "a quarter of the way", "half-way", "three quarters", "at the slab's")
SAME = 0.05  # of the closed form: as far apart as two means may be and still count as the same


def measures(rows: pd.DataFrame) -> pd.DataFrame:
    """In closed forms: how far the mean of the sampled gradient is from it, and the standard deviation of a draw.

    The derivative with respect to sigma crosses zero; it is in units of 1 / sigma, of which one part always is.
    """
    unit = np.where(rows.derivative == "m", rows.closed.abs(), np.exp(-rows.log_sigma))
    return rows.assign(apart=(rows["mean"] - rows.closed) / unit, noise=rows.sd / unit)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a prior and derivative."""
    found = measures(rows)
    groups = found.groupby(["prior", "derivative"], sort=False)
    return pd.DataFrame(
        {
            "points": groups.size(),
            "mean within 5 %": groups.apart.apply(lambda apart: int((apart.abs() <= SAME).sum())),
            "mean apart, median": groups.apart.apply(lambda apart: f"{apart.abs().median():.2g}"),
            "mean apart, most": groups.apart.apply(lambda apart: f"{apart.abs().max():.2g}"),
            "sd of a draw, median": groups.noise.median().map("{:.2g}".format),
            "sd of a draw, most": groups.noise.max().map("{:.2g}".format),
        }
    ).reset_index()


def figure(rows: pd.DataFrame) -> Figure:
    """Over the closed form, by m / sigma: the sampled gradient's mean, and its standard deviation; a line a sigma."""
    found = measures(rows[rows.derivative == "m"]).assign(mean=lambda own: 1 + own.apart)
    drawn, axes = panels(found.prior.nunique(), 2, width=3.2, height=2.2, sharex=True, sharey="row")
    shown = {"mean": "mean / closed form", "noise": "sd of a draw / closed form"}
    for row, (measure, label) in enumerate(shown.items()):
        for column, (name, here) in enumerate(found.groupby("prior", sort=False)):
            ax = axes[row * found.prior.nunique() + column]
            for (_, own), colour, place in zip(here.groupby("log_sigma"), PALETTE, PLACES, strict=False):
                ax.plot(own.ratio, own[measure], color=colour, marker=".", label=f"σ {place}")
            ax.axhline(1, color=INK, lw=0.8)
            ax.set(xscale="log", yscale="log")
            if row == 0:
                ax.set_title(name)
            else:
                ax.set_xlabel("m / σ")
                ax.set_xticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
            ax.minorticks_off()
            if column == 0:
                ax.set_ylabel(label)
    legend_below(drawn, axes, columns=5)
    return drawn


def same_mean(rows: pd.DataFrame) -> Finding:
    """By derivative: at how many points the sampled gradient has the closed form's mean, and how far a draw is off."""
    found, texts, holds = measures(rows), [], []
    for name, own in found.groupby("derivative", sort=False):
        same = own.apart.abs() <= SAME
        noise = f"a draw's sd is {own.noise.median():.2g} {UNITS[name]} (median)"
        texts.append(f"{DERIVATIVES[name]} at {same.sum()} of {len(own)} points, {noise}")
        holds.append(bool(same.all()))
    return Finding("same mean " + "; ".join(texts), None, holds)


def draw(folder: Path) -> None:
    """Write table and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    write_text(folder / "table.csv", table(rows).to_csv(index=False))
    save(figure(rows), folder / "gradients.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make gradients")
    yield Text(f"Commit `{rows.commit.iloc[0]}`, torch {rows.torch.iloc[0]}.")
    yield Picture(f"{FOLDER}/gradients.svg", words["figure"])
    yield Table(readable(table(rows)), words["table"], f"{FOLDER}/table.csv")
