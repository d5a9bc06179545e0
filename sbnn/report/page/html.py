"""The page as one HTML file that needs nothing else: style, script, figures and the data of its plots are in it."""

import base64
import json
import re
from functools import partial, singledispatch
from html import escape
from pathlib import Path

from sbnn.report.cells import kind_of, shown
from sbnn.report.page.blocks import Block, Bullets, Command, Heading, Picture, Plot, Table, Text

HERE = Path(__file__).parent


def as_html(blocks: list[Block], results: Path) -> str:
    render = partial(rendered, results=results)
    title = next(block.text for block in blocks if isinstance(block, Heading))
    chapters = [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{anchor(chapter)}">{marked_up(chapter)}</a>' for chapter in chapters)
    style, script = (HERE.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
    body = "\n".join(render(block) for block in blocks)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<style>
{style}</style>
</head>
<body>
<nav>{links}</nav>
<main>
{body}
</main>
<script>
{script}</script>
</body>
</html>
"""


def anchor(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")


def marked_up(text: str) -> str:
    """Code, emphasis and links of a text."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))
    text = re.sub(r"\*(\w[^*]*)\*", r"<em>\1</em>", text)
    return re.sub(r"\[([^\]]+)\]\(((?:https?://|#)[^\s)]+)\)", r'<a href="\2">\1</a>', text)


@singledispatch
def rendered(block: Block, results: Path) -> str:
    raise TypeError(block)


@rendered.register
def _(block: Heading, results: Path) -> str:
    name = f' id="{anchor(block.text)}"' if block.level == 2 else ""
    return f"<h{block.level}{name}>{marked_up(block.text)}</h{block.level}>"


@rendered.register
def _(block: Text, results: Path) -> str:
    return f"<p>{marked_up(block.text)}</p>"


@rendered.register
def _(block: Bullets, results: Path) -> str:
    return f"<ul>{''.join(f'<li>{marked_up(item)}</li>' for item in block.items)}</ul>"


@rendered.register
def _(block: Command, results: Path) -> str:
    return f"<pre>{escape(block.text)}</pre>"


@rendered.register
def _(block: Table, results: Path) -> str:
    head = "".join(f"<th>{marked_up(column)}</th>" for column in block.frame.columns)
    lines = "".join(
        f"<tr>{''.join(map(table_cell, line))}</tr>" for line in block.frame.itertuples(index=False, name=None)
    )
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    caption = f"<p class=caption>{marked_up(block.caption)}</p>" if block.caption else ""
    if block.is_long:
        return f"<details><summary>{marked_up(block.caption)} ({len(block.frame)} lines)</summary>{table}</details>"
    return caption + table


def table_cell(cell: object) -> str:
    """Verdicts and marked differences get a class for their colour; the words and signs say the same without it."""
    kind = kind_of(cell)
    return f"<td{f' class={kind}' if kind else ''}>{marked_up(shown(cell))}</td>"


@rendered.register
def _(block: Picture, results: Path) -> str:
    data = base64.b64encode((results / block.path).read_bytes()).decode()
    caption = escape(block.caption)
    return (
        f'<figure><img alt="{caption}" src="data:image/png;base64,{data}"><figcaption>{caption}</figcaption></figure>'
    )


@rendered.register
def _(block: Plot, results: Path) -> str:
    data = json.dumps(block.data, separators=(",", ":")).replace("<", "\\u003c")
    return f'<figure class="plot"><script type="application/json">{data}</script></figure>'
