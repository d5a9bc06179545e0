"""How the fits of a run went: history.csv, its figure and, if wanted, the same for TensorBoard."""

import importlib.util
import time
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from sbnn.errors import ConfigError
from sbnn.report.style import OKABE_ITO, panels, plain_ticks
from sbnn.report.workload import FINETUNE
from sbnn.training.history import COLUMNS, MEASURES, History

DRAWN = 5  # fits, which is as many lines as can be told apart
PANELS = {"loss": "loss", "error": "training error", "included": "share with p > 1/2"}


def table_of(histories: Mapping[str, History]) -> pd.DataFrame:
    """A line for every recorded epoch of every fit."""
    rows = [{"fit": name, **row} for name, history in histories.items() for row in history.rows()]
    return pd.DataFrame(rows, columns=["fit", *COLUMNS])


def figure(history: pd.DataFrame) -> Figure:
    """Loss, error and the share of weights with p > 1/2 by epoch: a line for each of the first few fits.

    Those that repeat another from its own start, or train on what pruning has left, are in the table alone.
    """
    records = history["fit"].value_counts(sort=False)
    fits = list(records.index[records > 1]) or list(records.index)  # one record makes no curve
    once = [fit for fit in fits if FINETUNE not in fit and "-seed " not in fit] or fits
    shown = {name: label for name, label in PANELS.items() if history[name].notna().any()}
    drawn, axes = panels(len(shown), width=3.6, height=3.0)
    for fit, colour in zip(once[:DRAWN], OKABE_ITO, strict=False):
        own = history[history["fit"] == fit]
        for ax, name in zip(axes, shown, strict=True):
            ax.plot(own["epoch"], own[name], color=colour, marker=".", ms=3, lw=1.1, label=fit.replace("_", " "))
    for ax, (name, label) in zip(axes, shown.items(), strict=True):
        ax.set(xlabel="epoch", ylabel=label)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        if name == "included":
            ax.set_ylim(bottom=0)
        elif (history[name].dropna() > 0).all():
            ax.set_yscale("log")
            plain_ticks(ax)
    if len(fits) > DRAWN:
        drawn.suptitle(f"{DRAWN} of {len(fits)} fits; all are in history.csv.", fontsize=9)
    lines, names = axes[0].get_legend_handles_labels()
    drawn.legend(lines, names, loc="outside lower center", ncols=min(3, len(names)), fontsize=7)
    return drawn


def check_tracking(tracking: str) -> None:
    """Refuse, before training, to write with what is not installed."""
    if tracking == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
        raise ConfigError("tracking=tensorboard is not installed; make extra EXTRA=tensorboard does it.")


def write_tensorboard(history: pd.DataFrame, folder: Path) -> None:
    """Event files, a folder for every fit; their times are counted back from now, when the last of it was over."""
    from torch.utils.tensorboard import SummaryWriter  # an extra

    now = time.time()
    for fit, own in history.groupby("fit", sort=False):
        ends = own["seconds"].max()
        with SummaryWriter(folder / str(fit)) as writer:
            for row in own.itertuples():
                when = now if pd.isna(row.seconds) else now - (ends - row.seconds)
                for name in MEASURES:
                    if pd.notna(value := getattr(row, name)):
                        writer.add_scalar(name, value, row.epoch, walltime=when)
