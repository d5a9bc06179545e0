"""What stands on the page: the scoreboard, then every experiment with its tables beside the paper's, and the errata."""

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
from omegaconf import DictConfig, OmegaConf

from sbnn.report import claims
from sbnn.report.page import curves
from sbnn.report.page.blocks import Block, Bullets, Command, Heading, Picture, Plot, Table, Text
from sbnn.runs.identity import BUDGETS
from sbnn.runs.rows import read_rows

WORDS = OmegaConf.to_container(OmegaConf.load(Path(__file__).with_name("words.yaml")))


def page(results: Path) -> list[Block]:
    """From a folder of results; an experiment that was not run is named as such."""
    chapters = [block for name in WORDS["experiments"] for block in experiment(results, name)]
    return [*scoreboard(results), *chapters, *errata()]


def scoreboard(results: Path) -> Iterator[Block]:
    verdicts = claims.scoreboard(results)
    yield Heading(1, WORDS["title"])
    yield Text(WORDS["about"])
    yield Text(WORDS["uncertainty"])
    yield Heading(2, "Scoreboard")
    yield Text(claims.counted(verdicts))
    ours = [f"{v.ours} (s.e. {v.se})" if v.se else v.ours for v in verdicts.itertuples()]
    shown = verdicts.assign(ours=ours).rename(columns={"id": ""})
    yield Table(shown[["", "verdict", "claim", "paper", "ours", "criterion", "budget"]])


def experiment(results: Path, name: str) -> Iterator[Block]:
    words, folder = WORDS["experiments"][name], results / name
    yield Heading(2, words["title"])
    yield Text(words["about"])
    if not (folder / "run.json").exists():
        yield Text("Not run.")
        yield Command(f"sbnn-run experiment={name}")
        return
    facts, cfg = json.loads((folder / "run.json").read_text()), OmegaConf.load(folder / "config.yaml")
    rows = read_rows(folder / "rows.csv")
    if facts.get("command"):
        yield Command(facts["command"])
    elif facts["budget"] in BUDGETS:
        yield Command(f"sbnn-run experiment={name} budget={facts['budget']}")
        yield Text("What was typed was not recorded; this gives the same configuration.")
    yield Text(f"{circumstances(facts, cfg.get('minutes'))} {sizes(cfg)}")
    if "error" in set(rows.metric) and "switched" not in set(rows.metric):
        yield Text(WORDS["unpaired"])
    for file, caption in words["tables"].items():
        if (folder / f"{file}.csv").exists():
            table = pd.read_csv(folder / f"{file}.csv", dtype=str, keep_default_na=False)
            yield Table(marked(table), caption, f"{name}/{file}.csv")
    if (drawn := curves.plot(name, rows)) is not None:
        yield Plot(drawn)
    for file, caption in words["figures"].items():
        if (folder / f"{file}.png").exists():
            yield Picture(f"{name}/{file}.png", caption)
    yield Heading(3, "Where this departs from the paper")
    yield Bullets(words["deviations"])


def circumstances(facts: dict, expected: float | None) -> str:
    """What a reader needs to judge a time or to repeat a run; `expected` minutes where no whole time was taken."""
    threads = "1 thread" if facts["threads"] == 1 else f"{facts['threads']} threads"
    took = f"It took {spoken(facts['seconds'])}"
    if facts["resumed"]:
        took = "It was resumed"
        if training := facts.get("training_seconds"):
            took += f"; training took {spoken(training)} in all"
        elif expected:
            took += f"; in all it takes some {expected:g} minutes, by the yaml's estimate"
        took += f"; the last sitting was {spoken(facts['seconds'])}"
    left_out = f" Left out, for want of its file: {', '.join(facts['left_out'])}." if facts.get("left_out") else ""
    return (
        f"{took} on {facts['device']}, {threads}; budget `{facts['budget']}`, seed {facts['seed']}, "
        f"commit `{facts['commit']}`, torch {facts['versions']['torch']}.{left_out}"
    )


def spoken(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 120 else f"{seconds:.0f} seconds"


def sizes(cfg: DictConfig) -> str:
    """How much was trained and measured, where no column of a table says it."""
    said = []
    if "observations" in cfg.data:
        said.append(f"{cfg.data.replicates} data sets of {cfg.data.observations} rows a setting")
        said.append(f"{cfg.trainer.epochs} epochs")
    if "datasets" in cfg.data:
        more = ", ".join(f"{by.steps} times on {name}" for name, by in cfg.data.enlarge.items())
        said.append(f"about {cfg.trainer.steps} steps a split ({more})")
    if "predictive" in cfg:
        said.append(f"likelihoods and calibration from {cfg.predictive.samples} drawn networks")
    return f"Sizes: {'; '.join(said)}."


def errata() -> Iterator[Block]:
    yield Heading(2, "Errata of the paper")
    yield Text("Where the paper contradicts itself or its equations, the suite follows the last column.")
    yield Table(pd.DataFrame(WORDS["errata"], columns=["where", "printed", "meant"]))


def marked(table: pd.DataFrame) -> pd.DataFrame:
    """▼ or ▲ at our numbers that differ from the paper's by more than two standard errors.

    A column belongs to the longest `X (paper)` whose X it starts with: sBNN-50 tuned to sBNN-50 (paper). Where methods
    are lines instead, sBNN's belong to the paper's at the same sparsity.
    """
    papers = sorted((c.removesuffix(" (paper)") for c in table if c.endswith(" (paper)")), key=len, reverse=True)
    table = table.copy()
    for column in table.columns:
        method = next((m for m in papers if column.startswith(m)), None)
        if method is None or column == f"{method} (paper)":
            continue
        pairs = zip(table[column], table[f"{method} (paper)"], strict=True)
        table[column] = [own + sign(own, paper) for own, paper in pairs]
    if "sparsity %" in table:
        at = list(zip(table["network"], table["sparsity %"], strict=True))
        papers = {a: e for a, e, m in zip(at, table["error %"], table["method"], strict=True) if m == "sBNN (paper)"}
        ours = table["method"].str.startswith("sBNN") & table["method"].str.endswith("(ours)")
        table["error %"] += [sign(e, papers.get(a, "")) * o for a, e, o in zip(at, table["error %"], ours, strict=True)]
    return table


def sign(own: str, paper: str) -> str:
    mine, theirs = number(own), number(paper)
    if mine is None or theirs is None or mine[1] == 0:
        return ""
    difference = mine[0] - theirs[0]
    half_a_digit = 0.5 * 10 ** -len(paper.split(" ")[0].partition(".")[2])  # what the paper's rounding hides
    if abs(difference) <= 2 * math.hypot(mine[1], theirs[1]) + half_a_digit:
        return ""
    return " ▼" if difference < 0 else " ▲"


def number(cell: str) -> tuple[float, float] | None:
    """Value and standard error (0 where none is given) of a cell."""
    found = re.fullmatch(r"(-?[\d.]+)(?: ± ([\d.]+))?", cell)
    return (float(found[1]), float(found[2] or 0)) if found else None
