"""What every run took, and an estimate of what the paper's sizes would take on a GPU: tables and a chapter."""

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache

import pandas as pd

from sbnn.model.methods import METHODS, SBNN
from sbnn.report.cells import Word
from sbnn.report.names import RECIPES, called
from sbnn.report.page.blocks import Block, Complaint, Heading, Table, Text
from sbnn.report.results import Results
from sbnn.report.workload import FINETUNE, workload
from sbnn.runs.composition import default_settings

BUDGET = "paper"
PEAK, SHARE = 19.5, 0.3  # TFLOP/s of an A100 in float32, and the part of it that training is taken to reach
LAUNCH = 1.0  # milliseconds that a step takes at least, its kernels being launched one by one
RUNS, METHODS_OF_RUNS = "cost.csv", "cost_by_method.csv"  # next to the page
COLUMNS = {
    RUNS: (
        "experiment", "budget", "fits", "epochs", "training seconds", "whole seconds", "core-hours", "machine",
        f"GPU-hours at budget={BUDGET} (estimate)",
    ),
    METHODS_OF_RUNS: ("experiment", "method", "fits", "epochs", "seconds an epoch", "least", "most"),
}  # fmt: skip
NOT_RECORDED, RESUMED, UNREADABLE = (Word(said, "open") for said in ("not recorded", "resumed", "cannot be read"))


def chapter(found: Mapping[str, Results], words: dict, titles: Mapping[str, str]) -> Iterator[Block]:
    """What the page says of it, if there is a run."""
    there = {title: found[name] for name, title in titles.items() if (found[name].folder / "run.json").exists()}
    if not there:
        return
    yield Heading(2, words["title"])
    yield Text(words["about"])
    lines: dict[str, list] = {file: [] for file in COLUMNS}
    for title, results in there.items():
        try:
            taken = {RUNS: runs(results), METHODS_OF_RUNS: methods(results)}
        except Exception as error:  # whatever a damaged file makes of the code that reads it
            yield Complaint.of(f"What `{results.folder.name}` took", error)
            taken = {RUNS: [[UNREADABLE] * (len(COLUMNS[RUNS]) - 1)]}
        for file, own in taken.items():
            lines[file] += [[title, *line] for line in own]
    said = {"budget": BUDGET, "peak": f"{PEAK:g}", "share": f"{100 * SHARE:g} %", "launch": f"{LAUNCH:g}"}
    for file, own in lines.items():
        if own:
            yield Table(pd.DataFrame(own, columns=COLUMNS[file]), words[file].format(**said), file)


def runs(results: Results) -> list[list]:
    """One line. What a run did not record is not guessed."""
    facts, resumed = results.facts, results.facts["resumed"]
    fits = {name.rpartition("-")[0] for name in facts.get("fit_seconds") or ()}  # they go through the loop in chunks
    training = facts.get("training_seconds")
    taken = training if resumed else facts["seconds"]  # of a resumed run only training was added up
    hours = None if taken is None else taken * facts["threads"] * facts["processes"] / 3600
    line = [
        facts["budget"],
        len(fits) or None,
        None if results.history is None else between(results.history.groupby("fit").epoch.max()),
        None if training is None else round(training),
        RESUMED if resumed else round(taken),
        None if hours is None else round(hours, 2),
        machine(facts),
        round(gpu_hours(facts["experiment"]), 2),
    ]
    return [[NOT_RECORDED if cell is None else cell for cell in line]]


def methods(results: Results) -> list[list]:
    """A line for every method and recipe: medians over a fit's records, then over fits. None without a history."""
    if results.history is None:
        return []
    fits = [(trained_as(fit), own.epoch.max(), pace(own)) for fit, own in results.history.groupby("fit", sort=False)]
    found = pd.DataFrame(fits, columns=["method", "epochs", "pace"]).groupby("method", sort=False)
    return [
        [method, len(own), between(own.epochs), *(float(f"{at:.3g}") for at in own.pace.agg(["median", "min", "max"]))]
        for method, own in found
    ]


def pace(history: pd.DataFrame) -> float:
    """Median seconds of an epoch of one fit, from record to record; of a single one, what came before it is in them."""
    seconds = (history.seconds.diff() / history.epoch.diff()).median()
    return history.seconds.iloc[0] / history.epoch.iloc[0] if math.isnan(seconds) else seconds


def trained_as(fit: str) -> str:
    """What a fit's name says of how it was trained: retrained, a recipe of sBNN's, a rival; else it is sBNN's own."""
    parts = re.split(r"[-, ]+", fit)
    if FINETUNE in parts:
        return "retrained"
    recipe = next((part for part in parts if part in RECIPES), "")
    return called(next((part for part in parts if part in METHODS), SBNN.name), recipe)


def between(numbers: pd.Series) -> str | None:
    """The least and the most; nothing where there are none."""
    least, most = numbers.min(), numbers.max()
    return None if numbers.empty else f"{most}" if least == most else f"{least} to {most}"


def machine(facts: dict) -> str:
    """Results older than its description name the kind of device."""
    known = facts.get("machine")
    return facts["device"] if known is None else known["gpu"] or f"{known['cpu']}, {known['cores']} cores"


@cache
def gpu_hours(experiment: str) -> float:
    """Of training alone: by what is multiplied, or by the number of steps where networks are small."""
    fits = workload(default_settings(experiment, BUDGET))
    seconds = (max(own.flops / (SHARE * PEAK * 1e12), own.steps * LAUNCH / 1000) for own in fits)
    return sum(seconds) / 3600
