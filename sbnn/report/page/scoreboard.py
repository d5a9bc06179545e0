"""The scoreboard in HTML: a bar of counts, buttons that filter, a line for every claim that opens to its details."""

from pathlib import Path

import pandas as pd

from sbnn.report.claims import NOT, NOT_RUN, PARTLY, REPRODUCED, counted, least
from sbnn.report.page.blocks import COLUMNS, Counts, Scoreboard
from sbnn.report.page.html import rendered
from sbnn.report.page.markup import marked_up

KINDS = {REPRODUCED: "yes", PARTLY: "partly", NOT: "no", NOT_RUN: "open"}
# What a claim opens to; of these, columns that verdicts do not have are left out.
DETAILS = {
    "ours": "ours", "se": "standard error", "margin": "every limit's margin", "criterion": "criterion",
    "settings": "settings", "old_criterion": "criterion before", "old_verdict": "verdict by it",
    "conclusion": "conclusion", "budget": "budget",
}  # fmt: skip


@rendered.register
def _(block: Counts, results: Path) -> str:
    count = block.verdicts["verdict"].value_counts()
    parts = [
        f'<span class="{kind}" style="flex-grow: {count[verdict]}"><b>{count[verdict]}</b> {verdict}</span>'
        for verdict, kind in KINDS.items()
        if verdict in count
    ]
    return f'<div class="bar" role="img" aria-label="{counted(block.verdicts)}">{"".join(parts)}</div>'


@rendered.register
def _(block: Scoreboard, results: Path) -> str:
    there = [verdict for verdict in KINDS if verdict in set(block.verdicts["verdict"])]
    buttons = "".join(
        f'<button class="{KINDS[verdict]}" value="{verdict}" aria-pressed="false">{verdict}</button>'
        for verdict in there
    )
    options = "".join(f'<option value="{name}">{marked_up(title)}</option>' for name, title in block.titles.items())
    choice = f'<select aria-label="experiment"><option value="">all experiments</option>{options}</select>'
    heads = "".join(f"<span>{'' if name == 'id' else name}</span>" for name in COLUMNS)
    claims = "\n".join(map(claim, block.verdicts.to_dict("records")))
    return (
        f'<section class="scoreboard"><div class="filters">{buttons}{choice}</div>\n'
        f'<div class="heads" aria-hidden="true">{heads}</div>\n{claims}\n</section>'
    )


def claim(line: dict) -> str:
    kind = KINDS[line["verdict"]]
    cells = {name: line[name] for name in COLUMNS} | {"margin": least(line["margin"])}
    classes = {"verdict": f"verdict {kind}", "claim": "what"}
    summary = "".join(
        f'<span class="{classes.get(name, name)}">{marked_up(str(text))}</span>' for name, text in cells.items()
    )
    known = {label: line[name] for name, label in DETAILS.items() if not pd.isna(line.get(name)) and line[name] != ""}
    details = "".join(f"<dt>{label}</dt><dd>{marked_up(str(text))}</dd>" for label, text in known.items())
    data = f'data-verdict="{line["verdict"]}" data-experiment="{line["experiment"]}"'
    full = f"<dt>claim</dt><dd>{marked_up(line['claim'])}</dd><dt>paper</dt><dd>{marked_up(line['paper'])}</dd>"
    return f'<details class="claim" {data}><summary>{summary}</summary><dl>{full}{details}</dl></details>'
