"""Write the tables in README.md anew from results/."""

from pathlib import Path

from sbnn.report import claims, compression, images, uci

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"


def tables() -> dict[str, str]:
    """What stands between `<!-- NAME: ... -->` and `<!-- end of NAME -->`."""
    return {
        "uci": uci.markdown(RESULTS / "uci_pruning" / "comparison.csv"),
        "mnist": images.markdown(RESULTS / "mnist_pruning" / "pruning.csv"),
        "cifar": images.markdown(RESULTS / "cifar_pruning" / "pruning.csv"),
        "lenet": compression.markdown(RESULTS / "lenet_pruning" / "comparison.csv"),
        "vgg": compression.markdown(RESULTS / "vgg_pruning" / "comparison.csv"),
        "claims": claims.markdown(RESULTS / "claims.csv"),
    }


def main() -> None:
    readme = ROOT / "README.md"
    text = readme.read_text()
    for name, table in tables().items():
        before, start, rest = text.partition(f"<!-- {name}: written by scripts/update_readme.py from results/ -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        text = f"{before}{start}{table}\n{end}{after}"
    readme.write_text(text)


if __name__ == "__main__":
    main()
