"""What is left when whole units go instead of single weights, next to what structured rivals have published."""

import pandas as pd

from sbnn.report.cells import Published
from sbnn.report.compression import PUBLISHED, TITLES
from sbnn.report.image_curves import cell, curves, in_order
from sbnn.report.names import called

SHOWN = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99)
RANKED_BY = {"inclusion": "relevance", "saliency": "saliency"}


def units(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors, and how many inputs and units of every layer lie on an active path: means over seeds."""
    lines = []
    for network in [n for n in TITLES if n in set(rows.network)]:
        for p in PUBLISHED[(PUBLISHED.network == network) & PUBLISHED.units.notna()].itertuples():
            lines.append([TITLES[network], p.method, p.kind, p.sparsity, p.units, Published(f"{p.error:.2f}"), None])
        mine = rows[(rows.network == network) & rows.droprate.isin(SHOWN)]
        kept, counts = (mine[mine.metric == metric] for metric in ("unit_kept", "units"))
        for _, row in in_order(curves(mine, "unit_error")).iterrows():
            alike = ["recipe", "score", "droprate"]
            left, widths = (own[(own[alike] == row[alike]).all(axis=1)] for own in (kept, counts))
            by_layer = widths.groupby(widths.layer.astype(int)).value.mean()
            line = [TITLES[network], called(row.method, row.recipe), f"by {RANKED_BY[row.score]}"]
            removed = round(100 * (1 - left.value.mean()), 1)
            lines.append([*line, removed, "-".join(f"{n:.0f}" for n in by_layer), cell(row), row.epochs])
    columns = ["network", "method", "units go", "weights removed %", "units left", "error %", "epochs"]
    return pd.DataFrame(lines, columns=columns).astype({"epochs": "Int64"})
