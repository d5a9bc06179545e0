"""One experiment's results: its measurements, their circumstances and settings, and what the report makes of them."""

import json
from collections.abc import Iterable
from functools import cached_property
from io import StringIO
from pathlib import Path

import pandas as pd

from sbnn.report.base import Report
from sbnn.report.claims import judge
from sbnn.report.registry import report_of
from sbnn.runs.composition import read_settings
from sbnn.runs.rows import read_rows
from sbnn.runs.settings import RunSettings


class Results:
    """A folder's results. Each of its files is read when it is first asked for, and only then; so is what follows."""

    def __init__(self, folder: Path):
        self.folder = folder

    @classmethod
    def of_run(cls, folder: Path, rows: str, history: str, facts: dict, settings: RunSettings) -> "Results":
        """What a run has in memory: the texts of its rows.csv and history.csv, which round as the files would."""
        results = cls(folder)
        results.rows, results.history = pd.read_csv(StringIO(rows)), pd.read_csv(StringIO(history))
        results.facts, results.settings = facts, settings
        return results

    @cached_property
    def rows(self) -> pd.DataFrame:
        return read_rows(self.folder / "rows.csv")

    @cached_property
    def facts(self) -> dict:
        """The circumstances in run.json."""
        return json.loads((self.folder / "run.json").read_text())

    @cached_property
    def settings(self) -> RunSettings:
        return read_settings(self.folder / "config.yaml")

    @cached_property
    def history(self) -> pd.DataFrame | None:
        """How its fits went; results older than histories do not say."""
        path = self.folder / "history.csv"
        return pd.read_csv(path) if path.exists() else None

    @property
    def report(self) -> Report:
        return report_of(self.facts["experiment"])

    @property
    def on_test_data(self) -> bool:
        return self.facts.get("measured_on", "test") == "test"

    @property
    def is_smoke(self) -> bool:
        return self.facts["budget"].startswith("smoke")

    @property
    def is_judged(self) -> bool:
        """Settings are chosen on validation data; claims are judged on test data, and never by a smoke run."""
        return self.on_test_data and not self.is_smoke and bool(self.report.claims)

    @cached_property
    def tables(self) -> dict[str, pd.DataFrame]:
        return self.report.tables(self.rows_and(self.report.tabled))

    @cached_property
    def verdicts(self) -> pd.DataFrame:
        report, rows = self.report, self.rows_and(self.report.studies)
        return judge(self.facts["experiment"], report.claims, rows, self.facts["budget"], report.claims_before)

    def rows_and(self, studies: Iterable[str]) -> pd.DataFrame:
        """Its rows, and those of studies next to its folder, of any that was run."""
        paths = [path for study in studies for path in (self.folder.parent / study).glob("rows.csv*")]
        return pd.concat([self.rows, *map(pd.read_csv, paths)])

    @property
    def headline(self) -> float:
        return float(self.report.headline(self.rows))

    @property
    def errors_by_droprate(self) -> dict[str, float]:
        return self.report.errors_by_droprate(self.rows)


def study_rows(folder: Path) -> pd.DataFrame | None:
    """Of what is measured beside the experiments, if it was."""
    path = next(folder.glob("rows.csv*"), None)  # which may be compressed
    return None if path is None else pd.read_csv(path)
