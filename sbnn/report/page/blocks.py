"""What a page is made of, however it is rendered. Texts mark `code`, *stress* and [name](link) as Markdown does."""

from dataclasses import dataclass

import pandas as pd

LONG = 70  # lines: a longer table is folded, or linked to


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Bullets:
    items: list[str]


@dataclass(frozen=True)
class Command:
    text: str


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame  # of numbers, text and sbnn.report.cells
    caption: str = ""
    path: str | None = None  # of the CSV, relative to the page

    @property
    def is_long(self) -> bool:
        return len(self.frame) > LONG


@dataclass(frozen=True)
class Picture:
    path: str  # relative to the page
    caption: str


@dataclass(frozen=True)
class Plot:
    """An interactive error-by-droprate curve; only a browser can show it."""

    data: dict


Block = Heading | Text | Bullets | Command | Table | Picture | Plot
