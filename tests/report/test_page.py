"""The page: it says what the committed results say."""

import json
import math
import re
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.report import across
from sbnn.report.cells import as_csv, shown, written
from sbnn.report.claims import PAPER, scoreboard
from sbnn.report.cost import COLUMNS
from sbnn.report.page.blocks import Counts, Fold, Heading, Picture, Plot, Scoreboard, Table, Text
from sbnn.report.page.content import WORDS, older, page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.report.page.tables import readable
from sbnn.report.page.write import write_page
from sbnn.report.results import Results
from sbnn.runs.composition import BUDGETS, read_settings
from sbnn.runs.identity import budget_of, code_hash

RESULTS = Path(__file__).parents[2] / "results"
OLDER = {"cifar_pruning"}  # committed results of older code, hours to run again
PICTURES = {"picture.svg", "picture_dark.svg"}


def every(blocks):
    """Blocks, and those that are folded."""
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from every(block.blocks)


@pytest.fixture(scope="module")
def committed():
    """The blocks of the committed page."""
    changed = subprocess.run(["git", "-C", RESULTS, "diff", "--quiet", "HEAD", "--", "."], check=False).returncode
    if changed == 1:
        pytest.skip("results/ holds a run of your own; its page is written with it")
    return page(RESULTS, across.board(RESULTS))


def test_the_committed_page_is_that_of_the_committed_results(committed):
    assert (RESULTS / "README.md").read_text() == as_markdown(committed)
    assert (RESULTS / "report.html").read_text() == as_html(committed, RESULTS)


def test_every_table_and_figure_of_the_results_is_on_the_page(committed):
    kept_back = {"rows.csv", "history.csv", "claims.csv"}  # what was measured; the scoreboard's lines
    files = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.csv") if p.name not in kept_back}
    figures = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.svg")}
    blocks = list(every(committed))
    assert {b.path for b in blocks if isinstance(b, Table) and b.path} == files | set(COLUMNS)
    assert {b.path for b in blocks if isinstance(b, Picture)} == figures | {"picture.svg"}
    assert {path.name for path in RESULTS.glob("*.svg")} == PICTURES
    assert {path.with_suffix(".svg") for path in RESULTS.glob("*/*.png")} == set(RESULTS.glob("*/*.svg"))
    assert sum(isinstance(b, Plot) for b in blocks) == 6


def test_the_page_is_short_and_its_tables_are_readable(committed):
    assert len((RESULTS / "README.md").read_text().splitlines()) <= 300
    assert (RESULTS / "report.html").stat().st_size < 3e6
    for table in (block for block in every(committed) if isinstance(block, Table)):
        assert not [name for name in table.frame if re.search(r"[a-z]_[a-z]", name)], table.path
        assert table.frame.map(written).ne("").any().all(), table.path
        assert "se" not in table.frame, table.path


def test_captions_say_what_means_are_over(committed):
    captions = {
        b.path: b.caption for b in every(committed) if isinstance(b, Picture) and not b.path.endswith("history.svg")
    }
    said = {path.split("/")[0]: caption for path, caption in captions.items() if "Sizes: " in caption}
    assert set(said) == {name for name in WORDS["experiments"] if name not in ("lenet_pruning", "vgg_pruning")}
    assert all(re.search(r"\d+ (data sets|splits|seeds?)\b.*\d+ (epochs|steps)", caption) for caption in said.values())
    assert "(5 of protein)" in said["uci_pruning"]
    assert re.search(r"\d epochs \(sBNN as stated\)\.", said["mnist_pruning"])


def test_errors_stand_beside_their_means():
    frame = pd.DataFrame({"alpha": [1.0], "mean": [0.98765], "se": [0.0123], "psi_1": [2.0], "psi_1_se": [math.nan]})
    table = readable(frame.assign(nothing=None, recipe="crop_and_flip", method="BNN_VS"))
    assert list(table) == ["α", "mean", "ψ₁", "recipe", "method"]
    assert table.map(shown).iloc[0].tolist() == ["1", "0.988 ± 0.012", "2", "crop and flip", "BNN_VS"]


def test_the_first_screen_is_promise_counts_and_picture(committed):
    assert [type(block) for block in committed[:4]] == [Heading, Text, Counts, Picture]
    assert committed[3].dark == "picture_dark.svg"


