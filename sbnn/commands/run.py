"""`sbnn-run`: train an experiment, or a sweep of them, and report it."""

import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import hydra
import torch
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sbnn.commands.arguments import check_arguments
from sbnn.commands.attempts import DONE, Attempts
from sbnn.commands.display import complain
from sbnn.commands.help import RUN, answer_questions
from sbnn.commands.search import register
from sbnn.commands.sweep import table_at_the_end
from sbnn.errors import SbnnError
from sbnn.experiments.registry import prepared
from sbnn.report.folders import claimed
from sbnn.report.history import check_tracking
from sbnn.report.page.write import check_page
from sbnn.report.publish import publish
from sbnn.report.registry import report_of
from sbnn.report.results import Results
from sbnn.runs.composition import CONF
from sbnn.runs.context import Context
from sbnn.runs.identity import is_finished
from sbnn.runs.keys import FILES, NOTHING, affects
from sbnn.training.distributed import leads, leave

QUOTES = "'\""


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def run(cfg: DictConfig) -> float:
    with one_sentence_errors():
        return execute(cfg, output_folder(), recorded_command(), in_sweep=is_sweep())


def execute(cfg: DictConfig, output: Path, command: str = "", in_sweep: bool = False) -> float:
    """Check, train, report; return the headline number for a sweeper to optimise."""
    experiment, settings = prepared(cfg)
    check_tracking(settings.tracking)
    if in_sweep and is_finished(output, settings):
        return Results(output).headline
    if not leads():
        return report_of(settings.name).headline(experiment.run(settings, Context.of(settings, output)))
    with claimed(output):
        if not in_sweep:
            check_page(output.parent)
        context, started = Context.of(settings, output), time.monotonic()
        rows = experiment.run(settings, context)
        headline = publish(rows, settings, context, time.monotonic() - started, command, judged=not in_sweep)
        if not in_sweep and output.name == settings.name:  # one on validation data has another name
            Attempts(output.parent).note(settings, DONE)
        if not settings.keep_checkpoints:
            context.forget_checkpoints()
    return headline


def recorded_command() -> str:
    """The command that was given, without what names places on one machine or changes no number."""
    overrides = OmegaConf.to_container(HydraConfig.get().overrides.task, resolve=False)
    given = [one for one in overrides if affects(one.partition("=")[0].lstrip("+~")) is not NOTHING]
    return " ".join(["sbnn-run", *(shlex.quote(without_folders(one)) for one in given)])


def without_folders(override: str) -> str:
    """A file by its name alone."""
    key, _, value = override.partition("=")
    return f"{key}={Path(value.strip(QUOTES)).name}" if key in FILES else override


def output_folder() -> Path:
    return Path(HydraConfig.get().runtime.output_dir)


def is_sweep() -> bool:
    return HydraConfig.get().mode == RunMode.MULTIRUN


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Errors that the user can mend end in one sentence and their own exit code; all others keep their traceback."""
    try:
        yield
    except Exception as problem:
        error = as_sentence(problem)
        if error is None:
            raise
        if is_sweep():
            raise error from problem  # to the sweep's ledger; the other jobs go on
        complain(error)
        with suppress(OSError):
            output_folder().rmdir()  # Hydra made it; it goes unless an earlier run's results are in it
        sys.exit(error.exit_code)


def as_sentence(problem: Exception) -> SbnnError | None:
    """What the user can mend: our own complaints, and those of the disk and the memory."""
    if isinstance(problem, SbnnError):
        return problem
    if isinstance(problem, OSError) and problem.strerror:
        where = f"{problem.filename}: " if problem.filename else ""
        return SbnnError(f"{where}{problem.strerror}; checkpoints are kept, and the same command goes on from them.")
    if isinstance(problem, MemoryError | torch.OutOfMemoryError) or "can't allocate memory" in str(problem):
        return SbnnError("There is not enough memory; lower chunk or trainer.batch, or give it a larger machine.")
    return None


AGAIN = 10  # seconds after which a stop is raised again, should a library's callback have swallowed it


@contextmanager
def stopping_in_one_sentence() -> Iterator[None]:
    """Ctrl-C and SIGTERM end with a sentence that says what is kept, and with the usual exit codes."""
    received = [signal.SIGINT]

    def stop(number: int, _: object) -> None:
        if number != signal.SIGALRM:
            received[0] = signal.Signals(number)
        signal.alarm(AGAIN)
        raise KeyboardInterrupt

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        signal.signal(number, stop)
    try:
        yield
    except KeyboardInterrupt:
        signal.alarm(0)
        complain(SbnnError("Stopped. Checkpoints are kept, and the same command goes on from them."))
        sys.exit(128 + received[0])


def main() -> None:
    answer_questions(RUN)
    check_arguments()
    register()
    with stopping_in_one_sentence(), table_at_the_end():
        run()
        leave()
