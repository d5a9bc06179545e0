"""The page as Markdown, for those who browse the repository."""

from functools import singledispatch

from sbnn.report.page.blocks import Block, Bullets, Command, Heading, Picture, Plot, Table, Text
from sbnn.runs.rows import as_markdown as table_as_markdown


def as_markdown(blocks: list[Block]) -> str:
    parts = (rendered(block) for block in blocks)
    return "\n\n".join(part for part in parts if part) + "\n"


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
    body = table_as_markdown(block.frame)
    return f"{head}\n\n{body}" if head else body


@rendered.register
def _(block: Picture) -> str:
    return f"![{block.caption}]({block.path})"


@rendered.register
def _(block: Plot) -> str:
    return ""
