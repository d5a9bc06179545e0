"""A table of results as people read it: ± instead of columns of errors, words instead of names of columns."""

import math
import re

import pandas as pd

from sbnn.report.cells import Measured, written
from sbnn.report.page.words import WORDS

OTHERS = {"mean": "se"}  # every other column has its standard error in one of its own name and _se


def readable(frame: pd.DataFrame) -> pd.DataFrame:
    """Means with their errors in one column; no empty column; headings and cells in words."""
    table = frame.copy()
    for column in list(table):
        error = OTHERS.get(column, f"{column}_se")
        if error in table:
            table[column] = [pair(*cells) for cells in zip(table[column], table[error], strict=True)]
            table = table.drop(columns=error)
    table = table.loc[:, [not all(written(cell) == "" for cell in table[column]) for column in table]]
    return table.map(lambda cell: words(cell) if isinstance(cell, str) else cell).rename(columns=heading)


def pair(mean: float, se: float) -> object:
    """A mean to the digits that its standard error allows."""
    if pd.isna(mean) or pd.isna(se):
        return mean
    digits = 2 if se == 0 else max(0, 1 - math.floor(math.log10(se)))
    return Measured(mean, se, digits, more=False)


def heading(name: str) -> str:
    known = WORDS["columns"]
    return known.get(name) or re.sub(r"(?<=\w)_(?=\w)", " ", name)


def words(text: str) -> str:
    """A name of a configuration, such as crop_and_flip, in words; methods keep theirs."""
    return WORDS["names"].get(text) or (
        text.replace("_", " ") if re.fullmatch(r"[a-z0-9]+(_[a-z0-9]+)+", text) else text
    )
