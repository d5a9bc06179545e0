"""The page that says what reproduced: results/README.md, and the same as one self-contained results/report.html."""

from pathlib import Path

from sbnn.report.page.content import page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.runs.rows import write_text


def write(results: Path) -> None:
    """Both, from what stands in the folder's experiments."""
    blocks = page(results)
    write_text(results / "README.md", as_markdown(blocks))
    write_text(results / "report.html", as_html(blocks, results))
