"""The page as Markdown, for those who browse the repository."""

from functools import singledispatch

import pandas as pd

from sbnn.report.cells import shown
from sbnn.report.page.blocks import Block, Bullets, Command, Heading, Picture, Plot, Table, Text


def as_markdown(blocks: list[Block]) -> str:
    parts = (rendered(block) for block in blocks)
    return "\n\n".join(part for part in parts if part) + "\n"


def as_table(frame: pd.DataFrame) -> str:
    """A table of cells; a bar in a text would end its cell."""
    cells = [[shown(cell).replace("|", "\\|") for cell in line] for line in frame.itertuples(index=False, name=None)]
    lines = [list(frame.columns), ["---"] * len(frame.columns), *cells]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


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
    return f"    {block.text}"


@rendered.register
def _(block: Table) -> str:
    source = f"[{block.path}]({block.path})" if block.path else ""
    if block.is_long:
        return f"{block.caption} {source} ({len(block.frame)} lines)"
    head = f"{block.caption} {source}".strip()
    body = as_table(block.frame)
    return f"{head}\n\n{body}" if head else body


@rendered.register
def _(block: Picture) -> str:
    return f"![{block.caption}]({block.path})"


@rendered.register
def _(block: Plot) -> str:
    return ""
