"""What stands on the page: promise, counts and picture, the scoreboard, every experiment's chapter, and the errata."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from types import ModuleType

import pandas as pd

from sbnn.report import (
    across,
    benchmark,
    cost,
    deployment,
    factors,
    gradients,
    group_rivals,
    inclusion,
    pbp,
    remarks,
    selection_rates,
    uci_settings,
)
from sbnn.report.claims import concluded, counted
from sbnn.report.headlines import findings, headline
from sbnn.report.page.blocks import (
    Block,
    Bullets,
    Command,
    Complaint,
    Counts,
    Fold,
    Heading,
    Picture,
    Plot,
    Scoreboard,
    Table,
    Text,
)
from sbnn.report.page.tables import readable
from sbnn.report.page.words import WORDS
from sbnn.report.results import Results, study_rows
from sbnn.runs.composition import BUDGETS
from sbnn.runs.data_settings import SimulatedSettings, UciSettings
from sbnn.runs.identity import code_hash

PICTURE, DARK = "picture.svg", "picture_dark.svg"


def page(folder: Path, verdicts: pd.DataFrame, known: Mapping[str, Results] | None = None) -> list[Block]:
    """The page of the experiments in a folder; those known are not read, those that were not run are named as such.

    A run in a folder of another name is on no page.
    """
    found = {name: (known or {}).get(name) or Results(folder / name) for name in WORDS["experiments"]}
    titles = {name: words["title"] for name, words in WORDS["experiments"].items()}
    chapters = []
    for name, title in titles.items():
        chapters += whole(name, title, partial(experiment, name, found[name], verdicts))
    if is_run(lenet := found["lenet_pruning"]):
        chapters += factors.chapter(lenet.tables["factors"], WORDS["factors"])
    for module in (uci_settings, pbp, group_rivals, remarks, inclusion, gradients):
        chapters += study(module, folder)
    chapters += cost.chapter(found, WORDS["cost"], titles)
    for module in (selection_rates, deployment, benchmark):
        chapters += study(module, folder)
    smoke = [Text(WORDS["smoke"])] if Text(WORDS["smoke"]) in chapters else []
    return [*opening(folder, verdicts, found, smoke), *chapters, *errata()]


def study(module: ModuleType, folder: Path) -> list[Block]:
    """The chapter of what is measured beside the experiments, if it was."""
    return whole(module.FOLDER, WORDS[module.FOLDER]["title"], partial(measured, module, folder / module.FOLDER))


def measured(module: ModuleType, folder: Path) -> Iterator[Block]:
    words, rows = WORDS[module.FOLDER], study_rows(folder)
    if rows is not None:
        yield Heading(2, words["title"])
        yield Text(words["about"])
        yield from module.chapter(rows, words)


def opening(folder: Path, verdicts: pd.DataFrame, found: Mapping[str, Results], notes: list[Block]) -> Iterator[Block]:
    """The first screen, and the scoreboard."""
    yield Heading(1, WORDS["title"])
    yield Text(WORDS["promise"])
    yield Counts(verdicts)
    yield from notes
    if (folder / PICTURE).exists():
        yield Picture(PICTURE, WORDS["picture"], DARK)
    if taught := findings({name: one for name, one in found.items() if is_run(one)}, folder / "trials.csv"):
        yield Heading(2, "What we found")
        yield Bullets(taught)
    yield Heading(2, "Scoreboard")
    yield Text(" ".join(filter(None, [WORDS["legend"], concluded(verdicts), *older(found)])))
    titles = {name: words["title"] for name, words in WORDS["experiments"].items()}
    yield Scoreboard(verdicts, titles | {across.NAME: WORDS[across.NAME]})
    yield Fold("How to read this page", [Text(WORDS["about"]), Text(WORDS["uncertainty"])])


def older(found: Mapping[str, Results]) -> Iterator[str]:
    """A sentence that names experiments whose results were made by other code than what is here."""
    words = WORDS["experiments"]
    titles = [words[name]["title"].partition(":")[0] for name, one in found.items() if is_older(name, one)]
    if titles:
        yield f"Made by older code than what is here now: {', '.join(titles)}."


def is_older(name: str, results: Results) -> bool:
    return is_run(results) and results.facts.get("code") != code_hash(name)


def is_run(results: Results) -> bool:
    """And can be read; if not, its chapter says so."""
    try:
        known = (results.folder / "run.json").exists() and results.facts and results.settings
        return bool(known) and len(results.rows) > 0
    except Exception:  # whatever a missing or damaged file makes of the code that reads it
        return False


def whole(name: str, title: str, chapter: Callable[[], Iterable[Block]]) -> list[Block]:
    """The chapter of a folder; if that is damaged, it is said instead, and the page goes on."""
    try:
        return list(chapter())
    except Exception as error:  # whatever a damaged file makes of the code that reads it
        return [Heading(2, title), Complaint.of(f"The results in `{name}`", error)]


def experiment(name: str, results: Results, verdicts: pd.DataFrame) -> Iterator[Block]:
    """The question, the verdict, what is to be seen, where it departs from the paper; the rest is folded."""
    words = WORDS["experiments"][name]
    yield Heading(2, words["title"])
    yield Text(words["about"])
    if not (results.folder / "run.json").exists():
        yield Text("Not run.")
        yield Command(f"sbnn-run experiment={name}")
        return
    yield Text(WORDS["smoke"] if results.is_smoke else verdict(results, verdicts[verdicts.experiment == name]))
    drawn = results.report.curve(results.rows)
    if drawn is not None:
        yield Plot(drawn, f"{words['plot']} {sizes(results)}".rstrip())
    yield from figures(name, results, drawn is not None)
    yield Heading(3, "Where this departs from the paper")
    yield Bullets(words["deviations"])
    shown = [
        (results.tables[file], caption, file) for file, caption in words["tables"].items() if file in results.tables
    ]
    yield from (Table(readable(table), caption, f"{name}/{file}.csv") for table, caption, file in shown)
    yield Fold("How it was run", list(circumstances(name, results)))


def verdict(results: Results, own: pd.DataFrame) -> str:
    """In a sentence, with one number of ours and the paper's."""
    count, number = counted(own, "its "), headline(results)
    if number is None:
        return count
    return f"{count} {number.what[0].upper()}{number.what[1:]}: {number.ours} (paper: {number.paper})."


