"""Write README.md's headline anew from results/."""

from pathlib import Path

from sbnn.report import claims
from sbnn.report.rows import as_markdown

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
HEADLINE = ["1a", "2a", "3a", "3e", "4a", "5a", "5c", "6b", "6d", "7a", "8a", "8b", "8d", "9b"]


def headline() -> str:
    """One line for each kind of claim that a reader looks for first."""
    verdicts = claims.scoreboard(RESULTS)
    shown = verdicts.set_index("id").loc[HEADLINE].reset_index().rename(columns={"id": ""})
    return f"{as_markdown(shown[['', 'claim', 'paper', 'ours', 'verdict']])}\n\n{claims.counted(verdicts)}"


def main() -> None:
    readme = ROOT / "README.md"
    before, start, rest = readme.read_text().partition(
        "<!-- headline: written by scripts/update_readme.py from results/ -->\n"
    )
    _, end, after = rest.partition("<!-- end of headline -->")
    readme.write_text(f"{before}{start}{headline()}\n{end}{after}")


if __name__ == "__main__":
    main()
