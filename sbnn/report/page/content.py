"""What stands on the page: the scoreboard, then every experiment with its tables and the paper's, and the errata."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pandas as pd
import yaml

from sbnn.report import benchmark, deployment, selection_rates
from sbnn.report.cells import Word
from sbnn.report.claims import NOT, NOT_RUN, PARTLY, REPRODUCED, counted
from sbnn.report.page.blocks import Block, Bullets, Command, Heading, Picture, Plot, Table, Text
from sbnn.report.results import Results
from sbnn.runs.composition import BUDGETS
from sbnn.runs.data_settings import SimulatedSettings, UciSettings
from sbnn.runs.settings import RunSettings

WORDS = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
KINDS = {REPRODUCED: "yes", PARTLY: "partly", NOT: "no", NOT_RUN: "open"}


def page(folder: Path, verdicts: pd.DataFrame, known: Mapping[str, Results] | None = None) -> list[Block]:
    """The page of the experiments in a folder; those known are not read, those that were not run are named as such."""
    found = {name: Results(folder / name) for name in WORDS["experiments"]} | dict(known or {})
    chapters = [block for name in WORDS["experiments"] for block in readable(name, found[name])]
    for module in (selection_rates, deployment, benchmark):
        chapters += module.chapter(folder, WORDS[module.FOLDER])
    smoke = [Text(WORDS["smoke"])] if Text(WORDS["smoke"]) in chapters else []
    return [*scoreboard(verdicts, smoke), *chapters, *errata()]


def scoreboard(verdicts: pd.DataFrame, notes: list[Block]) -> Iterator[Block]:
    yield Heading(1, WORDS["title"])
    yield Text(WORDS["about"])
    yield Text(WORDS["uncertainty"])
    yield Heading(2, "Scoreboard")
    yield Text(counted(verdicts))
    yield from notes
    ours = [f"{v.ours} (s.e. {v.se})" if v.se else v.ours for v in verdicts.itertuples()]
    coloured = [Word(verdict, KINDS[verdict]) for verdict in verdicts["verdict"]]
    shown = verdicts.assign(ours=ours, verdict=coloured).rename(columns={"id": ""})
    yield Table(shown[["", "verdict", "claim", "paper", "ours", "criterion", "budget"]])


def readable(name: str, results: Results) -> list[Block]:
    """An experiment's chapter; if its folder is damaged, that is said instead, and the page goes on."""
    try:
        return list(experiment(name, results))
    except Exception as error:  # whatever a damaged file makes of the code that reads it
        heading = Heading(2, WORDS["experiments"][name]["title"])
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return [heading, Text(f"The results in `{name}` cannot be read ({reason}); run it again.")]


def experiment(name: str, results: Results) -> Iterator[Block]:
    words = WORDS["experiments"][name]
    yield Heading(2, words["title"])
    yield Text(words["about"])
    if not (results.folder / "run.json").exists():
        yield Text("Not run.")
        yield Command(f"sbnn-run experiment={name}")
        return
    facts, metrics = results.facts, set(results.rows.metric)
    if facts.get("command"):
        yield Command(facts["command"])
    elif facts["budget"] in BUDGETS:
        yield Command(f"sbnn-run experiment={name} budget={facts['budget']}")
        yield Text("What was typed was not recorded; this gives the same configuration.")
    yield Text(f"{circumstances(facts, results.settings.minutes)} {sizes(results.settings)}")
    if results.is_smoke:
        yield Text(WORDS["smoke"])
    if "error" in metrics and "switched" not in metrics:
        yield Text(WORDS["unpaired"])
    for file, caption in words["tables"].items():
        if file in results.tables:
            yield Table(results.tables[file], caption, f"{name}/{file}.csv")
    if (drawn := results.report.curve(results.rows)) is not None:
        yield Plot(drawn)
    for file, caption in words["figures"].items():
        if (results.folder / f"{file}.png").exists():
            yield Picture(f"{name}/{file}.png", caption)
    if (results.folder / "history.png").exists():
        yield Picture(f"{name}/history.png", WORDS["history"])
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


def sizes(settings: RunSettings) -> str:
    """How much was trained and measured, where no column of a table says it."""
    said, data = [], settings.data
    if isinstance(data, SimulatedSettings):
        said.append(f"{data.replicates} data sets of {data.observations} rows a setting")
        said.append(f"{settings.trainer.epochs} epochs")
    if isinstance(data, UciSettings):
        more = ", ".join(f"{by.steps} times on {name}" for name, by in data.enlarge.items())
        said.append(f"about {settings.trainer.steps} steps a split ({more})")
    said.append(f"likelihoods and calibration from {settings.predictive.samples} drawn networks")
    return f"Sizes: {'; '.join(said)}."


def errata() -> Iterator[Block]:
    yield Heading(2, "Errata of the paper")
    yield Text("Where the paper contradicts itself or its equations, the suite follows the last column.")
    yield Table(pd.DataFrame(WORDS["errata"], columns=["where", "printed", "meant"]))
