"""What `make deployment` measured, as a table, a figure and a chapter of the page."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.report.page.blocks import Block, Picture, Table, Text
from sbnn.report.style import BLUE, GREY, INK, VERMILLION, panels, save

FOLDER = "deployment"
DENSE, PRUNED, SHRUNK = "dense", "pruned", "shrunk"
COLOURS = {"float32": GREY, "float16": BLUE, "int8": VERMILLION}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Every file, and the dense network it is compared with."""
    dense = rows.groupby("network", sort=False)["bytes"].transform("first")
    return pd.DataFrame(
        {
            "network": rows["network"],
            "removed": rows["droprate"].map("{:.1%}".format),
            "file": rows["form"],
            "values": rows["values"],
            "kB": (rows["bytes"] / 1000).map("{:,.1f}".format),
            "× smaller": (dense / rows["bytes"]).map("{:.1f}".format),
            "ms, batch 1": rows["ms_1"].map("{:.3f}".format),
            "× faster": rows["faster_1"].map("{:.1f}".format),
            "ms, batch 256": rows["ms_256"].map("{:.2f}".format),
            "× faster, batch 256": rows["faster_256"].map("{:.1f}".format),
            "error %": (100 * rows["error"]).map("{:.2f}".format),
            "outputs differ by": rows["difference"].map("{:.1e}".format),
            "not pruned, error %": (100 * rows["plain_error"]).map("{:.2f}".format),
            "epochs": rows["epochs"],
        }
    )


def figures(rows: pd.DataFrame) -> dict[str, Figure]:
    """How many times smaller and faster the shrunk networks are."""
    figure, (smaller, faster) = panels(2, width=3.6)
    dense, shrunk = (rows[rows.form == form] for form in (DENSE, SHRUNK))
    sizes, names = dense.set_index("network")["bytes"], list(dense["network"])
    place = dict(zip(names, range(len(names)), strict=True))
    for shift, (values, colour) in enumerate(COLOURS.items(), -1):
        own = shrunk[shrunk["values"] == values]
        x = own["network"].map(place) + 0.25 * shift
        smaller.bar(x, own["network"].map(sizes) / own["bytes"], 0.22, color=colour, label=values)
    own = shrunk[shrunk["values"] == "float32"]
    for batch, shift, colour in ((1, -0.15, GREY), (256, 0.15, BLUE)):
        low, middle, high = (own[f"{kind}_{batch}"] for kind in ("low", "faster", "high"))
        error = [middle - low, high - middle]
        x = own["network"].map(place) + shift
        faster.bar(x, middle, 0.26, yerr=error, capsize=2, color=colour, label=f"batch {batch}")
    faster.axhline(1, color=INK, lw=0.8)
    for axes, label in ((smaller, "times smaller"), (faster, "times faster")):
        axes.set_ylabel(label)
        axes.set_xticks(range(len(names)), [fill(name, 13) for name in names], fontsize=8)
        axes.legend()
    return {"deployment": figure}


def draw(folder: Path) -> None:
    """Write table and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    write_text(folder / "table.csv", table(rows).to_csv(index=False))
    for name, figure in figures(rows).items():
        save(figure, folder / f"{name}.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    facts = rows.iloc[0]
    yield Text(
        f"`make deployment`: measured on {facts.cpu}, one thread, torch {facts.torch}, commit `{facts.commit}`; "
        f"medians of {facts['rounds']} rounds."
    )
    yield Picture(f"{FOLDER}/deployment.svg", words["figure"])
    yield Table(table(rows), words["table"], f"{FOLDER}/table.csv")