def test_the_scoreboard_shows_settings_and_the_least_margin():
    verdicts = scoreboard(RESULTS).head(2).assign(settings="searched", margin="+3.4 / +1.2")
    block = Scoreboard(verdicts, {})
    assert as_html([Heading(1, ""), block], RESULTS).count("<dd>searched</dd>") == 2
    assert "| +1.2 |" in as_markdown([block])


@pytest.mark.parametrize("name", WORDS["experiments"])
def test_what_is_committed_is_what_this_code_makes_of_its_rows(results_of, name):
    results = results_of(name)
    for kind, table in results.tables.items():
        assert (results.folder / f"{kind}.csv").read_text() == as_csv(table), "run make report"
    figures = results.report.figures(results.rows)
    plt.close("all")
    assert all((results.folder / f"{kind}.svg").exists() for kind in figures)
    assert (results.folder / "claims.csv").read_text() == results.verdicts.to_csv(index=False), "run make report"


@pytest.mark.parametrize("name", WORDS["experiments"])
def test_a_committed_configuration_is_that_of_its_budget_today(committed, name):
    facts = json.loads((RESULTS / name / "run.json").read_text())
    assert facts["budget"] == budget_of(read_settings(RESULTS / name / "config.yaml"))
    assert facts["budget"].removesuffix(", changed") in BUDGETS  # a yaml may have moved on since


def test_results_of_older_code_are_named():
    """On the page, under the scoreboard."""
    found = {name: Results(RESULTS / name) for name in ("simulated_relevance", "mnist_pruning")}  # none of OLDER
    assert list(older(found)) == []
    found["mnist_pruning"].facts = found["mnist_pruning"].facts | {"code": "another"}
    assert list(older(found)) == ["Made by older code than what is here now: Experiment 6."]


@pytest.mark.parametrize("name", sorted(set(WORDS["experiments"]) - OLDER))
def test_committed_results_are_of_the_code_that_is_there(name):
    """The report aside."""
    facts = json.loads((RESULTS / name / "run.json").read_text())
    assert facts["code"] == code_hash(name), "run it again, and commit what comes out"


def test_committed_differences_are_marked_and_words_are_whole(committed):
    by_path = {b.path: b.frame for b in every(committed) if isinstance(b, Table) and b.path}
    for path in ("mnist_pruning/error_rates", "uci_pruning/rmse_by_droprate", "lenet_pruning/lenet5_droprates"):
        assert by_path[f"{path}.csv"].map(lambda cell: shown(cell).endswith(("▼", "▲"))).to_numpy().any(), path
    for words in WORDS["experiments"].values():
        assert all(item[0].isupper() and item.endswith((".", ";")) for item in words["deviations"])


def test_what_cannot_be_read_is_said_on_the_page_and_to_who_writes_it(tmp_path, capsys):
    for file in ("uci_pruning/run.json", "benchmark/rows.csv"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).write_text("{")
    write_page(tmp_path, scoreboard(tmp_path), {})
    said = capsys.readouterr().err.splitlines()
    text = (tmp_path / "README.md").read_text().replace("`", "")
    assert len(said) == 3  # of its chapter and of what it cost; of the benchmark
    assert all(re.fullmatch(r"sbnn: .* cannot be read \(\w+: .*\); run it again\.", line) for line in said)
    assert all(line.removeprefix("sbnn: ") in text for line in said)
    assert "Not run." in text


def test_what_was_not_run_is_said(judged, tmp_path):
    execute(judged("simulated_relevance"), tmp_path / "simulated_relevance")
    text = (tmp_path / "README.md").read_text()
    assert text.count("Not run.") == len(WORDS["experiments"]) - 1
    assert "simulated_relevance/relevance.svg" in text
    assert f"{len(PAPER) - 2} not run." in text
    assert WORDS["smoke"] not in text
    assert "<img" in (tmp_path / "report.html").read_text()


def test_a_smoke_run_is_shown_and_judges_nothing(configured, tmp_path):
    execute(configured("experiment=simulated_relevance", "budget=smoke"), tmp_path / "simulated_relevance")
    text = (tmp_path / "README.md").read_text()
    assert f"{len(PAPER)} not run." in text
    assert text.count(WORDS["smoke"]) == 2  # at the scoreboard, and in its chapter
    assert "simulated_relevance/history.svg" in text
