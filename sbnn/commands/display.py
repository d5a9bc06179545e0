"""What a user sees: complaints in one sentence, and one display for all experiments that run side by side."""

import shutil
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from sbnn.errors import SbnnError
from sbnn.training.distributed import leads


def complain(error: SbnnError) -> None:
    """Print the sentence once, however many processes torchrun has started."""
    if leads():
        print(f"sbnn: {error}", file=sys.stderr)


class Shown(Protocol):
    """An experiment as it is shown."""

    name: str
    expected: float | None  # minutes
    status: str
    began: float
    seconds: float
    resumed: bool

    def last_line(self) -> str: ...


def minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


class Display:
    """On a terminal a few lines that stay in place, in a log a line now and then."""

    def __init__(self, tasks: list[Shown], jobs: int):
        self.tasks, self.jobs, self.lines, self.shown = tasks, jobs, 0, -60.0
        self.began, self.live = time.monotonic(), sys.stderr.isatty()

    def say(self, line: str) -> None:
        self.close()
        print(line, file=sys.stderr, flush=True)

    def show(self, running: list[Shown]) -> None:
        now = time.monotonic()
        if not running or now - self.shown < (1 if self.live else 60):
            return
        self.close()
        width = shutil.get_terminal_size().columns - 1 if self.live else 160
        lines = [self.overall(), *(f"  {task.name}: {task.last_line()}" for task in running)]
        print("\n".join(line[:width] for line in lines), file=sys.stderr, flush=True)
        self.lines, self.shown = len(lines), now

    def close(self) -> None:
        """Take back what is to be written over."""
        if self.live and self.lines:
            print(f"\x1b[{self.lines}A\x1b[J", end="", file=sys.stderr)
        self.lines = 0

    def overall(self) -> str:
        over = sum(task.status not in ("waiting", "running") for task in self.tasks)
        return f"{over} of {len(self.tasks)} experiments over, {minutes(time.monotonic() - self.began)}{self.left()}"

    def left(self) -> str:
        """By the minutes in the yaml and this machine's pace so far; where it has none, by the mean of those over."""
        ended = [task for task in self.tasks if task.status == "done" and not task.resumed]
        known = [task for task in ended if task.expected]
        pace = sum(t.seconds for t in known) / sum(t.expected for t in known) if known else 60.0
        mean = sum(t.seconds for t in ended) / len(ended) if ended else None
        rest = [(pace * t.expected if t.expected else mean, spent) for t, spent in self.at_work()]
        if any(all_of_it is None for all_of_it, _ in rest):
            return ""
        each = [max(all_of_it - spent, 0) for all_of_it, spent in rest]
        longest = max(max(each, default=0), sum(each) / self.jobs)
        return f", about {minutes(longest)} left" if longest else ", longer than expected"

    def at_work(self) -> Iterator[tuple[Shown, float]]:
        """What is not over, and the seconds it has had."""
        for task in self.tasks:
            if task.status in ("waiting", "running"):
                yield task, time.monotonic() - task.began if task.status == "running" else 0.0
