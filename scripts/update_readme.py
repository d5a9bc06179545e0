"""Write the table of claims in README.md anew from results/claims.csv."""

from pathlib import Path

from sbnn.report.claims import markdown

ROOT = Path(__file__).parents[1]
START, END = "<!-- claims: written by scripts/update_readme.py from results/claims.csv -->", "<!-- end of claims -->"


def main() -> None:
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{START}\n{markdown(ROOT / 'results' / 'claims.csv')}\n{END}{after}")


if __name__ == "__main__":
    main()
