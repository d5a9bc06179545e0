"""Kill runs at random moments, run the same command again, and compare what they leave with a run that was left alone.

python scripts/chaos.py [--trials 100] [--kinds simulated images compiled sweep report] [--seed 0]

Every trial forks this process, which has loaded everything already, so that kills fall on training, measuring and
writing and not on imports. Results have to be the same byte for byte. Exit code 1 if not all survive.
"""

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

from sbnn.commands import report, run

FAST = ("budget=smoke", "progress=false", "threads=1", "checkpoint_seconds=0.02")
IMAGES = (
    "experiment=mnist_pruning", *FAST, "vary.width=[20]", "recipe=tuned", "rivals=[NN]", "trainer.epochs=10",
    "data.train_images=600", "data.test_images=100", "droprates=[0,0.5,0.9]",
)  # fmt: skip
COMMANDS: dict[str, tuple[str, ...]] = {
    "simulated": ("experiment=simulated_pruning", *FAST, "trainer.epochs=40"),
    "images": IMAGES,
    "compiled": (*IMAGES, "rivals=[]", "trainer.compile=always"),
    "sweep": ("-m", "experiment=simulated_relevance", *FAST, "seed=0,1", "trainer.epochs=40"),
    "report": ("results_dir=results/smoke",),
}
KINDS = {"report": report.main}
# They hold times or places.
VOLATILE = (
    "run.json", "history.csv", "cost.csv", "cost_by_method.csv", "report.html", "README.md", "sweep.csv",
    "multirun.yaml",
)  # fmt: skip


def forked(main: Callable[[], None], arguments: tuple[str, ...], folder: Path) -> int:
    """The command in a process of its own, in a folder of its own; its number."""
    if child := os.fork():
        return child
    os.chdir(folder)
    log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    sys.argv = ["sbnn", *arguments]
    code = 0
    try:
        main()
    except SystemExit as stopped:
        code = stopped.code if isinstance(stopped.code, int) else 1
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def finish(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def written(folder: Path) -> dict[str, bytes]:
    """What a run leaves: every file that holds no time, and no leftovers."""
    files = [path for path in (folder / "results").rglob("*") if path.is_file() and path.name not in VOLATILE]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if not path.name.startswith(".")}


class Trials:
    """One kind of command: how it ends when it is left alone, and whether it ends so after a kill."""

    def __init__(self, kind: str, scratch: Path):
        self.kind, self.folder = kind, scratch / kind
        self.main, self.arguments = KINDS.get(kind, run.main), COMMANDS[kind]
        self.folder.mkdir()
        if kind == "report":
            self.folder.rmdir()
            shutil.copytree(scratch / "simulated", self.folder)
        started = time.monotonic()
        if finish(forked(self.main, self.arguments, self.folder)) != 0:
            sys.exit(f"{kind} fails when it is left alone:\n{(self.folder / 'log').read_text()}")
        self.seconds, self.expected = time.monotonic() - started, written(self.folder)

    def survives(self, chance: random.Random) -> bool:
        folder = self.folder.with_name(f"{self.kind}-trial")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if self.kind == "report":
            shutil.copytree(self.folder / "results", folder / "results")
        child = forked(self.main, self.arguments, folder)
        time.sleep(chance.uniform(0, self.seconds))
        os.kill(child, signal.SIGKILL)
        finish(child)
        code = finish(forked(self.main, self.arguments, folder))
        found = written(folder)
        if code == 0 and found == self.expected:
            return True
        different = [name for name in self.expected | found if self.expected.get(name) != found.get(name)]
        print(f"{self.kind}: exit code {code}, different: {different}\n{(folder / 'log').read_text()[-2000:]}")
        return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--kinds", nargs="+", choices=list(COMMANDS), default=list(COMMANDS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.set_num_threads(1)  # a process with threads cannot be forked
    chance, survived, tried = random.Random(options.seed), 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        kinds = ["simulated", *options.kinds] if "report" in options.kinds else options.kinds
        trials = {kind: Trials(kind, Path(scratch)) for kind in dict.fromkeys(kinds)}
        for number in range(options.trials):
            kind = options.kinds[number % len(options.kinds)]
            tried += 1
            survived += trials[kind].survives(chance)
            print(f"{kind:10s} {survived} of {tried} survived", flush=True)
    sys.exit(0 if survived == tried else 1)


if __name__ == "__main__":
    main()
