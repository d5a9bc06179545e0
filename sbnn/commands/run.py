"""Two commands: `sbnn-run` trains an experiment and reports it, `sbnn-report` reports it, or all of them, again."""

import shlex
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from sbnn.commands.attempts import DONE, Memory
from sbnn.commands.search import register
from sbnn.commands.sweep import table_at_the_end
from sbnn.errors import ConfigError, SbnnError
from sbnn.experiments import experiment
from sbnn.report import headline, publish, republish, republish_all
from sbnn.runs.context import Run
from sbnn.runs.identity import finished
from sbnn.runs.rows import read_rows
from sbnn.runs.settings import CONF, check, experiments
from sbnn.training.distributed import complain, leave

# The extra that installs what an argument asks for.
EXTRAS = {
    "hydra/launcher=joblib": "joblib",
    "hydra/launcher=submitit_local": "submitit",
    "hydra/launcher=submitit_slurm": "submitit",
    "hydra/launcher=ray": "ray",
    "hydra/sweeper=optuna": "optuna",
    "hydra/sweeper=tpe": "optuna",
}
NOT_TO_BE_REPEATED = (
    "results_dir=", "data.dir=", "progress=", "resume=", "force=", "keep_checkpoints=", "threads=",
)  # fmt: skip
# Keys that do not name a job's folder.
UNNAMED = set(OmegaConf.load(CONF / "config.yaml").hydra.job.config.override_dirname.exclude_keys) - {"experiment"}


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def _run(cfg: DictConfig) -> float:
    with one_sentence_errors():
        if sweeping() and finished(output_folder(), cfg):
            return headline(read_rows(output_folder() / "rows.csv"), cfg.name)
        return execute(cfg, output_folder(), typed(), judged=not sweeping())


def typed() -> str:
    """The command that was given, but for what names places on one machine or changes no number."""
    given = [o for o in HydraConfig.get().overrides.task if not o.startswith(NOT_TO_BE_REPEATED)]
    given = [f"pretrained={Path(o).name}" if o.startswith("pretrained=") else o for o in given]
    return " ".join(["sbnn-run", *(shlex.quote(override) for override in given)])


def execute(cfg: DictConfig, output: Path, command: str = "", judged: bool = True) -> float:
    """Check, train, report; return the headline number for a sweeper to optimise."""
    check(cfg)
    module = experiment(cfg.name)
    module.check(cfg)
    run = Run.from_config(cfg, output)
    started = time.monotonic()
    rows = module.run(cfg, run)
    if not run.world.leads:
        return headline(rows, cfg.name)
    found = publish(rows, cfg, run, time.monotonic() - started, command, judged)
    if judged and output.name == cfg.name:  # one on validation data stands beside it
        Memory(output.parent).note(cfg, DONE)
    if not cfg.keep_checkpoints:
        run.forget_checkpoints()
    return found


@hydra.main(version_base="1.3", config_path=str(CONF), config_name="config")
def _report(cfg: DictConfig) -> None:
    """Redraw tables, figures and claims from rows.csv: of one experiment, or of all that are there."""
    with one_sentence_errors():
        folder = output_folder()
        if cfg.name is None:
            republish_all(folder)
        else:
            check(cfg)
            republish(folder)


def output_folder() -> Path:
    return Path(HydraConfig.get().runtime.output_dir)


def sweeping() -> bool:
    return HydraConfig.get().mode == RunMode.MULTIRUN


@contextmanager
def one_sentence_errors() -> Iterator[None]:
    """What the user can mend ends in one sentence and exit code 2; all else keeps its traceback."""
    try:
        yield
    except SbnnError as error:
        if sweeping():
            raise  # to the sweep's ledger; the other jobs go on
        complain(error)
        with suppress(OSError):
            output_folder().rmdir()  # Hydra made it; it goes unless an earlier run's results are in it
        sys.exit(2)


def check_arguments() -> None:
    """What Hydra answers with a page, or not at all; a sentence will do."""
    try:
        for argument in sys.argv[1:]:
            key, _, value = argument.partition("=")
            if key == "experiment" and "(" not in value:  # choice(...) and glob(...) are Hydra's to take apart
                check_experiments(value.split(","))
            if argument in EXTRAS:
                check_installed(argument, EXTRAS[argument])
            if key in UNNAMED and OverridesParser.create().parse_override(argument).is_sweep_override():
                raise ConfigError(f"{argument} cannot be swept: its jobs would share a folder; run them one by one.")
    except ConfigError as error:
        complain(error)
        sys.exit(2)


def check_experiments(names: list[str]) -> None:
    if unknown := [name for name in names if name not in experiments()]:
        raise ConfigError(f"experiment={unknown[0]} is unknown; choose one of {', '.join(experiments())}.")


def check_installed(argument: str, extra: str) -> None:
    try:
        version(f"hydra-{extra}-{argument.partition('=')[0].removeprefix('hydra/')}")
    except PackageNotFoundError as error:
        raise ConfigError(f"{argument} is not installed; make extra EXTRA={extra} does it.") from error


def run() -> None:
    check_arguments()
    register()
    with table_at_the_end():
        _run()
        leave()


def report() -> None:
    check_arguments()
    with table_at_the_end():
        _report()
