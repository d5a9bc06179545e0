"""What every experiment's report offers."""

from abc import ABC, abstractmethod
from typing import ClassVar

import pandas as pd
from matplotlib.figure import Figure

from sbnn.model.methods import SBNN
from sbnn.report.claims import Judge


class Report(ABC):
    """Everything that is made of one experiment's rows. Its module, named like the experiment, holds it as `REPORT`."""

    # By the ids in paper/claims.csv: how each of the experiment's claims is judged from its rows.
    claims: ClassVar[dict[str, Judge]]
    # And how those were judged before whose criterion the second round altered.
    claims_before: ClassVar[dict[str, Judge]] = {}
    # Folders of studies beside the experiment's own whose rows its judges see too.
    studies: ClassVar[tuple[str, ...]] = ()
    # And of those whose rows its tables see too.
    tabled: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def tables(self, rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
        """Tables by file name, of numbers, text and `sbnn.report.cells`."""

    @abstractmethod
    def figures(self, rows: pd.DataFrame) -> dict[str, Figure]:
        """Figures by file name."""

    @abstractmethod
    def headline(self, rows: pd.DataFrame) -> float:
        """One number for a sweeper to bring down."""

    def error(self, rows: pd.DataFrame) -> float:
        """The error of networks that are pruned alike, where the headline is something else."""
        return self.headline(rows)

    def curve(self, rows: pd.DataFrame) -> dict | None:
        """Data of the page's interactive plot (see `sbnn.report.interactive`); None where nothing is pruned."""
        return None

    def trained(self, rows: pd.DataFrame) -> str:
        """For captions: how many seeds and epochs the curves are of, where settings and figures do not say it."""
        return ""

    def closing(self, rows: pd.DataFrame) -> pd.DataFrame | None:
        """The table that a run ends with, where there is one that fits a screen."""
        return None

    def errors_by_droprate(self, rows: pd.DataFrame) -> dict[str, float]:
        """Where weights are pruned: the error of what is left of the network at three droprates."""
        own = rows[(rows.method == SBNN.name) & (rows.score == SBNN.score)]
        pruned = {droprate: own[own.droprate == droprate].assign(droprate=0.0) for droprate in (0.0, 0.5, 0.9)}
        return {f"error@{d:g}": float(self.error(left)) for d, left in pruned.items() if len(left)}
