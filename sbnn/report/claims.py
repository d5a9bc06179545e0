"""What a claim is, how it is judged from rows, and the table of verdicts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

# What the paper claims, and the criterion each claim is held to. The criteria were fixed before the runs, except for
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


Judge = Callable[[pd.DataFrame], Finding]
LEFT_OUT = Finding("left out of this run", None, [])


def judge(experiment: str, judges: dict[str, Judge], rows: pd.DataFrame, budget: str) -> pd.DataFrame:
    """One line, of text, per claim that the paper makes in the experiment."""
    verdicts = PAPER[PAPER["experiment"] == experiment].copy()
    found = [judges[claim](rows) for claim in verdicts["id"]]
    verdicts["ours"] = [f.text for f in found]
    verdicts["se"] = [spelled(f.se, f.unit) for f in found]
    verdicts["verdict"] = [f.verdict for f in found]
    verdicts["budget"] = budget
    return verdicts[COLUMNS]


def spelled(se: float | list[float] | None, unit: str = "") -> str:
    """A standard error, or several, in two digits each; empty where there is none."""
    if isinstance(se, list):
        return " / ".join(map(spelled, se)) + unit
    return "" if se is None or math.isnan(se) else f"{se:.2g}{unit}"


def within(difference: float, se: float) -> str:
    """What to add to two figures whose difference is no more than noise."""
    return ", within noise of each other" if abs(difference) <= 2 * se else ""


def counted(verdicts: pd.DataFrame, of: str = "") -> str:
    """A sentence that says how many claims have each verdict."""
    count = verdicts["verdict"].value_counts()
    kinds = ", ".join(f"{count[kind]} {kind}" for kind in (REPRODUCED, PARTLY, NOT, NOT_RUN) if kind in count)
    return f"Of {of}{len(verdicts)} claims: {kinds}."


def scoreboard(results: Path, known: Mapping[str, pd.DataFrame] | None = None) -> pd.DataFrame:
    """Every claim of the paper, as text: judged by the experiments in a folder, or not run.

    Verdicts that are `known` by the name of their experiment are not read.
    """
    known, names = known or {}, PAPER["experiment"].unique()
    found = pd.concat(known[name] if name in known else read(results / name / "claims.csv") for name in names)
    rest = PAPER[~PAPER["id"].isin(found["id"])].assign(ours="", se="", verdict=NOT_RUN, budget="")
    return pd.concat([found, rest[COLUMNS]]).sort_values("id", kind="stable").reset_index(drop=True)


def read(path: Path) -> pd.DataFrame:
    """An experiment's verdicts; none where it was not run, or not judged, or the file is damaged."""
    nothing = pd.DataFrame(columns=COLUMNS)
    try:
        found = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else nothing
    except ValueError:
        return nothing
    is_ours = list(found) == COLUMNS and found["verdict"].isin([REPRODUCED, PARTLY, NOT, NOT_RUN]).all()
    return found if is_ours else nothing
