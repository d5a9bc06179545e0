"""What `make remarks` computed: the paper's three remarks on the inclusion probability, as curves and switch points."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sbnn.files import write_text
from sbnn.report.cells import as_csv
from sbnn.report.page.blocks import Block, Command, Picture, Table, Text
from sbnn.report.style import INK, PALETTE, panels, save

FOLDER = "remarks"
# The remarks, the last of them in both of its directions, and which width tells a curve from its neighbours.
RISES, ALIKE, WIDE, NARROW = "1: p rises with m² + σ²", "2: τ₁ → τ₀", "3: τ₁ → ∞", "3, extended: τ₀ → 0"
VARIED = {RISES: ("log_tau1", "log_tau0"), ALIKE: ("log_tau1",), WIDE: ("log_tau1",), NARROW: ("log_tau0",)}
NAMES = {"log_tau1": "log τ₁", "log_tau0": "log τ₀"}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """A line a curve: p at the least and the largest second moment, and where it passes 1/2."""
    lines = []
    for (remark, slab, spike), own in rows.groupby(["remark", "log_tau1", "log_tau0"], sort=False):
        line = {"remark": remark, "log τ₁ (slab)": slab, "log τ₀ (spike)": spike}
        line |= {"least p": f"{own.p.min():.2g}", "largest p": f"{own.p.max():.2g}"}
        line["√(m² + σ²) at p = 1/2"] = f"{switch(own):.2g}"
        lines.append(line)
    return pd.DataFrame(lines)


def switch(curve: pd.DataFrame) -> float:
    """The root of the second moment at which p passes 1/2: its logit is linear in the second moment."""
    p = curve.p.clip(1e-9, 1 - 1e-9)
    return float(np.sqrt(np.interp(0, np.log(p / (1 - p)), curve.root**2)))


def figure(rows: pd.DataFrame) -> Figure:
    """A panel a remark; in the last three, colours go towards the limit."""
    drawn, axes = panels(2, 2, width=3.7, height=2.5, sharey=True)
    for ax, (remark, here) in zip(axes, rows.groupby("remark", sort=False), strict=True):
        curves = here.groupby(["log_tau1", "log_tau0"], sort=False)
        for (_, own), colour, dashes in zip(curves, PALETTE, ("-", "--", "-.", ":"), strict=False):
            name = ", ".join(f"{NAMES[width]} = {own[width].iloc[0]:g}" for width in VARIED[remark])
            ax.plot(own.root, own.p, color=colour, ls=dashes, label=name.replace("-", "−"))
        fixed = [width for width in NAMES if width not in VARIED[remark]]
        title = ", ".join([remark, *(f"{NAMES[width]} = {here[width].iloc[0]:g}" for width in fixed)])
        ax.axhline(0.5, color=INK, lw=0.8)
        ax.set(xscale="log", ylim=(-0.03, 1.03), title=title.replace("-", "−"))
        ax.minorticks_off()
        ax.legend(fontsize=7.5, loc="upper left" if remark in (RISES, WIDE) else "lower right")
    for ax in axes[2:]:
        ax.set_xlabel("√(m² + σ²)")
    for ax in axes[::2]:
        ax.set_ylabel("inclusion probability p")
    return drawn


def draw(folder: Path) -> None:
    """Write table and figure from a folder's rows.csv."""
    rows = pd.read_csv(folder / "rows.csv")
    write_text(folder / "table.csv", as_csv(table(rows)))
    save(figure(rows), folder / "remarks.png")


def chapter(rows: pd.DataFrame, words: dict) -> Iterator[Block]:
    yield Command("make remarks")
    yield Text(f"Commit `{rows.commit.iloc[0]}`.")
    yield Picture(f"{FOLDER}/remarks.svg", words["figure"])
    yield Table(table(rows), words["table"], f"{FOLDER}/table.csv")
