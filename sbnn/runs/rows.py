"""The result contract: tidy, long rows with the same leading columns in every experiment."""

import math
import os
from pathlib import Path

import pandas as pd
from scipy import stats
from torch import Tensor

from sbnn.errors import SbnnError

COLUMNS = ["experiment", "dataset", "method", "recipe", "score", "droprate", "replicate", "metric", "value"]


class Rows:
    """Collects measurements. Columns that do not apply stay empty; an experiment's own settings come last."""

    def __init__(self, experiment: str, dataset: str | None = None):
        self.fixed = {"experiment": experiment} | ({} if dataset is None else {"dataset": dataset})
        self.frames: list[pd.DataFrame] = []

    def add(self, settings: list[dict[str, object]], metric: str, values: Tensor, **columns: object) -> None:
        """One value for each entry of `settings`, (R,); `columns` are the same for all of them."""
        frame = pd.DataFrame(settings).assign(
            **self.fixed, metric=metric, value=values.double().cpu().numpy(), **columns
        )
        self.frames.append(frame)

    def table(self) -> pd.DataFrame:
        rows = pd.concat(self.frames, ignore_index=True)
        own = [c for c in rows.columns if c not in COLUMNS]
        return rows.reindex(columns=[*COLUMNS, *own])


def read_rows(path: Path) -> pd.DataFrame:
    if not path.exists():
        raise SbnnError(f"{path} does not exist; train first with sbnn-run experiment={path.parent.name}.")
    rows = pd.read_csv(path)
    if missing := [c for c in COLUMNS if c not in rows.columns]:
        raise SbnnError(f"{path} lacks the columns {', '.join(missing)}; it was not written by sbnn-run.")
    return rows


def write_text(path: Path, text: str) -> None:
    """Whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def largest_droprate(curves: pd.DataFrame) -> pd.Series:
    """Up to where each line of a table with one column a droprate stays within 5 % of its full network's error."""
    within = curves.le(1.05 * curves[0.0], axis=0).cumprod(axis=1).astype(bool)
    return within.apply(lambda line: line.index[line].max(), axis=1)


def mean_and_error(rows: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Mean, standard error and number of replicates of `value`, per group."""
    groups = rows.groupby(by, sort=True, dropna=False)["value"]
    return groups.agg(mean="mean", se="sem", replicates="size").reset_index()


def paired(ours: pd.Series, other: pd.Series, test_over_train: float = 0.0) -> str:
    """Mean difference ± standard error of what was measured on the same data sets, and if it is beyond noise.

    `lower` and `higher` go by Student's two-sided 95 % bound; both series are indexed by data set. Random splits of one
    data set share most of their training rows: Nadeau and Bengio's standard error allows for that.
    """
    difference = (ours - other).dropna()
    if len(difference) < 2:
        return ""
    mean, se = difference.mean(), difference.std() * math.sqrt(1 / len(difference) + test_over_train)
    digits = 2 if se == 0 else max(0, 1 - math.floor(math.log10(se)))
    beyond = abs(mean) > stats.t.ppf(0.975, len(difference) - 1) * se
    word = "" if not beyond else ", lower" if mean < 0 else ", higher"
    return f"{mean:.{digits}f} ± {se:.{digits}f}{word}"


def as_markdown(table: pd.DataFrame) -> str:
    """A table of text for a page."""
    lines = [list(table.columns), ["---"] * len(table.columns), *table.map(_unbarred).to_numpy().tolist()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _unbarred(cell: str) -> str:
    return cell.replace("|", "\\|")
