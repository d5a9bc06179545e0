"""Write the parts of README.md that say what was found again from results/."""

import os
import re
from pathlib import Path

import pandas as pd

from sbnn.report import across, claims
from sbnn.report.closing import HIGHEST, WIDEST, announcement
from sbnn.report.headlines import findings, headline
from sbnn.report.page.blocks import Picture
from sbnn.report.page.content import DARK, PICTURE
from sbnn.report.page.markdown import as_table, rendered
from sbnn.report.page.words import WORDS
from sbnn.report.results import Results

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
SHOWN = "simulated_correlation"  # the run whose last lines README shows


def parts() -> dict[str, str]:
    """By the names of their places in README.md."""
    known = {name: Results(RESULTS / name) for name in WORDS["experiments"]}
    taught = "\n".join(f"- {line}" for line in findings(known, RESULTS / "trials.csv"))
    return {"picture": picture(), "run": run(known[SHOWN]), "table": table(known), "findings": taught}


def picture() -> str:
    return rendered(Picture(f"results/{PICTURE}", WORDS["picture"], f"results/{DARK}"))


def run(results: Results) -> str:
    """What the command of a run ends with."""
    here = Path.cwd()
    os.chdir(ROOT)  # paths are named as seen from there
    lines = announcement(Results(Path("results") / SHOWN), True, True, WIDEST, HIGHEST)
    os.chdir(here)
    typed = f"$ sbnn-run experiment={SHOWN}    # {results.facts['seconds']:.0f} seconds"
    return "\n".join(f"    {line}" for line in [typed, *lines])


def table(known: dict[str, Results]) -> str:
    """A sentence of counts, and one number of each experiment."""
    verdicts = across.board(RESULTS)
    said = verdicts.set_index("id").verdict
    lines = []
    for name, results in known.items():
        title = WORDS["experiments"][name]["title"].removeprefix("Experiment ")
        number = headline(results)
        if number is None:
            lines.append([title, "", "", "", claims.NOT_RUN])
        else:
            lines.append([title, number.what, number.paper, number.ours, f"{number.claim} {said[number.claim]}"])
    columns = ["experiment", "one of its numbers", "paper", "ours", "claim"]
    return f"**{claims.counted(verdicts)}**\n\n{as_table(pd.DataFrame(lines, columns=columns))}"


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, part in parts().items():
        place = re.compile(rf"(<!-- {name}: [^\n]*-->\n).*?(<!-- end -->)", re.DOTALL)
        text = place.sub(lambda found, part=part: f"{found[1]}{part}\n{found[2]}", text)
    readme.write_text(text)


if __name__ == "__main__":
    main()
