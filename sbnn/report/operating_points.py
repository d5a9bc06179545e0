"""Where to stop pruning without a droprate: what each threshold keeps, and what it costs."""

import pandas as pd

THRESHOLDS = {"evidence": "evidence > 0", "snr": "log alpha < 3", "inclusion": "p > 1/2", "gate": "P(open) > 1/2"}


def operating_points(rows: pd.DataFrame, network: list[str], error: str) -> pd.DataFrame:
    """What is kept of every network, by its columns, its error and the full network's: means over replicates."""
    index = [column for column in network if column in rows]
    chosen = rows[rows.metric.isin([f"chosen_{error}", "chosen_kept"])]
    table = chosen.pivot_table(index=[*index, "score"], columns="metric", values="value", sort=False).reset_index()
    full = rows[(rows.metric == error) & (rows.droprate == 0)].groupby(index, sort=False).value.mean()
    table = table.merge(full.rename("full").reset_index(), on=index)
    found = table[index].assign(threshold=table.score.map(THRESHOLDS), **{"kept %": 100 * table.chosen_kept})
    return found.assign(**{error: table[f"chosen_{error}"], f"{error} of the full network": table.full})
