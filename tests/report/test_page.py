"""The page: it says what the committed results say, and a browser shows all of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.report.cells import as_csv, shown
from sbnn.report.claims import scoreboard
from sbnn.report.page.blocks import Picture, Plot, Table
from sbnn.report.page.content import WORDS, page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.report.results import Results
from sbnn.runs.composition import BUDGETS, read_settings
from sbnn.runs.identity import budget_of

RESULTS = Path(__file__).parents[2] / "results"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def committed():
    """The blocks of the committed page."""
    changed = subprocess.run(["git", "-C", RESULTS, "diff", "--quiet", "HEAD", "--", "."], check=False).returncode
    if changed == 1:
        pytest.skip("results/ holds a run of your own; its page is written with it")
    return page(RESULTS, scoreboard(RESULTS))


def test_the_committed_page_is_that_of_the_committed_results(committed):
    assert (RESULTS / "README.md").read_text() == as_markdown(committed)
    assert (RESULTS / "report.html").read_text() == as_html(committed, RESULTS)


def test_every_table_and_figure_of_the_results_is_on_the_page(committed):
    kept_back = {"rows.csv", "claims.csv"}  # the measurements themselves; the scoreboard's lines
    files = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.csv") if p.name not in kept_back}
    figures = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.svg")}
    assert {b.path for b in committed if isinstance(b, Table) and b.path} == files
    assert {b.path for b in committed if isinstance(b, Picture)} == figures
    assert sum(isinstance(b, Plot) for b in committed) == 6


@pytest.mark.parametrize("name", WORDS["experiments"])
def test_what_is_committed_is_what_this_code_makes_of_its_rows(name):
    results = Results(RESULTS / name)
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


LOOK = """<script>
window.addEventListener("load", () => {
const plot = [...document.querySelectorAll("figure.plot")][1];  // UCI's
const [network, score] = plot.querySelectorAll("select");
const dots = () => plot.querySelectorAll("circle").length;
const said = {
  images: [...document.images].filter((i) => i.complete && i.naturalWidth > 100).length,
  tables: document.querySelectorAll("table tbody tr:first-child").length,
  plots: document.querySelectorAll("figure.plot svg").length,
  dots: dots(),
};
score.value = [...score.options].findIndex((o) => o.text === "magnitude");
score.dispatchEvent(new Event("change"));
said.magnitude = dots();
network.value = 2;
network.dispatchEvent(new Event("change"));
plot.querySelector("circle").dispatchEvent(new Event("pointerenter"));
said.tip = plot.querySelector(".tip").textContent;
plot.querySelector("form[aria-label] label:last-child input").click();
said.without = dots();
said.outside = performance.getEntriesByType("resource").filter((e) => !e.name.startsWith("data:")).length;
document.body.innerHTML = "<pre>" + JSON.stringify(said) + "</pre>";
});
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")
def test_a_browser_shows_it_all(committed, tmp_path):
    text = as_html(committed, RESULTS)
    (tmp_path / "page.html").write_text(text.replace("</body>", LOOK + "</body>"))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=20000", "--dump-dom"]
    command = [CHROMIUM, *options, f"--user-data-dir={tmp_path}", (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    said = json.loads(re.search(r"<pre>(\{.*?\})</pre>", shown)[1])
    assert said["images"] == sum(isinstance(b, Picture) for b in committed)
    assert said["tables"] == sum(isinstance(b, Table) for b in committed)
    assert said["plots"] == 6
    uci = next(b.data for b in committed if isinstance(b, Plot) and "RMSE" in b.data["unit"])
    first, third = uci["panels"][0]["series"], uci["panels"][2]["series"]
    own = {s["method"]: s for s in reversed(first)}.values()
    assert said["dots"] == sum(len(s["points"]) for s in own)
    by_magnitude = [s for s in first if s["score"] in ("magnitude", None)]
    assert said["magnitude"] == sum(len(s["points"]) for s in by_magnitude)
    assert re.fullmatch(r"\S.*: \d\S* ± \d\S* at \d+ %", said["tip"])
    assert said["without"] < sum(len(s["points"]) for s in third if s["score"] in ("magnitude", None))
    assert said["outside"] == 0


def test_committed_differences_are_marked_and_words_are_whole(committed):
    by_path = {b.path: b.frame for b in committed if isinstance(b, Table) and b.path}
    for path in ("mnist_pruning/error_rates", "uci_pruning/rmse_by_droprate", "lenet_pruning/lenet5_droprates"):
        assert by_path[f"{path}.csv"].map(lambda cell: shown(cell).endswith(("▼", "▲"))).to_numpy().any(), path
    for words in WORDS["experiments"].values():
        assert all(item[0].isupper() and item.endswith((".", ";")) for item in words["deviations"])


def test_what_was_not_run_is_said(judged, tmp_path):
    execute(judged("simulated_relevance"), tmp_path / "simulated_relevance")
    text = (tmp_path / "README.md").read_text()
    assert text.count("Not run.") == len(WORDS["experiments"]) - 1
    assert "simulated_relevance/relevance.svg" in text
    verdicts = pd.read_csv(tmp_path / "simulated_relevance" / "claims.csv")["verdict"]
    assert f"Of 33 claims: {(verdicts == 'reproduced').sum()} reproduced, 0 partly" in text
    assert "31 not run." in text
    assert WORDS["smoke"] not in text
    assert "<img" in (tmp_path / "report.html").read_text()


def test_a_smoke_run_is_shown_and_judges_nothing(configured, tmp_path):
    execute(configured("experiment=simulated_relevance", "budget=smoke"), tmp_path / "simulated_relevance")
    text = (tmp_path / "README.md").read_text()
    assert "33 not run." in text
    assert text.count(WORDS["smoke"]) == 2  # at the scoreboard, and in its chapter
    assert "simulated_relevance/history.svg" in text
