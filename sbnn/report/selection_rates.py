"""What `make selection-rates` measured: the selector's false discoveries and power, as a table, a figure, a chapter."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.report.page.blocks import Block, Picture, Table, Text
from sbnn.report.style import BLUE, GREY, VERMILLION, legend_below, panels, save

FOLDER = "selection_rates"
COLOURS = (BLUE, GREY, VERMILLION)
DESIGN = ["design", "n", "features"]


def rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Means and standard errors of every design and target, designs in the order of the rows."""
    found = rows.groupby([*DESIGN, "target"], sort=False)[["false_share", "found_share"]].agg(["mean", "sem"])
    found.columns = ["false", "false_se", "found", "found_se"]
    return found.reset_index()


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A design a line: its scale, the measured rate of false discoveries and the share found, at every target."""
    lines, scale = [], rows.groupby(DESIGN).agg(draws=("repetition", "nunique"), seconds=("seconds", "median"))
    for key, own in rates(rows).groupby(DESIGN, sort=False):
        draws, seconds = scale.loc[key]
        line = dict(zip(DESIGN, key, strict=True)) | {"draws": int(draws), "s a fit": round(seconds, 1)}
        for at in own.itertuples():
            line[f"FDR at {at.target:g}"] = f"{at.false:.3f} ± {at.false_se:.3f}"
            line[f"found at {at.target:g}"] = "" if np.isnan(at.found) else f"{at.found:.2f}"
        lines.append(line)
    return pd.DataFrame(lines)


def figure(rows: pd.DataFrame) -> Figure:
    summary = rates(rows)
    names = list(dict.fromkeys(f"{d}, {n} × {f}" for d, n, f in summary[DESIGN].itertuples(index=False)))
    drawn, (false, found) = panels(2, width=4.2, height=0.8 + 0.28 * len(names), sharey=True)
    targets = summary.target.unique()
    for number, (target, colour) in enumerate(zip(targets, COLOURS, strict=True)):
        own = summary[summary.target == target]
        place = np.arange(len(names)) + 0.18 * (number - 1)
        style = {"color": colour, "fmt": "o", "capsize": 2, "elinewidth": 0.8, "label": f"target {target:g}"}
        false.errorbar(own["false"], place, xerr=own.false_se.fillna(0), **style)
        found.errorbar(own["found"], place, xerr=own.found_se.fillna(0), **style)
        false.axvline(target, color=colour, ls="--", lw=0.8)
    false.set(yticks=range(len(names)), yticklabels=names, xlabel="share of false discoveries", xlim=(-0.01, None))
    false.invert_yaxis()
    found.set(xlabel="share of effects found", xlim=(-0.02, 1.02))
    legend_below(drawn, [found])
    return drawn


def draw(folder: Path) -> None:
    """Write table and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    write_text(folder / "table.csv", table(rows).to_csv(index=False))
    save(figure(rows), folder / "rates.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    facts = rows.iloc[0]
    yield Text(
        f"`make selection-rates`: means ± standard errors over the draws; seconds of one thread of {facts.cpu}, "
        f"torch {facts.torch}, commit `{facts.commit}`."
    )
    shown = table(rows)
    draws = " to ".join(str(count) for count in sorted({shown.draws.min(), shown.draws.max()}))
    yield Picture(f"{FOLDER}/rates.svg", f"{words['figure']} Means over {draws} draws of a design.")
    yield Table(shown, words["table"], f"{FOLDER}/table.csv")
