"""What `make benchmark` measured, as tables, a figure and a chapter of the page."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.model.methods import SBNN
from sbnn.report.page.blocks import Block, Picture, Table, Text
from sbnn.report.style import GREY, VERMILLION, look, panels, save

FOLDER = "benchmark"
PLAIN, EAGER = "plain network", "not compiled"


def tables(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """By the names of their files."""
    return {"steps": steps(rows), "small": small(rows)}


def steps(rows: pd.DataFrame) -> pd.DataFrame:
    """A step's time and the memory it takes, next to a plain network's."""
    key = ["network", "contender"]
    time = rows[rows.measure == "step"].set_index(key)
    memory = rows[rows.measure == "memory"].set_index(key)
    shown = pd.DataFrame(
        {
            "weights": time["weights"].map("{:,}".format),
            "ms a step": time["value"].round(1),
            "× plain": time["ratio"].map("{:.2f}".format),
            "half of the rounds": [f"{low:.2f} to {high:.2f}" for low, high in zip(time.low, time.high, strict=True)],
            "peak MB": memory["value"].reindex(time.index).round(1),
            "× plain with as much state": memory["ratio"].reindex(time.index).round(2),
        }
    )
    return shown.reset_index()


def small(rows: pd.DataFrame) -> pd.DataFrame:
    """What compiling the whole step gains where networks are small and replicas many."""
    own = rows[rows.measure == "small"].reset_index(drop=True)
    eager, fast = own[own.contender == EAGER].reset_index(), own[own.contender != EAGER].reset_index()
    return pd.DataFrame(
        {
            "network": fast["network"],
            "method": fast["contender"],
            "replicas": fast["replicas"],
            "ms a step, not compiled": eager["value"].round(2),
            "ms a step": fast["value"].round(2),
            "times faster": (1 / fast["ratio"]).map("{:.1f}".format),
        }
    )


def figures(rows: pd.DataFrame) -> dict[str, Figure]:
    figure, (by_weights, by_replicas) = panels(2, width=3.4)
    looks = {PLAIN: (GREY, "s"), SBNN.label: look(SBNN.name), EAGER: (VERMILLION, "x")}
    names = {PLAIN: PLAIN, SBNN.label: SBNN.label, EAGER: f"{SBNN.label}, {EAGER}"}
    weights, replicas = rows[rows.measure == "weights"], rows[rows.measure == "replicas"]
    for contender, (colour, marker) in looks.items():
        one = weights[weights.contender == contender]
        by_weights.plot(one.weights, one.value, color=colour, marker=marker, label=names[contender])
        many = replicas[replicas.contender == contender]
        cost = many.value / (1 if contender == PLAIN else many.replicas)
        by_replicas.plot(many.replicas, cost, color=colour, marker=marker)
    for axes, label in ((by_weights, "weights"), (by_replicas, "replicas trained at once")):
        axes.set(xscale="log", yscale="log", xlabel=label)
    by_weights.set_ylabel("CPU time of a step, ms")
    by_replicas.set_ylabel("CPU time a replica, ms")
    by_weights.legend()
    return {"cost": figure}


def draw(folder: Path) -> None:
    """Write tables and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    for name, table in tables(rows).items():
        write_text(folder / f"{name}.csv", table.to_csv(index=False))
    for name, figure in figures(rows).items():
        save(figure, folder / f"{name}.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    facts = rows.iloc[0]
    yield Text(
        f"`make benchmark-peers`: measured on {facts.cpu}, {facts.device}, one thread, torch {facts.torch}, "
        f"commit `{facts.commit}`; medians of {facts['rounds']} rounds."
    )
    yield Picture(f"{FOLDER}/cost.svg", words["figure"])
    for name, table in tables(rows).items():
        yield Table(table, words["tables"][name], f"{FOLDER}/{name}.csv")
