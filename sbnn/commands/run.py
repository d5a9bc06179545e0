"""`sbnn-run`: train an experiment, or a sweep of them, and report it."""

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sbnn.commands.arguments import check_arguments
from sbnn.commands.attempts import DONE, Attempts
from sbnn.commands.display import complain
from sbnn.commands.search import register
from sbnn.commands.sweep import table_at_the_end
from sbnn.errors import SbnnError
from sbnn.experiments.registry import prepared
from sbnn.report.publish import publish
from sbnn.report.registry import report_of
from sbnn.report.results import Results
from sbnn.runs.composition import CONF
from sbnn.runs.context import Context
from sbnn.runs.identity import is_finished
from sbnn.runs.keys import NOTHING, affects
from sbnn.training.distributed import leave


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def run(cfg: DictConfig) -> float:
    with one_sentence_errors():
        return execute(cfg, output_folder(), recorded_command(), in_sweep=is_sweep())


def execute(cfg: DictConfig, output: Path, command: str = "", in_sweep: bool = False) -> float:
    """Check, train, report; return the headline number for a sweeper to optimise."""
    experiment, settings = prepared(cfg)
    if in_sweep and is_finished(output, settings):
        return Results(output).headline
    context, started = Context.of(settings, output), time.monotonic()
    rows = experiment.run(settings, context)
    if not context.world.leads:
        return report_of(settings.name).headline(rows)
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
    given = [f"pretrained={Path(one).name}" if one.startswith("pretrained=") else one for one in given]
    return " ".join(["sbnn-run", *map(shlex.quote, given)])


def output_folder() -> Path:
    return Path(HydraConfig.get().runtime.output_dir)


def is_sweep() -> bool:
    return HydraConfig.get().mode == RunMode.MULTIRUN


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """Errors that the user can mend end in one sentence and their own exit code; all others keep their traceback."""
    try:
        yield
    except SbnnError as error:
        if is_sweep():
            raise  # to the sweep's ledger; the other jobs go on
        complain(error)
        with suppress(OSError):
            output_folder().rmdir()  # Hydra made it; it goes unless an earlier run's results are in it
        sys.exit(error.exit_code)


def main() -> None:
    check_arguments()
    register()
    with table_at_the_end():
        run()
        leave()
