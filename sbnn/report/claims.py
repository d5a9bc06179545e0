"""What a claim is, how it is judged from rows, and the table of verdicts."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from sbnn.report.statistics import student

# What the paper claims, the criterion each claim is held to, and where the settings come from that it is judged at:
#   stated    the paper gives what the verdict hangs on
#   chosen    on held-back data or other seeds, by another measure than the claim's own
#   searched  by the claim's own measure: the verdict says that some setting reproduces it
# `conclusion` is what a verdict other than `reproduced` comes to, in our reading of the tables and figures: settled,
# by an unstated setting or because it does not hold here, or open for want of computing.
# The criteria were fixed before the runs, except for those of 2c (raw y, by 2 s.e.), 4a-c (size on both sides, order by
# 2 s.e.) and 6d (by 2 s.e.), made stricter after a first one, and 9b, which for a while was not judged without the
# recipe paper. A second round, fixed before it was run, altered those with an `old_criterion`.
PAPER = pd.read_csv(Path(__file__).with_name("paper") / "claims.csv", dtype=str, keep_default_na=False)

COLUMNS = ["id", "experiment", "claim", "paper", "ours", "se", "criterion", "verdict", "budget"]
MORE = ["settings", "margin", "old_criterion", "old_verdict", "conclusion"]  # which older files lack
FAR = 10  # standard deviations: beyond them a margin has no number
REPRODUCED, PARTLY, NOT, NOT_RUN = "reproduced", "partly", "not reproduced", "not run"


@dataclass(frozen=True)
class Finding:
    """What the rows say about a claim: our figure, its standard error or errors, and which parts of the criterion hold.

    No parts at all means that the run left out what the claim is about. `margin` is by how much the limit nearest to
    our figure is met, or missed if negative, with `se` as its standard error. `margins` are those of every limit that
    is a number, in standard deviations over replicates.
    """

    ours: str
    se: float | list[float] | None
    holds: list[bool]
    unit: str = ""  # of the standard error
    margin: float | None = None
    replicates: int | None = None  # that the standard error is over, if they are data sets, splits or seeds
    margins: list[float] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Our figure, with a word of caution where other data could well have fallen on the other side of a limit."""
        if self.margin is None or not abs(self.margin) <= student(self.replicates) * self.se:
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


Judge = Callable[[Any], Finding]  # from an experiment's rows, or from what several left (`sbnn.report.across`)
LEFT_OUT = Finding("left out of this run", None, [])


def judge(
    experiment: str,
    judges: dict[str, Judge],
    rows: Any,
    budget: str,
    before: Mapping[str, Judge] | None = None,
) -> pd.DataFrame:
    """One line, of text, per claim that the paper makes in the experiment; `before` judges by altered criteria."""
    verdicts = PAPER[PAPER["experiment"] == experiment].copy()
    found, before = [judges[claim](rows) for claim in verdicts["id"]], before or {}
    verdicts["ours"] = [f.text for f in found]
    verdicts["se"] = [spelled(f.se, f.unit) for f in found]
    verdicts["verdict"] = [f.verdict for f in found]
    verdicts["margin"] = [signed(f.margins) for f in found]
    verdicts["old_verdict"] = [before[claim](rows).verdict if claim in before else "" for claim in verdicts["id"]]
    verdicts["conclusion"] = verdicts["conclusion"].where(verdicts["verdict"] != REPRODUCED, "")
    verdicts["budget"] = budget
    return verdicts[COLUMNS + MORE]


def signed(margins: list[float]) -> str:
    """Margins in standard deviations; a dash where a single replicate has none."""
    if all(map(math.isnan, margins)):
        return ""
    return " / ".join(map(deviations, margins))


def deviations(margin: float) -> str:
    """One decimal, or one digit where that would be a zero; far is far, and equal replicates have no deviation."""
    if math.isnan(margin):
        return "–"
    if abs(margin) > FAR:
        return f"> +{FAR}" if margin > 0 else f"< -{FAR}"
    return f"{margin:+.1f}" if abs(margin) >= 0.05 else f"{margin:+.1g}"


def least(margins: str) -> str:
    """The one of a claim's margins that says most: of the limit that is missed most, or met least."""
    known = [margin for margin in margins.split(" / ") if margin.strip("–")]
    return min(known, key=lambda margin: float(margin.lstrip("<> ")), default="")


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


def concluded(verdicts: pd.DataFrame) -> str:
    """A sentence on what the verdicts other than `reproduced` come to."""
    kinds = {
        "depend on a setting that the paper leaves open": "settled: depends",
        "do not hold here": "settled: does not",
        "need more computing": "open",
    }
    counts = {what: verdicts["conclusion"].str.startswith(kind).sum() for what, kind in kinds.items()}
    said = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    return f"Of those that are not reproduced, or only partly, {said}." if said else ""


def scoreboard(results: Path, known: Mapping[str, pd.DataFrame] | None = None) -> pd.DataFrame:
    """Every claim of the paper, as text: judged by the experiments in a folder, or not run.

    Verdicts that are `known` by the name of their experiment are not read.
    """
    known, names = known or {}, PAPER["experiment"].unique()
    found = pd.concat(known[name] if name in known else read(results / name / "claims.csv") for name in names)
    rest = PAPER[~PAPER["id"].isin(found["id"])].assign(verdict=NOT_RUN)
    return (
        pd.concat([found, rest.reindex(columns=COLUMNS + MORE, fill_value="")])
        .sort_values("id", kind="stable", key=lambda ids: ids.str.zfill(3))
        .reset_index(drop=True)
    )


def read(path: Path) -> pd.DataFrame:
    """An experiment's verdicts; none where it was not run, or not judged, or the file is damaged."""
    nothing = pd.DataFrame(columns=COLUMNS + MORE)
    try:
        found = pd.read_csv(path, dtype=str, keep_default_na=False) if path.exists() else nothing
    except ValueError:
        return nothing
    known = list(found)[: len(COLUMNS)] == COLUMNS
    is_ours = known and found["verdict"].isin([REPRODUCED, PARTLY, NOT, NOT_RUN]).all()
    return found.reindex(columns=COLUMNS + MORE, fill_value="") if is_ours else nothing
