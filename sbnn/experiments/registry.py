"""From a composed configuration to an experiment with settings that it can run."""

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

import pandas as pd
from omegaconf import DictConfig

from sbnn.checked import plainly
from sbnn.errors import ConfigError
from sbnn.runs.composition import default_settings, settings_of
from sbnn.runs.context import Context
from sbnn.runs.keys import SPECIFIC, is_below, leaves
from sbnn.runs.settings import RunSettings


class Experiment(Protocol):
    """What a module of this room offers."""

    USES: tuple[str, ...]  # keys of runs.keys.SPECIFIC, or tables of them, that mean something here

    def check(self, settings: RunSettings) -> None:
        """Raise one sentence about what no other check covers."""

    def run(self, settings: RunSettings, context: Context) -> pd.DataFrame:
        """Train and measure; the table is tidy, as runs.rows has it."""


def experiment_named(name: str) -> Experiment:
    if find_spec(f"sbnn.experiments.{name}") is None:
        raise ConfigError(f"name={name} has no module sbnn.experiments.{name}.")
    return cast(Experiment, import_module(f"sbnn.experiments.{name}"))


def prepared(cfg: DictConfig) -> tuple[Experiment, RunSettings]:
    """The door: a configuration comes in, an experiment and its checked settings go on."""
    settings = settings_of(cfg)
    experiment = experiment_named(settings.name)
    check_used(settings, experiment)
    experiment.check(settings)
    return experiment, settings


def check_used(settings: RunSettings, experiment: Experiment) -> None:
    """Refuse other data than the experiment's, and any value for a key that it would ignore."""
    defaults = default_settings(settings.name, settings.budget)
    if _collection(settings) != _collection(defaults):
        raise ConfigError(f"experiment={settings.name} does not run on the data chosen; leave data= out.")
    usual = dict(leaves(defaults.plain()))
    for key, value in leaves(settings.plain()):
        ignored = is_below(key, SPECIFIC) and not is_below(key, experiment.USES)
        if ignored and value != usual.get(key):
            raise ConfigError(f"{key}={plainly(value)} means nothing in experiment={settings.name}; leave it out.")


def _collection(settings: RunSettings) -> str | None:
    return getattr(settings.data, "collection", None)
