"""What to train: sBNN by our recipe, by those of the paper or all of them, and its rivals, each with its changes."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from sbnn.checked import plainly
from sbnn.errors import ConfigError
from sbnn.model.methods import METHODS, NN, SBNN, Method
from sbnn.runs.keys import is_below, leaves
from sbnn.runs.settings import RECIPES, RunSettings
from sbnn.training.masking import check_masking

S = TypeVar("S", bound=RunSettings)

# What a recipe may change, and whose it may be.
CHANGEABLE = ("prior", "init", "likelihood", "trainer", "dropout", "prune_gradually", "finetune", "data.seeds")
TUNED, GRADUAL, *OF_THE_PAPER = RECIPES
FINETUNE = "finetune"  # what is left after pruning, trained on
OURS = "ours"  # a rival's recipe, in rows


def recipes(settings: S) -> list[tuple[Method, str, S]]:
    """Method, name and settings of everything to train: sBNN by one recipe or all, then its rivals.

    A network that is pruned while it is trained is one of its own for every droprate. The gradual recipe of sBNN and
    some rivals are nothing else; another recipe has such networks besides its own if it names their droprates.
    """
    there = [TUNED, *(name for name in RECIPES[1:] if name in settings.recipes)]
    chosen = [(SBNN, name) for name in there if settings.recipe in ("all", name)]
    chosen += [(METHODS[rival], rival) for rival in dict.fromkeys(settings.rivals)]
    found = []
    for method, name in chosen:
        own, only = changed(settings, name), name == GRADUAL or method.comeback is not None
        asked = only or "prune_gradually" in (settings.recipes.get(name) or {})
        found += [] if only else [(method, name, own)]
        found += [(method, name, pruned_to(droprate, method, own)) for droprate in own.prune_gradually if asked]
    return found


def pruned_to(droprate: float, method: Method, settings: S) -> S:
    """The settings of a network that loses so many of its weights while it is trained."""
    growth = {} if method.comeback is None else {"gradual": {"comeback": method.comeback}}
    return settings.changed({"trainer": {"prune_to": droprate, **growth}, "finetune": []})


def pruned(settings: RunSettings) -> list[str]:
    """What the name of a network says of being pruned while it is trained; nothing, if it is not."""
    return [] if settings.trainer.prune_to is None else [f"to {settings.trainer.prune_to:g}"]


def changed(settings: S, name: str, table: str = "recipes") -> S:
    """The settings with a recipe's changes, or a network's, which win over keys given on the command line."""
    try:
        return settings.changed(getattr(settings, table).get(name) or {})
    except ConfigError as error:
        raise ConfigError(f"{table}.{name}: {error}") from error


def check_recipes(settings: S, also: Callable[[Method, S], None]) -> None:
    """Every recipe that will be trained is a whole, valid configuration; `also` checks what the experiment asks."""
    rivals = [method.name for method in METHODS.values() if method.is_rival]
    check_changes(settings, "recipes", [*RECIPES, *rivals, FINETUNE])
    if settings.recipe in RECIPES[1:] and settings.recipe not in settings.recipes:
        recipe = settings.recipe
        raise ConfigError(f"recipe={recipe} asks for recipes.{recipe}, which is not there; use recipe={TUNED}.")
    for method, recipe, own in recipes(settings):
        try:
            check_masking(own.trainer, method.posterior)
            also(method, own)
            if own.finetune:
                also(NN, changed(own, FINETUNE))
        except ConfigError as error:
            if recipe not in settings.recipes or str(error).startswith("recipes."):
                raise
            raise ConfigError(f"recipes.{recipe}: {error}") from error


def check_changes(settings: RunSettings, table: str, names: Iterable[str]) -> None:
    """A table of changes by name holds such names, and changes what may be changed."""
    changeable = CHANGEABLE if table == "recipes" else (*CHANGEABLE, "recipes")
    for name, changes in getattr(settings, table).items():
        if name not in names:
            raise ConfigError(f"{table}.{name} is unknown; choose one of {', '.join(names)}.")
        for key, value in leaves(changes):
            if not is_below(key, changeable):
                written = f"{table}.{name}.{key}={plainly(value)}"
                raise ConfigError(f"{written} cannot be changed there; only {', '.join(changeable)} can.")
