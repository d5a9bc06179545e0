"""From yaml to settings: Hydra composes a configuration, `settings.py` checks it, and what leaves here is plain."""

from collections.abc import Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sbnn.checked import checked
from sbnn.errors import ConfigError
from sbnn.runs.keys import NOTHING, WITHOUT_EFFECT, affecting
from sbnn.runs.settings import RunSettings, kind_of

PACKAGE = Path(__file__).parents[1]
# In a wheel the configuration travels inside the package; in a checkout it is the top-level folder.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"
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


OmegaConf.register_new_resolver("by_budget", by_budget, replace=True)
OmegaConf.register_new_resolver("results_folder", results_folder, replace=True)
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
    if str(error).startswith("Could not override"):
        return f"{override} is not a key that exists."
    return f"{override} cannot be used ({str(error).splitlines()[0].rstrip('.')})."


def settings_of(cfg: DictConfig) -> RunSettings:
    """The checked settings of a composed configuration, or one sentence naming the first key that cannot be used."""
    values = _plain(cfg)
    name, kind = values.get("name"), kind_of(values)
    if name in experiments() and kind is not _kind(name):
        raise ConfigError(f"experiment={name} does not run on the data chosen; leave data= out.")
    return _checked(values)


@cache
def _kind(name: str) -> type[RunSettings]:
    """Of the data that an experiment's own yaml chooses."""
    return kind_of(_plain(composed(f"experiment={name}")))


def read_settings(path: Path) -> RunSettings:
    """The settings in the config.yaml of a finished run; keys without effect may have come since."""
    values = _plain(OmegaConf.load(path))
    today = settings_of(composed(f"experiment={values['name']}")).plain()
    return _checked(affecting(today, [NOTHING]) | {"minutes": None} | values)


def _plain(cfg: DictConfig) -> dict:
    """Interpolations resolved, Hydra's own node left out."""
    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    try:
        return OmegaConf.to_container(ours, resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key} cannot be resolved ({str(error).splitlines()[0]}).") from error


def _checked(values: dict) -> RunSettings:
    if values.get("name") is None:
        raise ConfigError(f"No experiment was chosen; add experiment=NAME with one of {', '.join(experiments())}.")
    return checked(kind_of(values), values)


def default_settings(name: str, budget: str) -> RunSettings:
    """What an experiment's own yaml says at a budget."""
    return settings_of(composed(f"experiment={name}", f"budget={budget}"))
