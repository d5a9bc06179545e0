"""One thin module per experiment: `check(cfg)` its own keys, `run(cfg, run)` to tidy rows."""

from importlib import import_module
from types import ModuleType

from sbnn.errors import ConfigError


def experiment(name: str) -> ModuleType:
    try:
        return import_module(f"sbnn.experiments.{name}")
    except ModuleNotFoundError as error:
        raise ConfigError(f"name={name} has no module sbnn.experiments.{name}.") from error
