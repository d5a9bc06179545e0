"""The page as one HTML file that needs nothing else: style, script, figures and the data of its plots are in it."""

import json
import re
from functools import partial, singledispatch
from html import escape
from pathlib import Path
from urllib.parse import quote

from sbnn.report.cells import kind_of, shown
from sbnn.report.page.blocks import Block, Bullets, Command, Fold, Heading, Picture, Plot, Table, Text
from sbnn.report.page.markup import marked_up

HERE = Path(__file__).parent
PLAIN = " !$'()*+,-./:;=?@[]^_`{|}~<>"  # what may stand in a data URL in an attribute as it is


def as_html(blocks: list[Block], results: Path) -> str:
    title = next(block.text for block in blocks if isinstance(block, Heading))
    chapters = [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{anchor(chapter)}">{marked_up(chapter)}</a>' for chapter in chapters)
    style, script = (HERE.joinpath(name).read_text("utf-8") for name in ("page.css", "page.js"))
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
<nav aria-label="contents"><details><summary>Contents</summary>{links}</details></nav>
<main>
{all_of(blocks, results)}
</main>
<script>
{script}</script>
</body>
</html>
"""


def all_of(blocks: list[Block], results: Path) -> str:
    return "\n".join(map(partial(rendered, results=results), blocks))


def anchor(text: str) -> str:
    return re.sub(r"\W+", "-", text.lower()).strip("-")


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
def _(block: Fold, results: Path) -> str:
    return f"<details><summary>{marked_up(block.summary)}</summary>\n{all_of(block.blocks, results)}\n</details>"


@rendered.register
def _(block: Table, results: Path) -> str:
    lines, caption = f"{len(block.frame)} lines", marked_up(block.caption)
    csv = f' <a href="{escape(block.path)}">CSV</a>' if block.path else ""
    if block.is_long:
        return f'<p class="table">{caption} ({lines}){csv}</p>'
    head = "".join(f"<th>{marked_up(column)}</th>" for column in block.frame.columns)
    body = "".join(
        f"<tr>{''.join(map(table_cell, line))}</tr>" for line in block.frame.itertuples(index=False, name=None)
    )
    table = f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
    return f'<details class="table"><summary>{caption} ({lines}){csv}</summary>{table}</details>'


def table_cell(cell: object) -> str:
    """Verdicts and marked differences get a class for their colour; the words and signs say the same without it."""
    kind = kind_of(cell)
    return f"<td{f' class={kind}' if kind else ''}>{marked_up(shown(cell))}</td>"


@rendered.register
def _(block: Picture, results: Path) -> str:
    caption, of, dark = marked_up(block.caption), "", ""
    if block.dark is not None:
        address = inlined(results / block.dark).replace(" ", "%20")  # where a space would end it
        of, dark = ' class="opening"', f'<source media="(prefers-color-scheme: dark)" srcset="{address}">'
    image = f'<picture>{dark}<img alt="{escape(block.caption)}" src="{inlined(results / block.path)}"></picture>'
    return f'<figure{of}><div class="drawn">{image}</div><figcaption>{caption}</figcaption></figure>'


def inlined(path: Path) -> str:
    """An SVG file as an address; single quotes, which our files have in texts alone, need no escape there."""
    text = path.read_text("utf-8").replace('"', "'")
    return f"data:image/svg+xml,{quote(text, safe=PLAIN)}"


@rendered.register
def _(block: Plot, results: Path) -> str:
    data = json.dumps(block.data, separators=(",", ":")).replace("<", "\\u003c")
    caption = f"<figcaption>{marked_up(block.caption)}</figcaption>"
    return f'<figure class="plot"><script type="application/json">{data}</script>{caption}</figure>'
