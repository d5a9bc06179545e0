"""What a page is made of, however it is rendered. Texts mark `code`, *stress* and [name](link) as Markdown does."""

from dataclasses import dataclass

import pandas as pd

LONG = 130  # lines: a longer table is linked to, not shown
COLUMNS = ["id", "verdict", "claim", "paper", "ours", "margin"]  # of the scoreboard


@dataclass(frozen=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Complaint(Text):
    """What cannot be read; whoever writes the page is told so as well."""

    @classmethod
    def of(cls, what: str, error: Exception) -> "Complaint":
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        return cls(f"{what} cannot be read ({reason}); run it again.")


@dataclass(frozen=True)
class Bullets:
    items: list[str]


@dataclass(frozen=True)
class Command:
    text: str


@dataclass(frozen=True)
class Table:
    frame: pd.DataFrame  # of numbers, text and sbnn.report.cells
    caption: str
    path: str | None = None  # of the CSV, relative to the page

    @property
    def is_long(self) -> bool:
        return len(self.frame) > LONG


@dataclass(frozen=True)
class Picture:
    path: str  # relative to the page
    caption: str
    dark: str | None = None  # the same for dark screens, where the first is for light ones only


@dataclass(frozen=True)
class Plot:
    """Interactive curves of error by what is left of the weights; only a browser can show them."""

    data: dict
    caption: str


@dataclass(frozen=True)
class Counts:
    """How many claims have each verdict, as a bar."""

    verdicts: pd.DataFrame


@dataclass(frozen=True)
class Scoreboard:
    """A line for every claim."""

    verdicts: pd.DataFrame
    titles: dict[str, str]  # of the experiments


@dataclass(frozen=True)
class Fold:
    """What a browser shows on request."""

    summary: str
    blocks: list["Block"]
    linked: bool = False  # pictures, which Markdown links to instead


Block = Heading | Text | Bullets | Command | Table | Picture | Plot | Counts | Scoreboard | Fold
