"""From a composed configuration to an experiment with settings that it can run."""

from importlib import import_module
from typing import Protocol, cast

import pandas as pd
from omegaconf import DictConfig

from sbnn.checked import plainly
from sbnn.errors import ConfigError
from sbnn.runs.composition import default_settings, experiments, settings_of
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
    if name not in experiments():
        raise ConfigError(f"name={name} is unknown; choose one of {', '.join(experiments())}.")
    return cast(Experiment, import_module(f"sbnn.experiments.{name}"))


def prepared(cfg: DictConfig) -> tuple[Experiment, RunSettings]:
    """The door: a configuration comes in, an experiment and its checked settings go on."""
    settings = settings_of(cfg)
    experiment = experiment_named(settings.name)
    check_used(settings, experiment)
    experiment.check(settings)
    return experiment, settings


def check_used(settings: RunSettings, experiment: Experiment) -> None:
    """Refuse any value for a key that the experiment would ignore, in a recipe too."""
    usual = dict(leaves(default_settings(settings.name, settings.budget).plain()))
    changes = {"recipes": settings.recipes, "by_network": settings.by_network}
    in_tables = (
        (key, f"{table}.{name}.{key}", value)
        for table, names in changes.items()
        for name, changed in names.items()
        for key, value in leaves(changed)
    )
    own = ((key, key, value) for key, value in leaves(settings.plain()) if value != usual.get(key))
    for key, written, value in (*own, *in_tables):
        if is_below(key, SPECIFIC) and not is_below(key, experiment.USES):
            raise ConfigError(f"{written}={plainly(value)} means nothing in experiment={settings.name}; leave it out.")
