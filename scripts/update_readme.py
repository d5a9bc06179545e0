"""Write README.md's headline again from results/."""

from pathlib import Path

from sbnn.report import claims
from sbnn.report.page.markdown import as_table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def headline() -> str:
    """The first two claims of each experiment, kind or not."""
    verdicts = claims.scoreboard(RESULTS)
    shown = verdicts.groupby("experiment", sort=False).head(2).rename(columns={"id": "", "se": "s.e."})
    table = as_table(shown[["", "claim", "paper", "ours", "s.e.", "verdict", "budget"]])
    return f"{table}\n\n{claims.counted(verdicts)} Here stand the first two of each experiment."


def main() -> None:
    readme = ROOT / "README.md"
    before, start, rest = readme.read_text().partition(
        "<!-- headline: written by scripts/update_readme.py from results/ -->\n"
    )
    _, end, after = rest.partition("<!-- end of headline -->")
    readme.write_text(f"{before}{start}{headline()}\n{end}{after}")


if __name__ == "__main__":
    main()
