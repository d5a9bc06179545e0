"""The page as Markdown, for those who browse the repository: its tables are linked to."""

import re
from functools import singledispatch
from itertools import pairwise

import pandas as pd

from sbnn.report.cells import shown
from sbnn.report.claims import counted, least
from sbnn.report.closing import cut
from sbnn.report.page.blocks import (
    COLUMNS,
    Block,
    Bullets,
    Command,
    Counts,
    Fold,
    Heading,
    Picture,
    Plot,
    Scoreboard,
    Table,
    Text,
)

LINK = "- ["  # before a table
WIDEST = 100  # letters of a cell of the scoreboard; claims.csv has all


def as_markdown(blocks: list[Block]) -> str:
    text = ""
    for before, block in pairwise([None, *blocks]):
        if part := rendered(block):  # texts in a row, and commands among them, are one paragraph
            in_a_row = isinstance(block, Text | Command) and isinstance(before, Text | Command)
            text += ("\n" if in_a_row else "\n\n" if text else "") + part
    text = text.replace(f")\n\n{LINK}", ") · [")  # tables in one line
    text = text.replace(")\n\n![", ") ![")  # pictures in one paragraph
    return re.sub(r"(?m)^(#+ .*)\n\n", r"\1\n", text) + "\n"


def as_table(frame: pd.DataFrame) -> str:
    """A table of cells; a bar in a text would end its cell."""
    cells = [[shown(cell).replace("|", "\\|") for cell in line] for line in frame.itertuples(index=False, name=None)]
    lines = [list(frame.columns), ["---"] * len(frame.columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def as_picture(picture: Picture) -> str:
    """In a light and a dark version, if there are two; these have their caption below them."""
    if picture.dark is None:
        return f"![{picture.caption}]({picture.path})"
    return (
        f'<picture><source media="(prefers-color-scheme: dark)" srcset="{picture.dark}">'
        f'<img src="{picture.path}" alt="{picture.caption.partition(". ")[0]}" width="800"></picture>'
    )


@singledispatch
def rendered(block: Block) -> str:
    raise TypeError(block)


@rendered.register
def _(block: Heading) -> str:
    return f"{'#' * block.level} {block.text}"


@rendered.register
def _(block: Text) -> str:
    return block.text


@rendered.register
def _(block: Bullets) -> str:
    return "\n".join(f"- {item}" for item in block.items)


@rendered.register
def _(block: Command) -> str:
    return f"`{block.text}`"


@rendered.register
def _(block: Table) -> str:
    if block.path is None:
        return f"{block.caption}\n\n{as_table(block.frame)}"
    return f"{LINK}{block.caption.partition('. ')[0].rstrip('.')}]({block.path}) ({len(block.frame)} lines)"


@rendered.register
def _(block: Picture) -> str:
    return as_picture(block) if block.dark is None else f"{as_picture(block)}\n\n*{block.caption}*"


@rendered.register
def _(block: Plot) -> str:
    return ""


@rendered.register
def _(block: Counts) -> str:
    return counted(block.verdicts)


@rendered.register
def _(block: Scoreboard) -> str:
    lines = block.verdicts[COLUMNS].assign(margin=block.verdicts["margin"].map(least))
    return as_table(lines.map(lambda cell: cut(str(cell), WIDEST)).rename(columns={"id": ""}))


@rendered.register
def _(block: Fold) -> str:
    """What is in it, for there is nothing to open."""
    if block.linked:
        return "\n".join(f"{LINK}{block.summary}]({inner.path})" for inner in block.blocks)
    return as_markdown(block.blocks).rstrip()
