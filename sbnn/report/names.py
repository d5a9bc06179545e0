"""What methods and recipes are called in print, and the order in which tables have them."""

import pandas as pd

from sbnn.model.methods import METHODS

# Recipes of the paper's method; a rival has one only, which goes without a name.
RECIPES = {"tuned": "tuned", "gradual": "gradual", "paper": "as stated", "set_1": "set 1", "set_2": "set 2"}


def called(method: str, recipe: str) -> str:
    """A method by recipe; both as rows have them."""
    label = METHODS[method].label
    return f"{label} {RECIPES[recipe]}" if recipe in RECIPES else label


def order(method: str, recipe: str) -> tuple[int, int]:
    """A key that sorts methods as in their table, then recipes."""
    return list(METHODS).index(method), list(RECIPES).index(recipe) if recipe in RECIPES else 0


def by_own_score(found: pd.DataFrame) -> pd.DataFrame:
    """Only the lines in which a method's weights are ranked by its own score."""
    return found[found.score == found.method.map({name: method.score for name, method in METHODS.items()})]
