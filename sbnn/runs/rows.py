"""The result contract: tidy, long rows with the same leading columns in every experiment."""

from pathlib import Path

import pandas as pd
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
    try:
        rows = pd.read_csv(path)
    except ValueError as error:  # pandas's own, and those of the encoding
        raise SbnnError(f"{path} cannot be read ({str(error).splitlines()[0]}); train again.") from error
    if missing := [c for c in COLUMNS if c not in rows.columns]:
        raise SbnnError(f"{path} lacks the columns {', '.join(missing)}; it was not written by sbnn-run.")
    return rows
