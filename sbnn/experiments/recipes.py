"""What to train: sBNN by our recipe, by those of the paper or all of them, and its rivals, each with its changes."""

from collections.abc import Callable, Iterable

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sbnn.errors import ConfigError
from sbnn.runs import settings as config

# What a recipe may change, and whose it may be.
CHANGEABLE = ("prior", "init", "likelihood", "trainer", "dropout", "finetune")
OF_THE_PAPER = ("paper", "set_1", "set_2")
RECIPES = ("tuned", *OF_THE_PAPER, "NN", "NN_Dr", "BbB", "finetune")


def recipes(cfg: DictConfig) -> list[tuple[str, str, DictConfig]]:
    """Method, name and configuration of everything to train: sBNN by one recipe or all, then its rivals."""
    there = ["tuned", *(name for name in OF_THE_PAPER if name in cfg.recipes)]
    chosen = [("sBNN", name) for name in there if cfg.recipe in ("all", name)]
    chosen += [(rival, rival) for rival in dict.fromkeys(cfg.rivals)]
    return [(method, name, changed(cfg, name)) for method, name in chosen]


def changed(cfg: DictConfig, name: str, table: str = "recipes") -> DictConfig:
    """The configuration with a recipe's changes, or a network's, which win over keys given on the command line."""
    try:
        return OmegaConf.merge(cfg, cfg[table].get(name, {}))
    except OmegaConfBaseException as error:
        raise ConfigError(f"{table}.{name} changes a key that does not exist ({error.key}).") from error


def check_recipes(cfg: DictConfig, also: Callable[[str, DictConfig], None]) -> None:
    """Every recipe that will be trained is a whole, valid configuration; `also` checks what the experiment asks."""
    check_changes(cfg, "recipes", RECIPES)
    if cfg.recipe in OF_THE_PAPER and cfg.recipe not in cfg.recipes:
        raise ConfigError(f"recipe={cfg.recipe} asks for recipes.{cfg.recipe}, which is not there; use recipe=tuned.")
    for method, recipe, own in recipes(cfg):
        try:
            config.check(own)
            also(method, own)
            if own.finetune:
                config.check(changed(own, "finetune"))
                also("NN", changed(own, "finetune"))
        except ConfigError as error:
            raise ConfigError(f"recipes.{recipe}: {error}") from error


def check_changes(cfg: DictConfig, table: str, names: Iterable[str]) -> None:
    """A table of changes by name holds such names, and changes what may be changed."""
    for name, changes in cfg[table].items():
        if name not in names or not OmegaConf.is_dict(changes) or not set(changes) <= set(CHANGEABLE):
            raise ConfigError(
                f"{table}.{name}={changes} must be one of {', '.join(names)} with changes to {', '.join(CHANGEABLE)}."
            )
