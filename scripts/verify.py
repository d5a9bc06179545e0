"""Does the code still give the committed numbers? One cheap cell of every experiment is run again and compared.

python scripts/verify.py [--results results] [--only uci_pruning ...]

A cell is what the committed configuration says, with the first value of everything that it varies; its networks have
the seeds that they had, so that the same machine finds the same numbers where the same networks train together.
Elsewhere rounding differs, and with it every network: two means may be three standard errors of their difference apart.
Where networks take long, as on images, the first fit is trained up to the first line of its history only, whose error
has to agree. Ends with 1 if anything does not.
"""

import argparse
import math
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import torch

from sbnn.errors import SbnnError
from sbnn.experiments.registry import experiment_named
from sbnn.runs.composition import experiments, read_settings
from sbnn.runs.context import Context
from sbnn.runs.rows import read_rows
from sbnn.runs.settings import ImageRun, RunSettings, UciRun
from sbnn.training.checkpoint import Checkpoint, TrainingState
from sbnn.training.history import History

ERRORS = 3  # standard errors that two means may be apart
ROUNDING = 1e-6  # relative
CHEAPEST = ("boston", "yacht")  # of the UCI datasets, first one that comes with the package
MAY_DIFFER = ("replicate", "value", "source")  # columns; another copy of the same data is as good


class Seen(Exception):
    """The first line of a fit's history is there."""

    def __init__(self, name: str, history: History):
        self.name, self.history = name, history


class UpToFirstLine(Checkpoint):
    """Keeps nothing, and ends a fit as soon as its history has a line."""

    def __init__(self, name: str):
        super().__init__()
        self.name = name

    def restore(self, state: TrainingState, device: torch.device) -> None:
        self.state = state

    def is_due(self) -> bool:
        if self.state.history.epochs:
            raise Seen(self.name, self.state.history)
        return False


class Brief(Context):
    def checkpoint(self, name: str, fingerprint: str = "") -> Checkpoint:
        return UpToFirstLine(name.rpartition("-")[0])  # a fit's chunks are numbered


@dataclass(frozen=True)
class Compared:
    """A number that is committed, the same found now, and the standard error of their difference."""

    what: str
    committed: float  # not a number where there is none: then nothing agrees
    se: float
    now: float

    @property
    def agrees(self) -> bool:
        allowed = ROUNDING * abs(self.committed) + (ERRORS * self.se if self.se > 0 else 0.0)
        return abs(self.now - self.committed) <= allowed


def cell(settings: RunSettings) -> RunSettings:
    """The committed settings with the first of everything that is varied."""
    first = {key: list(values)[:1] for key, values in settings.vary}
    changes: dict[str, object] = {"vary": first, "progress": False, "threads": 1, "resume": "auto", "force": False}
    if isinstance(settings, UciRun):
        cheapest = next((name for name in CHEAPEST if name in settings.data.datasets), settings.data.datasets[0])
        recipe = "paper" if "paper" in settings.recipes else settings.recipe
        changes |= {"data": {"datasets": [cheapest]}, "recipe": recipe, "rivals": [], "prune_gradually": []}
    return settings.changed(changes)


def compared(folder: Path) -> Iterator[Compared]:
    """Every number of the cell of an experiment."""
    settings = cell(read_settings(folder / "config.yaml"))
    experiment = experiment_named(settings.name)
    if isinstance(settings, ImageRun):
        yield from first_line(folder, settings)
    else:
        context = replace(Context.of(settings, folder), checkpoints=None)
        yield from means(read_rows(folder / "rows.csv"), experiment.run(settings, context))


def means(committed: pd.DataFrame, now: pd.DataFrame) -> Iterator[Compared]:
    """Those over replicates, of all that was measured now and stands in the committed rows too."""
    alike = [column for column in committed if column in now and column not in MAY_DIFFER]
    old, new = (
        rows.groupby(alike, dropna=False, as_index=False)["value"].agg(["mean", "sem"])
        for rows in (committed, now.astype(dict(committed.dtypes[alike])))
    )
    for _, line in new.merge(old, how="left", on=alike, suffixes=("_now", "")).iterrows():
        what = ", ".join(str(value) for value in line[alike[1:]].dropna())
        yield Compared(what, line["mean"], math.hypot(line["sem"], line["sem_now"]), line["mean_now"])


def first_line(folder: Path, settings: ImageRun) -> Iterator[Compared]:
    """The error over an epoch, by the number of images in it."""
    path = folder / "history.csv"
    if not path.exists():
        raise SbnnError(f"{path} is missing: these results are older than histories; run the experiment again.")
    brief = Brief.of(settings, folder)
    try:
        experiment_named(settings.name).run(settings, brief)
    except Seen as seen:
        line, committed = seen.history.rows()[0], pd.read_csv(path)
        own = committed[(committed.fit == seen.name) & (committed.epoch == line["epoch"])]
        if own.empty:
            raise SbnnError(f"{path} has no epoch {line['epoch']} of {seen.name}.") from seen
        error = float(own.error.iloc[0])
        images = settings.data.train_images or 50_000
        se = math.sqrt(error * (1 - error) / images)
        yield Compared(f"{seen.name}, error in epoch {line['epoch']}", error, se, line["error"])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--only", nargs="+", choices=experiments())
    options = parser.parse_args(arguments)
    failed = 0
    for name in options.only or experiments():
        folder = options.results / name
        if not (folder / "run.json").exists():
            print(f"{name}: not run", flush=True)
            continue
        started = time.monotonic()
        try:
            found = list(compared(folder))
        except SbnnError as error:
            print(f"{name}: cannot be verified: {error}", flush=True)
            failed += 1
            continue
        wrong = [one for one in found if not one.agrees]
        same = sum(math.isclose(one.now, one.committed, rel_tol=ROUNDING) for one in found)
        failed += bool(wrong)
        seconds = time.monotonic() - started
        agree = f"{len(found) - len(wrong)} of {len(found)} numbers agree, {same} exactly"
        print(f"{name}: {agree} ({seconds:.0f} s)", flush=True)
        for one in wrong[:5]:
            print(f"  {one.what}: committed {one.committed:.6g} ± {one.se:.2g}, now {one.now:.6g}", flush=True)
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
