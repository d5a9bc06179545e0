"""What the reports of the simulated experiments share."""

import pandas as pd

from sbnn.report.statistics import mean_and_error

LABELS = {"D": "features D", "alpha": r"$\alpha$  ($\beta_j = j/\alpha$)", "active_share": "active share"}


def wide(rows: pd.DataFrame, index: list[str], columns: str) -> pd.DataFrame:
    """Mean and standard error side by side: one row per setting, two columns per metric or method."""
    summary = mean_and_error(rows, [*index, columns])
    table = summary.pivot_table(index=index, columns=columns, values=["mean", "se"], sort=False, dropna=False)
    table.columns = [name if kind == "mean" else f"{name}_se" for kind, name in table.columns]
    return table[sorted(table.columns)].reset_index()


def mean_test_error(rows: pd.DataFrame) -> float:
    """The test error over all settings and replicates."""
    return float(rows[rows.metric == "test_mse"]["value"].mean())
