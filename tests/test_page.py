"""The page: it says what the committed results say, and a browser shows all of it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from omegaconf import OmegaConf
from scipy import stats

from sbnn.commands.run import execute
from sbnn.report import DRAWINGS, JUDGES
from sbnn.report.claims import judge
from sbnn.report.page.blocks import Picture, Plot, Table
from sbnn.report.page.content import WORDS, marked, page
from sbnn.report.page.html import as_html
from sbnn.report.page.markdown import as_markdown
from sbnn.runs.identity import BUDGETS, budget_of
from sbnn.runs.rows import paired, read_rows

RESULTS = Path(__file__).parents[1] / "results"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="module")
def committed():
    """The blocks of the committed page."""
    changed = subprocess.run(["git", "-C", RESULTS, "diff", "--quiet", "HEAD", "--", "."], check=False).returncode
    if changed == 1:
        pytest.skip("results/ holds a run of your own; its page is written with it")
    return page(RESULTS)


def test_the_committed_page_is_that_of_the_committed_results(committed):
    assert (RESULTS / "README.md").read_text() == as_markdown(committed)
    assert (RESULTS / "report.html").read_text() == as_html(committed, RESULTS)


def test_every_table_and_figure_of_the_results_is_on_the_page(committed):
    kept_back = {"rows.csv", "claims.csv"}  # the measurements themselves; the scoreboard's lines
    files = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.csv") if p.name not in kept_back}
    figures = {f"{p.parent.name}/{p.name}" for p in RESULTS.glob("*/*.png")}
    assert {b.path for b in committed if isinstance(b, Table) and b.path} == files
    assert {b.path for b in committed if isinstance(b, Picture)} == figures
    assert sum(isinstance(b, Plot) for b in committed) == 6


@pytest.mark.parametrize("name", DRAWINGS)
def test_what_is_committed_is_what_this_code_makes_of_its_rows(name):
    folder = RESULTS / name
    rows, budget = read_rows(folder / "rows.csv"), json.loads((folder / "run.json").read_text())["budget"]
    tables, figures = DRAWINGS[name](rows)
    for kind, table in tables.items():
        assert (folder / f"{kind}.csv").read_text() == table.to_csv(index=False, float_format="%.4g"), "run make report"
    assert all((folder / f"{kind}.png").exists() for kind in figures)
    verdicts = judge(name, JUDGES, rows, budget).to_csv(index=False)
    assert (folder / "claims.csv").read_text() == verdicts, "run make report"


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_committed_configuration_is_that_of_its_budget_today(committed, name):
    facts = json.loads((RESULTS / name / "run.json").read_text())
    assert facts["budget"] == budget_of(OmegaConf.load(RESULTS / name / "config.yaml"))
    assert facts["budget"] in BUDGETS


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
        assert by_path[f"{path}.csv"].map(lambda cell: cell.endswith(("▼", "▲"))).to_numpy().any(), path
    for words in WORDS["experiments"].values():
        assert all(item[0].isupper() and item.endswith((".", ";")) for item in words["deviations"])


def test_what_was_not_run_is_said(configured, tmp_path):
    execute(configured("experiment=simulated_relevance", "budget=smoke"), tmp_path / "simulated_relevance")
    text = (tmp_path / "README.md").read_text()
    assert text.count("Not run.") == len(WORDS["experiments"]) - 1
    assert "simulated_relevance/relevance.png" in text
    judged = pd.read_csv(tmp_path / "simulated_relevance" / "claims.csv")["verdict"]
    assert f"Of 33 claims: {(judged == 'reproduced').sum()} reproduced, 0 partly" in text
    assert "31 not run." in text
    assert "<img" in (tmp_path / "report.html").read_text()


def test_differences_are_marked_beyond_two_standard_errors_only():
    table = pd.DataFrame(
        {
            "sBNN (paper)": ["3.07 ± 0.14", "0.00 ± 0.00", "1.58", "", "2.0"],
            "sBNN-50 (paper)": ["3.07 ± 0.14", "0.01 ± 0.00", "9.00", "1.0", "2.0"],
            "sBNN tuned": ["2.79 ± 0.17", "0.0002 ± 0.0001", "1.65 ± 0.13", "1.00 ± 0.01", "not run"],
            "sBNN-50 tuned": ["2.50 ± 0.10", "0.0002 ± 0.0001", "9.00 ± 0.01", "1.30 ± 0.01", "3.0"],
            "NN": ["9.00 ± 0.01"] * 5,
        }
    )
    found = marked(table)
    assert list(found["sBNN tuned"]) == list(table["sBNN tuned"])  # within noise, or within the paper's rounding
    assert [cell[-1] for cell in found["sBNN-50 tuned"]] == ["▼", "▼", "1", "▲", "0"]  # the last has no standard error
    assert list(found["NN"]) == list(table["NN"])  # the paper has no such column


def test_paired_differences_are_students():
    generator = np.random.default_rng(0)
    common = generator.normal(size=20) * 10  # splits differ far more than methods do
    ours, other = (pd.Series(common + generator.normal(shift, 0.3, 20)) for shift in (0.0, 0.4))
    found = re.fullmatch(r"(-[\d.]+) ± ([\d.]+), lower", paired(ours, other))
    test = stats.ttest_rel(ours, other)
    assert float(found[1]) / float(found[2]) == pytest.approx(test.statistic, rel=0.05)
    assert test.pvalue < 0.05
    assert paired(ours, ours + generator.normal(0, 1, 20)).count("er") == 0
    assert paired(ours[:1], other[:1]) == ""