def figures(name: str, results: Results, is_plotted: bool) -> Iterator[Block]:
    """Those that the interactive curves show already are folded; so is how training went."""
    words, folded = WORDS["experiments"][name], []
    of = f"{sizes(results)} {results.report.trained(results.rows)}".strip()
    for file, caption in words["figures"].items():
        if (results.folder / f"{file}.svg").exists():
            picture = Picture(f"{name}/{file}.svg", f"{caption} {of}".rstrip())
            if is_plotted and file in words["plotted"]:
                folded.append(picture)
            else:
                yield picture
    if folded:
        yield Fold("The same in one figure", folded)
    if (results.folder / "history.svg").exists():
        yield Fold("How training went", [Picture(f"{name}/history.svg", WORDS["history"])], linked=True)


def circumstances(name: str, results: Results) -> Iterator[Block]:
    """The command, and what a reader needs to judge a time or to repeat a run."""
    facts, command = results.facts, results.facts.get("command")
    if not command and facts["budget"] in BUDGETS:
        command = f"sbnn-run experiment={name} budget={facts['budget']}"
    said = [f"`{command}`" if command else "", times(facts, results.settings.minutes), sizes(results)]
    if not facts.get("command"):
        said.append("What was typed was not recorded.")
    if "error" in (metrics := set(results.rows.metric)) and "switched" not in metrics:
        said.append(WORDS["unpaired"])
    yield Text(" ".join(filter(None, said)))


def times(facts: dict, expected: float | None) -> str:
    """How long it took and on what; `expected` minutes where no whole time was taken."""
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


def sizes(results: Results) -> str:
    """How much was trained and measured, where no column of a table says it."""
    said, settings, data = [], results.settings, results.settings.data
    if isinstance(data, SimulatedSettings):
        said.append(f"{data.replicates} data sets of {data.observations} rows a setting")
        said.append(f"{settings.trainer.epochs} epochs")
    if isinstance(data, UciSettings):
        splits = results.rows.groupby("dataset").replicate.nunique()
        fewer = ", ".join(f"{count} of {name}" for name, count in splits[splits < splits.max()].items())
        said.append(f"{splits.max()} splits of a data set" + (f" ({fewer})" if fewer else ""))
        more = ", ".join(f"{by.steps} times on {name}" for name, by in data.enlarge.items() if name in splits)
        said.append(f"about {settings.trainer.steps} steps a split ({more})")
    return f"Sizes: {'; '.join(said)}." if said else ""


def errata() -> Iterator[Block]:
    yield Heading(2, "Errata of the paper")
    yield Text("Where the paper contradicts itself or its equations, the suite follows the last column.")
    yield Table(pd.DataFrame(WORDS["errata"], columns=["where", "printed", "meant"]), WORDS["errata_table"])
