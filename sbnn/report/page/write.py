"""The page that says what reproduced: results/README.md, and the same as one self-contained results/report.html."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from sbnn.report.page.content import page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.report.results import Results
from sbnn.runs.rows import write_text


def write_page(folder: Path, verdicts: pd.DataFrame, known: Mapping[str, Results]) -> None:
    """Write both, from the experiments in a folder; of those known nothing is read but their figures."""
    blocks = page(folder, verdicts, known)
    write_text(folder / "README.md", as_markdown(blocks))
    write_text(folder / "report.html", as_html(blocks, folder))
