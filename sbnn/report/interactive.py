"""Error by droprate of an experiment that prunes, as data for the page's interactive plot."""

from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from sbnn.report.names import called
from sbnn.report.style import look

PRINT = "currentColor"  # the paper's own numbers: black on white, white on black


def plot(
    summary: pd.DataFrame,
    by: list[str],
    unit: str,
    title: Callable[[pd.Series], str],
    papers: Callable[[pd.Series], Iterable[dict]] = lambda panel: (),
) -> dict:
    """Panels of series with x (droprate), y and its standard error.

    `by` are the columns that tell one panel from the next; from a panel's first line `title` says what it is of, and
    `papers` what the paper prints for the same network.
    """
    panels = [
        {"title": title(panel.iloc[0]), "series": [*ours(panel), *papers(panel.iloc[0])]}
        for _, panel in summary.groupby(by, sort=False)
    ]
    return {"unit": unit, "panels": panels}


def ours(panel: pd.DataFrame) -> Iterator[dict]:
    """A series for every method, recipe and score of a panel."""
    for (method, recipe, score), curve in panel.groupby(["method", "recipe", "score"], sort=False, dropna=False):
        epochs = f", {curve.epochs.iloc[0]} epochs" if "epochs" in curve else ""
        colour, _ = look(method, recipe)
        yield series(called(method, recipe) + epochs, score, colour, curve.droprate, curve["mean"], curve.se)


def printed(name: str, droprates: Iterable[float], errors: Iterable[float]) -> dict:
    """A series of the paper's."""
    return series(name, None, PRINT, droprates, errors)


def series(
    name: str,
    score: str | None,
    colour: str,
    x: Iterable[float],
    y: Iterable[float],
    se: Iterable[float] | None = None,
) -> dict:
    """One line of a panel; `score` is None for what was printed."""
    x = list(x)
    errors = [None] * len(x) if se is None else [None if pd.isna(e) else float(f"{e:.4g}") for e in se]
    points = [[float(a), float(f"{b:.5g}"), e] for a, b, e in zip(x, y, errors, strict=True)]
    return {"method": name, "score": score, "colour": colour, "points": points}
