"""What a claim is, how it is judged from rows, and the table of verdicts."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from sbnn.report.rows import write_text

# What the paper claims, and the criterion each claim is held to. The criteria were fixed before the runs, but for
# those of 2c (raw y, by 2 s.e.) and 4a-c (size on both sides, order by 2 s.e.), made stricter after a first one.
PAPER = pd.read_csv(Path(__file__).with_name("paper_claims.csv"))

REPRODUCED, PARTLY, NOT, NOT_RUN = "reproduced", "partly", "not reproduced", "not run"


@dataclass(frozen=True)
class Finding:
    """What the rows say about a claim: our figure, its standard error, and which parts of the criterion hold.

    No parts at all means that the run left out what the claim is about.
    """

    ours: str
    se: float | None
    holds: list[bool]

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
    verdicts["ours"] = [f.ours for f in found]
    verdicts["se"] = ["" if f.se is None else f"{f.se:.2g}" for f in found]
    verdicts["verdict"] = [f.verdict for f in found]
    verdicts["budget"] = budget
    return verdicts[["id", "experiment", "claim", "paper", "ours", "se", "criterion", "verdict", "budget"]]


def update(path: Path, verdicts: pd.DataFrame) -> None:
    """Put an experiment's verdicts in the place of its earlier ones."""
    if path.exists():
        known = pd.read_csv(path, dtype=str, keep_default_na=False)
        verdicts = pd.concat([known[~known["experiment"].isin(verdicts["experiment"])], verdicts])
    text = io.StringIO()
    verdicts.sort_values("id", kind="stable").to_csv(text, index=False)
    write_text(path, text.getvalue())


def markdown(path: Path) -> str:
    """The table of verdicts for a page."""
    verdicts = pd.read_csv(path, dtype=str, keep_default_na=False)
    lines = ["| | claim | paper | ours | verdict |", "|---|---|---|---|---|"]
    for v in verdicts.itertuples():
        ours = f"{v.ours} (s.e. {v.se})" if v.se else v.ours
        lines.append(f"| {v.id} | {v.claim} | {v.paper} | {ours} | {v.verdict} |")
    return "\n".join(lines)
