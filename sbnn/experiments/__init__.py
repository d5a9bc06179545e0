"""One thin module per experiment: `check(cfg)` its own keys, `run(cfg, run)` to tidy rows."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from sbnn.errors import ConfigError


def experiment(name: str) -> ModuleType:
    if find_spec(f"sbnn.experiments.{name}") is None:
        raise ConfigError(f"name={name} has no module sbnn.experiments.{name}.")
    return import_module(f"sbnn.experiments.{name}")
