"""What a sweep ends with: one table of its jobs, whichever sweeper chose them and in whatever process they ran."""

import json
import math
import os
import shutil
import socket
import sys
import time
import traceback
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

import pandas as pd
from hydra.core.utils import JobReturn, JobStatus
from hydra.experimental.callback import Callback
from omegaconf import DictConfig, OmegaConf

from sbnn.commands.display import complain
from sbnn.errors import SbnnError
from sbnn.files import is_running, write_text
from sbnn.report.results import Results
from sbnn.report.style import save
from sbnn.report.sweeps import heat_map, numbers
from sbnn.runs.composition import composed, one_folder, settings_of
from sbnn.runs.identity import digest, is_finished
from sbnn.runs.keys import WITHOUT_EFFECT
from sbnn.training.distributed import leads, several

# Skipped: finished before, see runs/identity.py. Earlier: of another sweep over the same keys.
DONE, SKIPPED, FAILED, EARLIER = "done", "skipped", "failed", "earlier"
LONGEST = 255  # bytes of a file's name


class Ledger(Callback):
    """Notes every job in a file, since jobs may run in other processes and on other machines; Hydra takes it there."""

    current: ClassVar["Ledger | None"] = None  # that of the sweep which this command runs
    folder: Path | None = None  # of the sweep's jobs; none if there is no sweep

    def on_multirun_start(self, config: DictConfig, **_: object) -> None:
        self.folder = Path(config.hydra.sweep.dir).absolute()
        self.notes = self.folder / f".jobs-{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"
        for notes in self.folder.glob(f".jobs-{socket.gethostname()}-*"):  # of sweeps that were killed
            if not is_running(int(notes.name.split("-")[-2])):
                shutil.rmtree(notes, ignore_errors=True)
        self.unnamed = {"experiment", *WITHOUT_EFFECT}
        Ledger.current = self

    def on_job_start(self, config: DictConfig, **_: object) -> None:
        if self.folder is None:
            return
        self.started, self.output = time.monotonic(), Path(config.hydra.runtime.output_dir)
        overrides = OmegaConf.to_container(config.hydra.overrides.task, resolve=False)
        self.job = {
            "number": config.hydra.job.num,
            "overrides": {key.lstrip("+"): value for key, _, value in (one.partition("=") for one in overrides)},
            "path": os.path.relpath(self.output, self.folder),
            "status": FAILED,
            "reason": "It was killed or cut off, or runs on elsewhere.",  # until the next note
        }
        self.note()
        self.job["status"] = SKIPPED if would_be_the_same(self.output, overrides) else DONE

    def on_job_end(self, config: DictConfig, job_return: JobReturn, **_: object) -> None:
        """A failed job answers infinity, worse than any other; its exception would cost the sweeper all the others."""
        if self.folder is None:
            return
        try:
            headline = job_return.return_value
        except Exception as error:
            self.job |= {
                "status": FAILED,
                "reason": reason_of(error),
                "seconds": round(time.monotonic() - self.started, 1),
            }
            self.note()
            with suppress(OSError):
                self.output.rmdir()  # Hydra made it; it goes unless an earlier run's results are in it
            if several():
                sys.exit(1)  # the other processes may be anywhere in the job that failed
            job_return.return_value, job_return.status = math.inf, JobStatus.COMPLETED
            return
        if not leads():
            return  # the rows are the leading process's to write and to read
        results = Results(self.output)
        self.job |= {"headline": headline, "seconds": results.facts["seconds"], "reason": ""}
        self.job["errors"] = results.errors_by_droprate
        self.job["on_test_data"] = config.data.get("evaluate_on") == "test"
        self.note()

    def note(self) -> None:
        if leads():
            write_text(self.notes / f"{self.job['number']}.json", json.dumps(self.job))

    def close(self) -> bool:
        """Write and print the table of the jobs noted; return whether one failed."""
        Ledger.current = None
        jobs = sorted((json.loads(path.read_text()) for path in self.notes.glob("*.json")), key=lambda j: j["number"])
        shutil.rmtree(self.notes, ignore_errors=True)
        if not jobs:
            return False
        keys, table = tabulated(jobs)
        name = self.name(jobs[0]["overrides"], keys)
        folder = self.folder / name
        earlier = self.earlier(folder / "sweep.csv", keys, jobs)
        table = ranked(pd.concat([table, earlier]), keys)
        write_text(folder / "sweep.csv", table.to_csv(index=False, float_format="%.6g"))
        figure = heat_map(table, keys, title=name)
        if figure is None:
            for kind in ("png", "svg"):  # of an earlier sweep of these keys
                (folder / f"sweep.{kind}").unlink(missing_ok=True)
        else:
            save(figure, folder / "sweep.png")
        announce(table, keys)
        if any(job.get("on_test_data") for job in jobs):
            print("These are errors on test data; data.evaluate_on=validation is for choosing.")
        print(f"{os.path.relpath(folder)}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
        return FAILED in set(table["status"])

    def earlier(self, path: Path, keys: list[str], jobs: list[dict]) -> pd.DataFrame | None:
        """Lines of the table that is there which are not of this sweep's jobs and would come out the same today."""
        if not path.exists():
            return None
        try:
            table = pd.read_csv(path, dtype=dict.fromkeys([*keys, "reason"], object)).fillna({"reason": ""})
            table = table[[*keys, "headline", "seconds", "status", "path", "reason", *errors_in(table)]]
        except (ValueError, KeyError):  # it is damaged, and begun again
            return None
        fixed = {key: value for key, value in jobs[0]["overrides"].items() if key not in ("force", *keys)}
        now = {job["path"] for job in jobs}

        def holds(job: pd.Series) -> bool:
            if job["path"] in now or job["status"] == FAILED:
                return False
            given = fixed | {key: job[key] for key in keys}
            return would_be_the_same(self.folder / job["path"], [f"{key}={value}" for key, value in given.items()])

        return table[[holds(job) for _, job in table.iterrows()]].assign(status=EARLIER)

    def name(self, overrides: dict[str, str], keys: list[str]) -> str:
        """Like the folders of the jobs, without the values swept: sweeps of other keys have tables of their own."""
        fixed = {key: f"{key}={value}" for key, value in overrides.items()}
        named = fixed | {key: key for key in keys}
        experiment = "experiment" if "experiment" in keys else overrides.get("experiment", "experiment")
        name = one_folder(",".join([experiment, *sorted(named[key] for key in named if key not in self.unnamed)]))
        return name if len(name.encode()) <= LONGEST else f"{name[:60]}…{digest(name)}"


def errors_in(table: pd.DataFrame) -> list[str]:
    """The columns of errors at droprates."""
    return [column for column in table if column.startswith("error@")]


def would_be_the_same(folder: Path, overrides: list[str]) -> bool:
    """Whether the folder holds what these overrides, if they can be used today, would put there."""
    try:
        return is_finished(folder, settings_of(composed(*overrides)))
    except SbnnError:
        return False


def reason_of(error: Exception) -> str:
    """One sentence for the table; what the user cannot mend also leaves its traceback on the screen."""
    if isinstance(error, SbnnError):
        complain(error)
        return str(error)
    traceback.print_exception(error)
    return ": ".join([type(error).__name__, *str(error).strip().splitlines()[:1]])


def tabulated(jobs: list[dict]) -> tuple[list[str], pd.DataFrame]:
    """The keys that vary from job to job, and a line for each job."""
    given = pd.DataFrame([job["overrides"] for job in jobs]).astype(object)
    keys = [key for key in given if len(given[key].unique()) > 1]
    errors = pd.DataFrame([job.get("errors", {}) for job in jobs])
    found = pd.DataFrame(jobs).reindex(columns=["headline", "seconds", "status", "path", "reason"])
    table = pd.concat([given[keys], found[["headline"]], errors, found.drop(columns="headline")], axis=1)
    return keys, table


def ranked(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The lowest headline first, failed jobs last; headlines of two experiments do not compare."""
    order = [key for key in keys if key == "experiment"]
    return table.sort_values([*order, "headline"], na_position="last", kind="stable", ignore_index=True)


def announce(table: pd.DataFrame, keys: list[str]) -> None:
    """The table as a screen shows it, how the jobs ended, and the settings of the best."""
    shown = table.apply(numbers)
    if (table["reason"] == "").all():
        shown = shown.drop(columns="reason")
    print(f"\n{shown.to_string(index=False, na_rep='', float_format=short)}")
    ended = table["status"].value_counts()
    print(f"{len(table)} jobs: {', '.join(f'{count} {status}' for status, count in ended.items())}.")
    best = shown.iloc[0]
    if "experiment" not in keys and not math.isnan(best["headline"]):
        settings = "".join(f"{key}={short(best[key])} " for key in keys)
        print(f"Best: {settings}with headline {short(best['headline'])}.")


def short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextmanager
def table_at_the_end() -> Iterator[None]:
    """Around a command: the table of its sweep comes also when the sweep is cut off, and a failed job is an error."""
    failed = False
    try:
        yield
    finally:
        if Ledger.current is not None and leads():
            failed = Ledger.current.close()
    if failed:
        sys.exit(1)
