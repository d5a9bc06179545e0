"""How a network gets worse as more of its weights are set to zero."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Curve:
    """One row for each score and droprate: `droprate, score, error, nll` and `ece` or `coverage`."""

    rows: list[dict[str, Any]]
    error_name: str = "error"

    def column(self, name: str, score: str) -> list[float]:
        return [row[name] for row in self.rows if row["score"] == score]

    @property
    def scores(self) -> list[str]:
        return list(dict.fromkeys(row["score"] for row in self.rows))

    def frame(self) -> Any:
        """As a pandas table."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def plot(self, ax: Any = None) -> Any:
        """Error against the weights left, one line a score, on matplotlib axes, which are returned."""
        import matplotlib.pyplot as plt

        ax = ax or plt.subplots(figsize=(5, 3.5), layout="constrained")[1]
        for score in self.scores:
            left = [100 * (1 - droprate) for droprate in self.column("droprate", score)]
            ax.plot(left, self.column("error", score), marker="o", markersize=3, label=score)
        ax.set(xscale="log", xlabel="weights left in %", ylabel=self.error_name)
        ax.invert_xaxis()
        ax.legend(frameon=False)
        return ax

    def __str__(self) -> str:
        names = list(self.rows[0])
        cells = [
            [f"{row[name]:.4g}" if isinstance(row[name], float) else str(row[name]) for name in names]
            for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(names, *cells, strict=True)]
        return "\n".join(
            "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)) for line in [names, *cells]
        )


def largest_droprate(droprates: Sequence[float], error: Callable[[float], float], tolerance: float) -> float:
    """The largest of rising droprates up to which the error stays within (1 + tolerance) times the full network's."""
    allowed, last = error(0.0) * (1 + tolerance), 0.0
    for droprate in droprates:
        if error(droprate) > allowed:
            break
        last = droprate
    return last
