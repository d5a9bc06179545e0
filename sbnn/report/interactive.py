"""Error by what is left of the weights, as data for the page's interactive plot."""

from collections.abc import Callable, Iterable, Iterator

import pandas as pd

from sbnn.model.methods import SBNN
from sbnn.report.names import called
from sbnn.report.statistics import times
from sbnn.report.style import DASHES, INK, THEMED, look

DASH = {"-": "", "--": "6 4", ":": "2 3", "-.": "6 3 2 3"}  # matplotlib's, in SVG
SHOWN = 6  # at first: the paper's curves, ours, and rivals as far as there is place
PRINT, IN_TRAINING = "1 4", "10 3"  # of the paper's curves, and of networks that were pruned while they were trained


def plot(
    summary: pd.DataFrame,
    by: list[str],
    unit: str,
    title: Callable[[pd.Series], str],
    papers: Callable[[pd.Series], Iterable[dict]] = lambda panel: (),
    of: str = "seed",
) -> dict:
    """Panels of series with x (droprate), y and its standard error.

    `by` are the columns that tell one panel from the next; from a panel's first line `title` says what it is of, and
    `papers` what the paper prints for the same network. Curves are means over what `of` says.
    """
    panels = [
        {"title": title(panel.iloc[0]), "series": [*ours(panel, of), *papers(panel.iloc[0])]}
        for _, panel in summary.groupby(by, sort=False)
    ]
    return {
        "unit": unit,
        "panels": panels,
        "first": list(dict.fromkeys(name for panel in panels for name in first(panel["series"]))),
    }


def first(series: list[dict]) -> list[str]:
    """The curves of a panel that are shown at first: the paper's and ours, then rivals, pruned in training first."""
    names = dict.fromkeys(one["method"] for one in series if one["ours"] is not False)
    late = sorted(series, key=lambda one: one["dash"] != IN_TRAINING)
    return list(names | dict.fromkeys(one["method"] for one in late))[: max(SHOWN, len(names))]


def ours(panel: pd.DataFrame, of: str) -> Iterator[dict]:
    """A series for every method, recipe and score of a panel; those pruned in training are of one score only."""
    gradual = panel.metric.str.startswith("gradual") if "metric" in panel else pd.Series(False, panel.index)
    by = ["method", "recipe", gradual.rename("gradual"), "score"]
    for (method, recipe, in_training, score), curve in panel.groupby(by, sort=False, dropna=False):
        colour, _ = look(method, recipe)
        name = called(method, recipe) + (", pruned in training" if in_training else "")
        found = {
            "method": name,
            "ours": method == SBNN.name,
            "note": times(curve, of),
            "colour": THEMED.get(colour, colour),
        }
        style = {"score": None, "dash": IN_TRAINING} if in_training else {"score": score, "dash": DASH[DASHES[score]]}
        yield found | style | {"points": points(curve.droprate, curve["mean"], curve.se)}


def printed(name: str, droprates: Iterable[float], errors: Iterable[float]) -> dict:
    """A series of the paper's; a second one of a panel is told apart by the page."""
    style = {"colour": THEMED[INK], "score": None, "dash": PRINT}
    return {"method": name, "ours": None, "note": "printed"} | style | {"points": points(droprates, errors)}


def points(x: Iterable[float], y: Iterable[float], se: Iterable[float] | None = None) -> list[list]:
    """What is left of the weights in per cent, the error and its standard error; nothing where no weight is left."""
    x = list(x)
    errors = [None] * len(x) if se is None else [None if pd.isna(e) else float(f"{e:.4g}") for e in se]
    lines = zip(x, y, errors, strict=True)
    return [[float(f"{100 * (1 - droprate):.6g}"), float(f"{b:.5g}"), e] for droprate, b, e in lines if droprate < 1]
