"""What a run says when it is over: no more than a screen, and last of all what to open."""

import os
import shutil
import textwrap
from pathlib import Path

import pandas as pd

from sbnn.report.cells import written
from sbnn.report.claims import NOT_RUN
from sbnn.report.results import Results

WIDEST, HIGHEST = 100, 40  # columns of a line; lines where there is no terminal to ask
NOTHING_TO_JUDGE = "No claim is judged: this run leaves out what they are about."


def announce(results: Results, on_page: bool, gathered: bool) -> None:
    """Print what was written, the experiment's closing table if it fits, a line a claim, and where the page is."""
    columns, lines = shutil.get_terminal_size((WIDEST, HIGHEST))
    print("", *announcement(results, on_page, gathered, min(columns, WIDEST), lines), sep="\n")


def announcement(results: Results, on_page: bool, gathered: bool, width: int, lines: int) -> list[str]:
    """Lines of a width, no more of them than a screen has where the closing table would make them more."""
    head = textwrap.wrap(f"{seen_from_here(results.folder)}: {files_of(results.folder)}", width, subsequent_indent="  ")
    judged = on_page and results.is_judged
    said = claims_of(results.verdicts, width) if judged else textwrap.wrap(why_not(results, on_page), width)
    last = [page_of(results.folder.parent)] if on_page and gathered else []
    table = closing_table(results)
    fits = len(head + table + said + last) + 1 < lines and all(len(line) <= width for line in table)
    return [*head, *(table if fits else []), *said, *last]


def files_of(folder: Path) -> str:
    """By name; a figure, which is there for print and for screens, once."""
    paths = sorted(folder.iterdir())
    return ", ".join(path.name for path in paths if path.suffix != ".svg" or path.with_suffix(".png") not in paths)


def claims_of(verdicts: pd.DataFrame, width: int) -> list[str]:
    """A line for each claim that the run has something to say about."""
    judged = verdicts[verdicts["verdict"] != NOT_RUN]
    lines = [f"{claim.id}  {claim.verdict:<14}  {claim.claim}: {claim.ours}" for claim in judged.itertuples()]
    return [cut(line, width) for line in lines] or textwrap.wrap(NOTHING_TO_JUDGE, width)


def why_not(results: Results, on_page: bool) -> str:
    if not results.report.claims:
        return "The numbers of a smoke run mean nothing." if results.is_smoke else ""
    if on_page or results.is_smoke:
        return "This is a smoke run, whose numbers mean nothing: no claim is judged."
    return "This is one of a sweep, or measured on validation data: no claim is judged."


def closing_table(results: Results) -> list[str]:
    table = results.report.closing(results.rows)
    return [] if table is None else [*table.map(written).to_string(index=False).splitlines(), ""]


def page_of(folder: Path) -> str:
    return f"Open {seen_from_here(folder / 'report.html')}"


def seen_from_here(path: Path) -> str:
    """As one would type it in the current folder, where it lies below that."""
    return os.path.relpath(path) if path.absolute().is_relative_to(Path.cwd()) else str(path)


def cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"
