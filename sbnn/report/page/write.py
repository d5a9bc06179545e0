"""The page that says what reproduced: results/README.md, and the same as one self-contained results/report.html."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from sbnn.errors import SbnnError
from sbnn.files import write_text
from sbnn.report import cost
from sbnn.report.cells import as_csv
from sbnn.report.claims import COLUMNS
from sbnn.report.frontier import picture
from sbnn.report.page import scoreboard  # noqa: F401  its blocks are rendered by html
from sbnn.report.page.blocks import Complaint, Table
from sbnn.report.page.content import DARK, PICTURE, page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.report.page.words import WORDS
from sbnn.report.results import Results
from sbnn.report.style import DARK as DARK_STYLE
from sbnn.report.style import LIGHT, save_svg

PICTURED = ("lenet_pruning", "lenet_300_100")  # experiment and network
# What our own files in a folder of results begin with.
MARKS = {"README.md": WORDS["title"], "report.html": WORDS["title"], "claims.csv": ",".join(COLUMNS)}
MARKS |= {file: ",".join(columns) for file, columns in cost.COLUMNS.items()}


def check_page(folder: Path) -> None:
    """Refuse to write where files of these names are not ours."""
    for name, mark in MARKS.items():
        path = folder / name
        if path.exists() and mark not in path.read_text("utf-8", errors="replace")[:2000]:
            raise SbnnError(f"{path} was not written by sbnn; give results_dir a folder of its own.")


def write_page(folder: Path, verdicts: pd.DataFrame, known: Mapping[str, Results]) -> None:
    """Write both and the tables of what runs cost, from the experiments in a folder.

    Of those known nothing is read but their figures.
    """
    experiment, network = PICTURED
    write_picture(folder, known.get(experiment, Results(folder / experiment)), network)
    blocks = page(folder, verdicts, known)
    for table in (block for block in blocks if isinstance(block, Table) and block.path in cost.COLUMNS):
        write_text(folder / table.path, as_csv(table.frame))
    for complaint in (block.text for block in blocks if isinstance(block, Complaint)):
        print(f"sbnn: {complaint.replace('`', '')}", file=sys.stderr)
    write_text(folder / "README.md", as_markdown(blocks))
    write_text(folder / "report.html", as_html(blocks, folder))


def write_picture(folder: Path, results: Results, network: str) -> None:
    """The picture that the page opens with, for light and for dark screens; none without the network's rows."""
    try:
        rows = results.rows if (results.folder / "rows.csv").exists() and not results.is_smoke else None
    except (OSError, ValueError, KeyError, SbnnError):  # a damaged folder, of which the page says so
        rows = None
    if rows is None or network not in set(rows.network):
        for name in (PICTURE, DARK):
            (folder / name).unlink(missing_ok=True)
        return
    for name, style in ((PICTURE, LIGHT), (DARK, DARK_STYLE)):
        save_svg(picture(rows, network), folder / name, style)
