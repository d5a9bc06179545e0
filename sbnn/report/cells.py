"""What the cells of a table hold: numbers that know how they are written, and are written only at the very end."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import pandas as pd

LOWER, HIGHER = "▼", "▲"


@dataclass(frozen=True)
class Published:
    """A figure and its spread, if there is one, with the decimals that were printed."""

    text: str
    spread: str = ""
    kind: ClassVar[str] = "number"

    @property
    def value(self) -> float:
        return float(self.text)

    @property
    def error(self) -> float:
        return float(self.spread or 0)

    @property
    def rounding(self) -> float:
        """Half of the last digit that was printed."""
        return 0.5 * 10 ** -len(self.text.partition(".")[2])

    def __str__(self) -> str:
        return f"{self.text} ± {self.spread}" if self.spread else self.text


@dataclass(frozen=True)
class Measured:
    """Our mean ± its standard error, NaN where there is none, and the published figure that it stands next to."""

    mean: float
    se: float = math.nan
    digits: int = 2
    published: Published | None = None
    more: bool = True  # a figure that needs more than two digits has a small error, which is given one more

    @property
    def sign(self) -> str:
        """▼ or ▲ if it differs from the published figure by more than noise and the rounding of print."""
        if self.published is None or not self.se > 0:
            return ""
        difference = self.mean - self.published.value
        if abs(difference) <= 2 * math.hypot(self.se, self.published.error) + self.published.rounding:
            return ""
        return LOWER if difference < 0 else HIGHER

    @property
    def kind(self) -> str:
        return {LOWER: "yes", HIGHER: "no"}.get(self.sign, "number")

    def __str__(self) -> str:
        if math.isnan(self.se):
            return f"{self.mean:.{self.digits}f}"
        more = self.more and self.digits > 2
        return f"{self.mean:.{self.digits}f} ± {self.se:.{self.digits + more}f}"


@dataclass(frozen=True)
class Difference:
    """Mean difference ± standard error of what was measured on the same data sets, and whether it is beyond noise."""

    mean: float
    se: float
    beyond_noise: bool
    kind: ClassVar[str] = "number"

    @property
    def is_lower(self) -> bool:
        return self.beyond_noise and self.mean < 0

    def __str__(self) -> str:
        digits = 2 if self.se == 0 else max(0, 1 - math.floor(math.log10(self.se)))
        word = "" if not self.beyond_noise else ", lower" if self.mean < 0 else ", higher"
        return f"{self.mean:.{digits}f} ± {self.se:.{digits}f}{word}"


@dataclass(frozen=True)
class Percent:
    """A share, written in per cent."""

    share: float
    kind: ClassVar[str] = "number"

    def __str__(self) -> str:
        return f"{100 * self.share:g} %"


@dataclass(frozen=True)
class Word:
    """A word that the page gives a colour."""

    text: str
    kind: str

    def __str__(self) -> str:
        return self.text


NOT_RUN = Word("not run", "open")


def written(cell: object) -> str:
    """A cell as a CSV file has it; one that is missing is empty."""
    if cell is None or cell is pd.NA:
        return ""
    if isinstance(cell, float):
        return "" if math.isnan(cell) else f"{cell:.4g}"
    return str(cell)


def shown(cell: object) -> str:
    """A cell as the page has it: with the sign of a difference from what was published."""
    return f"{written(cell)} {getattr(cell, 'sign', '')}".rstrip()


def kind_of(cell: object) -> str | None:
    """What the page styles a cell by: number, or yes, partly, no and open for colours; None for plain text."""
    return getattr(cell, "kind", "number" if isinstance(cell, Real) else None)


def as_csv(table: pd.DataFrame) -> str:
    return table.map(written).to_csv(index=False)
