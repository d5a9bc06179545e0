"""`sbnn-reproduce`, which make reproduce-all runs: every experiment, several at a time, and the page of them all.

What this machine has finished before, by the same configuration and code, is skipped; what was cut off goes on from its
checkpoints; a failure is reported at the end and stops no other experiment.
"""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from sbnn.commands.attempts import DONE, Attempts
from sbnn.commands.display import Display, complain, minutes
from sbnn.commands.help import REPRODUCE, answer_questions
from sbnn.errors import ConfigError, SbnnError
from sbnn.experiments.registry import prepared
from sbnn.report import across
from sbnn.report.claims import PAPER, counted
from sbnn.report.closing import page_of
from sbnn.report.publish import gather, republish
from sbnn.runs.composition import composed, experiments
from sbnn.runs.identity import report_hash
from sbnn.runs.machine import cores
from sbnn.runs.settings import RunSettings

SKIPPED, FAILED = "skipped: done before, force=true runs it again", "failed"


@dataclass
class Task:
    """One experiment to run, and how it goes."""

    name: str
    settings: RunSettings
    overrides: list[str]
    log: Path
    status: str = "waiting"
    process: subprocess.Popen | None = None
    began: float = 0.0
    seconds: float = 0.0
    exit_code: int = 0
    resumed: bool = False

    @property
    def expected(self) -> float | None:
        return self.settings.minutes

    def start(self, jobs: int, resumed: bool) -> None:
        """In a process of its own, which goes on from checkpoints by itself, unless by force."""
        threads = [] if jobs == 1 or self.settings.threads is not None else [f"threads={max(1, cores() // jobs)}"]
        again = ["resume=false"] if self.settings.force else []
        command = [sys.executable, "-m", "sbnn", f"experiment={self.name}", *self.overrides, *threads, *again]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("w") as log:
            out = {"stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True}
            self.process = subprocess.Popen(command, **out)
        self.status, self.began, self.resumed = "running", time.monotonic(), resumed

    def ended(self) -> bool:
        if self.process is None or self.process.poll() is None:
            return False
        self.exit_code = self.process.returncode
        self.status = DONE if self.exit_code == 0 else FAILED
        self.seconds, self.process = time.monotonic() - self.began, None
        return True

    def stop(self) -> None:
        """With all its processes: it is the first of a session of its own, so that Ctrl-C is ours to pass on."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait()

    def last_line(self) -> str:
        """Of its log: most of the time the progress bar."""
        with self.log.open("rb") as log:
            log.seek(max(0, self.log.stat().st_size - 4000))
            lines = log.read().decode(errors="ignore").replace("\r", "\n").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")

    def reason(self) -> str:
        """Why it failed: a signal, or our own sentence, which may follow a progress bar, or what Python says last."""
        if self.exit_code < 0:
            return f"killed by {signal.Signals(-self.exit_code).name}, as when memory runs out"
        return self.last_line().rpartition("sbnn: ")[2]


def reproduce(overrides: list[str], jobs: int) -> bool:
    """Run them all; say whether all went well."""
    results, tasks = plan(overrides)
    attempts = Attempts(results)
    for task in tasks:
        if attempts.finished(task.settings):
            task.status = SKIPPED
            redraw_if_needed(results / task.name)
    display = Display(tasks, jobs)
    # The longest first, or the last one runs alone.
    waiting = sorted((t for t in tasks if t.status == "waiting"), key=lambda t: -(t.expected or 0))
    running: list[Task] = []
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.pop(0)
                task.start(jobs, attempts.was_cut_off(task.settings))
                attempts.note(task.settings, task.status)
                running.append(task)
                display.say(f"{task.name} begins (log: {task.log})")
            for task in [task for task in running if task.ended()]:
                running.remove(task)
                attempts.note(task.settings, task.status)
                reason = f": {task.reason()}" if task.status == FAILED else ""
                display.say(f"{task.name} {task.status} after {minutes(task.seconds)}{reason}")
            display.show(running)
            time.sleep(0.5 if running else 0)
    finally:
        for task in running:
            task.stop()
        display.close()
    summarise(tasks, results)
    return not any(task.status == FAILED for task in tasks)


def plan(overrides: list[str]) -> tuple[Path, list[Task]]:
    """The configuration of every experiment of the paper's, checked before the first one starts."""
    tasks, papers = [], set(PAPER["experiment"])
    for name in filter(papers.__contains__, experiments()):
        _, settings = prepared(composed(f"experiment={name}", *overrides))
        tasks.append(Task(name, settings, overrides, Path(settings.results_dir) / ".logs" / f"{name}.log"))
    return Path(tasks[0].settings.results_dir), tasks


def redraw_if_needed(folder: Path) -> None:
    """What is made of the rows may have changed since."""
    if json.loads((folder / "run.json").read_text())["report"] != report_hash():
        republish(folder)


def summarise(tasks: list[Task], results: Path) -> None:
    gather(results)
    lines = [
        [t.name, t.status, minutes(t.seconds) if t.seconds else "", t.reason() if t.status == FAILED else missing(t)]
        for t in tasks
    ]
    print(pd.DataFrame(lines, columns=["experiment", "", "time", ""]).to_string(index=False))
    others = [t.name for t in tasks if t.status == FAILED and (results / t.name / "claims.csv").exists()]
    print(counted(across.board(results)) + (f" Those of {', '.join(others)} are of an earlier run." if others else ""))
    print(page_of(results))


def missing(task: Task) -> str:
    """Data sets that could not be had, as the run noted them."""
    facts = json.loads((Path(task.settings.results_dir) / task.name / "run.json").read_text())
    return (
        f"without {', '.join(facts['left_out'])}: {task.log} says how to get it, force=true tries again"
        if facts["left_out"]
        else ""
    )


def jobs_here() -> int:
    """One after the other on a GPU; on a CPU side by side: most of these networks do not fill two cores."""
    return 1 if torch.cuda.is_available() else min(4, cores())


def main() -> None:
    """sbnn-reproduce [jobs=N] [overrides that mean something in every experiment, as budget=smoke or force=true do]"""
    answer_questions(REPRODUCE)
    for number in (signal.SIGTERM, signal.SIGHUP):  # a closed terminal must not leave experiments running
        signal.signal(number, lambda *_: sys.exit("sbnn: stopped."))
    arguments = dict.fromkeys(sys.argv[1:])
    jobs = next((a.removeprefix("jobs=") for a in arguments if a.startswith("jobs=")), str(jobs_here()))
    try:
        if not jobs.isdecimal() or int(jobs) < 1:
            raise ConfigError(f"jobs={jobs} must be a whole number in [1, inf).")
        if chosen := [a for a in arguments if a.startswith("experiment=")]:
            raise ConfigError(f"{chosen[0]} is one experiment, and this runs all; use sbnn-run.")
        went_well = reproduce([a for a in arguments if not a.startswith("jobs=")], int(jobs))
    except SbnnError as error:
        complain(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit("sbnn: cut off; run again without force=true, it goes on from the checkpoints.")
    sys.exit(0 if went_well else 1)
