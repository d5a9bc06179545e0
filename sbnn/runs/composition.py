"""From yaml to settings: Hydra composes a configuration, `settings.py` checks it, and what leaves here is plain."""

import re
from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sbnn.checked import checked
from sbnn.errors import ConfigError, SbnnError
from sbnn.runs.keys import CAME_LATER, NOTHING, WITHOUT_EFFECT, affecting
from sbnn.runs.settings import RunSettings, kind_of, merged

PACKAGE = Path(__file__).parents[1]
# In a wheel the configuration travels inside the package; in a checkout it is the top-level folder.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"
LARGEST_YAML = 100_000  # characters
BUDGETS = sorted(path.stem for path in (CONF / "budget").glob("*.yaml"))


def by_budget(table: DictConfig, *, _root_: DictConfig) -> object:
    """`${by_budget:{smoke:2,laptop:60,paper:300}}`: the sizes of a number, side by side in the yaml.

    A budget is named only where it differs from `laptop`.
    """
    value = table[_root_.budget if _root_.budget in table else "laptop"]
    return OmegaConf.create(value) if isinstance(value, list) else value


def results_folder(name: str | None, evaluated_on: str) -> str:
    """A run on validation data must not replace one on test data; without an experiment, the folder of all of them."""
    if name is None:
        return "."
    return name if evaluated_on == "test" else f"{name}_{evaluated_on}"


def one_folder(name: str) -> str:
    """A name made of overrides, of which one may be a path, for a folder that lies in no other."""
    return name.replace("/", "_")


OmegaConf.register_new_resolver("by_budget", by_budget, replace=True)
OmegaConf.register_new_resolver("results_folder", results_folder, replace=True)
OmegaConf.register_new_resolver("one_folder", one_folder, replace=True)
OmegaConf.register_new_resolver("keys_without_effect", lambda: ["experiment", *WITHOUT_EFFECT], replace=True)


def experiments() -> list[str]:
    return sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


def composed(*overrides: str) -> DictConfig:
    """A configuration as `sbnn-run` has it, or a sentence about the first override that cannot be used."""
    try:
        return _compose(overrides)
    except Exception as error:  # Hydra's, OmegaConf's and its grammar's, of many kinds
        groups_first = sorted(overrides, key=lambda one: not one.startswith(("experiment=", "budget=")))
        for last, override in enumerate(groups_first):
            try:
                _compose(groups_first[: last + 1])
            except Exception as own:
                raise ConfigError(_sentence(override, own)) from own
        raise ConfigError(_sentence(" ".join(overrides), error)) from error


def _compose(overrides: Sequence[str]) -> DictConfig:
    """Within a run of Hydra's, which knows the folder already, or without."""
    known = GlobalHydra.instance().is_initialized()
    with nullcontext() if known else initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def _sentence(override: str, error: Exception) -> str:
    """What Hydra and OmegaConf mean by their pages."""
    if group := re.search(r"Could not find '(\w+)/", str(error)):
        choices = sorted(path.stem for path in (CONF / group[1]).glob("*.yaml"))
        return f"{override} is unknown; choose one of {', '.join(choices)}."
    text = f"{error}\n{error.__cause__}"
    if (missing := re.search(r"full_key: (\S+)", text)) and "is not in struct" in text:
        if override.lstrip("+").startswith(f"{missing[1]}="):
            return f"{override} is not a key that exists."
        return f"{override} names {missing[1]}, which does not exist; write it as +{missing[1]}=VALUE if it should."
    reason = error.__cause__ if str(error).startswith("Error merging") and error.__cause__ else error
    return f"{override} cannot be used ({str(reason).splitlines()[0].rstrip('.')})."


def settings_of(cfg: DictConfig) -> RunSettings:
    """The checked settings of a composed configuration, or one sentence naming the first key that cannot be used."""
    values = _plain(cfg)
    name = values.get("name")
    if name in experiments() and "data" in values and _data(values) != _own_data(name):
        raise ConfigError(f"experiment={name} does not run on the data chosen; leave data= out.")
    return _checked(values)


def _data(values: dict) -> tuple[type[RunSettings], object]:
    """Which data a configuration chooses."""
    table = values["data"]
    return kind_of(values), table.get("collection") if isinstance(table, dict) else None


@cache
def _own_data(name: str) -> tuple[type[RunSettings], object]:
    return _data(_plain(composed(f"experiment={name}")))


def read_settings(path: Path) -> RunSettings:
    """The settings in the config.yaml of a finished run; keys without effect may have come since.

    It may be anybody's: nothing in it is resolved, and what could grow without end is refused.
    """
    text = path.read_text("utf-8")
    try:
        foreign = len(text) > LARGEST_YAML or any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text))
        values = None if foreign else yaml.safe_load(text)
    except yaml.YAMLError:
        values = None
    if not isinstance(values, dict) or values.get("name") not in experiments():
        raise SbnnError(f"{path} was not written by sbnn-run, or is damaged.")
    later = CAME_LATER | ({"data": {"seeds": 1}} if "collection" in (values.get("data") or {}) else {})
    today = settings_of(composed(f"experiment={values['name']}")).plain()
    return _checked(merged(later, affecting(today, [NOTHING]) | {"minutes": None} | values))


def _plain(cfg: DictConfig) -> dict:
    """Interpolations resolved, Hydra's own node left out."""
    if "budget" not in cfg:
        raise ConfigError("budget is missing; leave it at its default instead of deleting it.")
    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    try:
        return OmegaConf.to_container(ours, resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key} cannot be resolved ({str(error).splitlines()[0]}).") from error


def _checked(values: dict) -> RunSettings:
    if values.get("name") is None:
        raise ConfigError(f"No experiment was chosen; add experiment=NAME with one of {', '.join(experiments())}.")
    return checked(kind_of(values), values)


@cache
def default_settings(name: str, budget: str) -> RunSettings:
    """What an experiment's own yaml says at a budget."""
    return settings_of(composed(f"experiment={name}", f"budget={budget}"))
