"""What a claim is, how it is judged from rows, and the table of verdicts."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# What the paper claims, and the criterion each claim is held to. The criteria were fixed before the runs, but for
# those of 2c (raw y, by 2 s.e.), 4a-c (size on both sides, order by 2 s.e.) and 6d (by 2 s.e.), made stricter after a
# first one, and 9b, which for a while was not judged without the recipe paper.
PAPER = pd.read_csv(Path(__file__).with_name("paper") / "claims.csv")

COLUMNS = ["id", "experiment", "claim", "paper", "ours", "se", "criterion", "verdict", "budget"]
REPRODUCED, PARTLY, NOT, NOT_RUN = "reproduced", "partly", "not reproduced", "not run"


@dataclass(frozen=True)
class Finding:
    """What the rows say about a claim: our figure, its standard error or errors, and which parts of the criterion hold.

    No parts at all means that the run left out what the claim is about. `margin` is by how much the limit nearest to
    our figure is met, or missed if negative, with `se` as its standard error.
    """

    ours: str
    se: float | list[float] | None
    holds: list[bool]
    unit: str = ""  # of the standard error
    margin: float | None = None

    @property
    def text(self) -> str:
        """Our figure, with a word of caution where other data could well have fallen on the other side of a limit."""
        if self.margin is None or not abs(self.margin) <= 2 * self.se:
            return self.ours
        side = "missed" if self.margin < 0 else "met"
        return f"{self.ours}; the nearest limit is {side} by {abs(self.margin):.2g}{self.unit}, within noise"

    @property
    def verdict(self) -> str:
        if not self.holds:
            return NOT_RUN
        if all(self.holds):
            return REPRODUCED
        return PARTLY if any(self.holds) else NOT


LEFT_OUT = Finding("left out of this run", None, [])


def judge(
    experiment: str, judges: dict[str, Callable[[pd.DataFrame], Finding]], rows: pd.DataFrame, budget: str
) -> pd.DataFrame:
    """One line per claim that the paper makes in the experiment."""
    verdicts = PAPER[PAPER["experiment"] == experiment].copy()
    found = [judges[claim](rows) for claim in verdicts["id"]]
    verdicts["ours"] = [f.text for f in found]
    verdicts["se"] = [spelled(f.se, f.unit) for f in found]
    verdicts["verdict"] = [f.verdict for f in found]
    verdicts["budget"] = budget
    return verdicts[COLUMNS]


def spelled(se: float | list[float] | None, unit: str = "") -> str:
    if isinstance(se, list):
        return " / ".join(map(spelled, se)) + unit
    return "" if se is None or math.isnan(se) else f"{se:.2g}{unit}"


def within(difference: float, se: float) -> str:
    return ", within noise of each other" if abs(difference) <= 2 * se else ""


def counted(verdicts: pd.DataFrame) -> str:
    """How many claims have each verdict."""
    count = verdicts["verdict"].value_counts()
    kinds = ", ".join(f"{count.get(kind, 0)} {kind}" for kind in (REPRODUCED, PARTLY, NOT, NOT_RUN))
    return f"Of {len(verdicts)} claims: {kinds}."


def scoreboard(results: Path) -> pd.DataFrame:
    """Every claim of the paper, as text: judged by the experiments in a folder, or not run."""
    found = [results / name / "claims.csv" for name in PAPER["experiment"].unique()]
    judged = [pd.read_csv(path, dtype=str, keep_default_na=False) for path in found if path.exists()]
    known = pd.concat(judged) if judged else pd.DataFrame(columns=COLUMNS)
    rest = PAPER[~PAPER["id"].isin(known["id"])].assign(ours="", se="", verdict=NOT_RUN, budget="")
    return pd.concat([known, rest[COLUMNS]]).sort_values("id", kind="stable").reset_index(drop=True)
