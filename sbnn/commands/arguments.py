"""What is typed, checked before Hydra sees it: Hydra would answer with a page, or not at all; a sentence will do."""

import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
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


def check_arguments() -> None:
    """End with a sentence if the arguments cannot be used; of a sweep, one job has to be composable."""
    try:
        flags = [argument for argument in sys.argv[1:] if argument.startswith("-")]
        overrides = [argument for argument in sys.argv[1:] if argument not in flags]
        for argument in overrides:
            key, _, value = argument.partition("=")
            if key == "experiment" and "(" not in value:  # choice(...) and glob(...) are Hydra's to take apart
                check_experiments(value.split(","))
            if argument in EXTRAS:
                check_installed(argument, EXTRAS[argument])
        cfg = composed(*(one_of(override) for override in parsed(overrides)))
        if not flags and OmegaConf.to_container(cfg)["name"] is not None:
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


def one_of(override: Override) -> str:
    """An override as one job has it: where it sweeps, the first of its values."""
    if not override.is_sweep_override():
        return override.input_line
    if override.get_key_element() in WITHOUT_EFFECT:
        swept = override.input_line
        raise ConfigError(f"{swept} cannot be swept: its jobs would share a folder; run them one by one.")
    if override.is_interval_sweep():
        return f"{override.get_key_element()}={override.value().start}"
    return f"{override.get_key_element()}={next(iter(override.sweep_string_iterator()))}"


def check_experiments(names: list[str]) -> None:
    if unknown := [name for name in names if name not in experiments()]:
        raise ConfigError(f"experiment={unknown[0]} is unknown; choose one of {', '.join(experiments())}.")


def check_installed(argument: str, extra: str) -> None:
    try:
        version(f"hydra-{extra}-{argument.partition('=')[0].removeprefix('hydra/')}")
    except PackageNotFoundError as error:
        raise ConfigError(f"{argument} is not installed; make extra EXTRA={extra} does it.") from error
