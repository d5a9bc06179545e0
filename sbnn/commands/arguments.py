"""What is typed, checked before Hydra sees it: Hydra would answer with a page, or not at all; a sentence will do."""

import os
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hydra._internal.utils import get_args_parser
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Glob, Override
from omegaconf import OmegaConf

from sbnn.commands.display import complain
from sbnn.errors import ConfigError, SbnnError
from sbnn.runs.composition import composed, experiments, settings_of
from sbnn.runs.keys import WITHOUT_EFFECT

# The extra that installs what an argument asks for.
EXTRAS = {
    "hydra/launcher=joblib": "joblib",
    "hydra/launcher=submitit_local": "submitit",
    "hydra/launcher=submitit_slurm": "submitit",
    "hydra/launcher=ray": "ray",
    "hydra/sweeper=optuna": "optuna",
    "hydra/sweeper=tpe": "optuna",
}
LONGEST_NAME = 255  # bytes
PLACES = ("results_dir", "hydra.run.dir", "hydra.sweep.dir")


def check_arguments(must_exist: bool = False) -> None:
    """End with a sentence if the arguments cannot be used; of a sweep, one job has to be composable."""
    given = get_args_parser().parse_known_args()[0]
    if given.hydra_help or given.cfg or given.info or given.shell_completion:
        return
    try:
        overrides = list(parsed(given.overrides))
        for override in overrides:
            check_override(override, given.multirun)
        if given.multirun:
            check_names(given.overrides)
        values = OmegaConf.to_container(cfg := composed(*map(one_of, overrides)))
        if must_exist and not Path(str(values.get("results_dir"))).is_dir():
            raise ConfigError(f"results_dir={values.get('results_dir')} does not exist; name a folder of results.")
        if not given.multirun and values.get("name", "deleted") is not None:
            settings_of(cfg)
    except SbnnError as error:
        complain(error)
        sys.exit(error.exit_code)


def parsed(arguments: list[str]) -> Iterator[Override]:
    for argument in arguments:
        try:
            yield OverridesParser.create().parse_override(argument)
        except Exception as error:  # the grammar's, of many kinds
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise ConfigError(f"{argument} cannot be read as KEY=VALUE ({reason}).") from error


def check_override(override: Override, is_sweep: bool) -> None:
    """What can be said of an override alone."""
    argument, key = override.input_line, override.get_key_element()
    value = argument.partition("=")[2]
    if override.is_sweep_override() and not is_sweep:
        raise ConfigError(f"{argument} asks for several runs; add -m.")
    if override.is_sweep_override() and key in WITHOUT_EFFECT:
        raise ConfigError(f"{argument} cannot be swept: its jobs would share a folder; run them one by one.")
    if key == "experiment" and "(" not in value:  # choice(...) and glob(...) name what is there
        check_experiments(value.split(","))
    if argument in EXTRAS:
        check_installed(argument, EXTRAS[argument])
    if key in PLACES and "$" not in value:
        check_place(argument, Path(value))


def one_of(override: Override) -> str:
    """An override as one job has it: where it sweeps, the first of its values."""
    key = override.get_key_element()
    if not override.is_sweep_override():
        return override.input_line
    if override.is_interval_sweep():
        return f"{key}={override.value().start}"
    value = override.value()
    if isinstance(value, Glob):
        return f"{key}={next(iter(value.filter(experiments())), 'none')}"
    return f"{key}={next(iter(override.sweep_string_iterator()))}"


def check_place(argument: str, folder: Path) -> None:
    """Whether a folder is there, or can be made, and written to."""
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not there.is_dir():
        raise ConfigError(f"{argument} cannot be a folder: {there} is a file, or a link to nothing.")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ConfigError(f"{argument} cannot be used: {there} may not be written to.")


def check_names(overrides: list[str]) -> None:
    """A job's folder is named after its overrides, and no name is longer than a disk takes."""
    named = [one for one in overrides if one.partition("=")[0] not in ("experiment", *WITHOUT_EFFECT)]
    longest = len(",".join(named).encode()) + max(len(name) for name in experiments())
    if longest > LONGEST_NAME and not any(one.startswith("hydra.sweep.subdir=") for one in overrides):
        raise ConfigError(
            f"The folders of this sweep's jobs would have names of some {longest} bytes, more than {LONGEST_NAME}; add "
            "'hydra.sweep.subdir=${hydra.job.num}'."
        )


def check_experiments(names: list[str]) -> None:
    if unknown := [name for name in names if name not in experiments()]:
        raise ConfigError(f"experiment={unknown[0]} is unknown; choose one of {', '.join(experiments())}.")


def check_installed(argument: str, extra: str) -> None:
    try:
        version(f"hydra-{extra}-{argument.partition('=')[0].removeprefix('hydra/')}")
    except PackageNotFoundError as error:
        raise ConfigError(f"{argument} is not installed; make extra EXTRA={extra} does it.") from error
