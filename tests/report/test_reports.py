"""Reports: what every experiment's offers, how numbers are written, and that no file is read or written twice."""

import ast
import builtins
import io
import json
import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from scipy import stats

import sbnn.report
from sbnn.commands.run import execute
from sbnn.model.methods import BBB, NN, NN_DR, SBNN
from sbnn.report.base import Report
from sbnn.report.cells import NOT_RUN, Difference, Measured, Percent, Published, as_csv, kind_of, shown
from sbnn.report.claims import PAPER, Finding
from sbnn.report.page.content import WORDS
from sbnn.report.publish import republish
from sbnn.report.registry import report_of
from sbnn.report.reliability import MEASURES
from sbnn.report.statistics import paired
from sbnn.report.style import METHODS, RECIPE_LOOKS, look

PACKAGE = Path(sbnn.report.__file__).parent


NEWER = ("gradual", "operating_points", "units", "ranking", "sensitivity")  # what older rows lack


@pytest.mark.parametrize("name", WORDS["experiments"])
def test_every_experiment_has_a_whole_report(results_of, name):
    report, results, words = report_of(name), results_of(name), WORDS["experiments"][name]
    assert isinstance(report, Report)
    rows, tables = results.rows, results.tables
    figures = report.figures(rows)
    plt.close("all")
    assert all(isinstance(table, pd.DataFrame) for table in tables.values())
    assert set(tables) <= set(words["tables"]) <= {*tables, *NEWER}
    assert set(figures) <= set(words["figures"]) <= {*figures, *NEWER}
    assert all(isinstance(figure, Figure) for figure in figures.values())
    claims = PAPER[PAPER["experiment"] == name]
    assert set(report.claims) == set(claims["id"])
    assert set(report.claims_before) == set(claims[claims["old_criterion"] != ""]["id"])
    assert set(claims["settings"]) <= {"stated", "chosen", "searched"}
    assert all(isinstance(judge(rows), Finding) for judge in (*report.claims.values(), *report.claims_before.values()))
    assert math.isfinite(report.headline(rows))
    assert math.isfinite(report.error(rows))
    assert all(math.isfinite(error) for error in report.errors_by_droprate(rows).values())
    assert ("pruning" in name) == (report.curve(rows) is not None)
    assert report.closing(rows) is None or len(report.closing(rows))
    json.dumps(report.curve(rows), allow_nan=False)


def test_calibration_is_drawn_as_it_was_measured(results_of):
    rows = results_of("vgg_pruning").rows
    drawn = report_of("vgg_pruning").figures(rows)["calibration"]
    own = rows[(rows.method == NN.name) & (rows.score == NN.score)]
    for ax, (metric, (label, times)) in zip(drawn.axes, MEASURES.items(), strict=True):
        assert ax.get_ylabel() == label
        (seen,) = (line.get_xydata() for line in ax.get_lines() if line.get_label() == NN.label)
        mean = own[own.metric == metric].groupby("droprate").value.mean()
        assert np.allclose(seen, np.stack([100 * (1 - mean.index), times * mean], axis=1))
    plt.close("all")


@pytest.fixture
def opened(monkeypatch):
    """Files of results by folder and name, as they are opened to be read and to be written."""
    read, written = Counter(), Counter()
    really = builtins.open

    def noting(file, mode="r", *arguments, **options):
        if not isinstance(file, int) and Path(file).suffix in (".csv", ".json", ".yaml", ".tmp"):
            (read if "r" in mode else written)[f"{Path(file).parent.name}/{Path(file).name}"] += 1
        return really(file, mode, *arguments, **options)

    for module in (builtins, io):
        monkeypatch.setattr(module, "open", noting)
    return read, written


def test_a_run_reads_nothing_of_its_own_and_writes_its_facts_once(judged, tmp_path, opened):
    read, written = opened
    for name in ("simulated_pruning", "simulated_relevance"):
        cfg = judged(name)
        read.clear()
        execute(cfg, tmp_path / name)
        for file in ("rows.csv", "run.json"):  # under a temporary name in a fresh folder
            assert sum(count for path, count in written.items() if path.startswith(f".{name}.new/.{file}.")) == 1
    others = {path: count for path, count in read.items() if path.startswith("simulated_")}
    whole = ("rows.csv", "run.json", "config.yaml", "claims.csv", "history.csv")
    assert others == {f"simulated_pruning/{file}": 1 for file in whole}
    assert {"budget", "report", "left_out"} <= set(json.loads((tmp_path / name / "run.json").read_text()))


def test_a_folder_that_is_reported_again_is_read_once(configured, tmp_path, opened):
    read, _ = opened
    folder = tmp_path / "simulated_relevance"
    execute(configured("experiment=simulated_relevance", "budget=smoke"), folder)
    read.clear()
    republish(folder)
    own = {path: count for path, count in read.items() if path.startswith(folder.name)}
    copied = {f"{folder.name}/{file}": 2 for file in ("rows.csv", "config.yaml", "history.csv")}  # and read
    assert own == {f"{folder.name}/run.json": 1} | copied


def test_cells_are_written_as_printed():
    assert str(Measured(3.196, 0.2249)) == "3.20 ± 0.22"
    assert str(Measured(0.00023, 0.000012, digits=4)) == "0.0002 ± 0.00001"
    assert str(Measured(3.196)) == "3.20"
    assert str(Published("3.07", "0.14")) == "3.07 ± 0.14"
    assert str(Published("8.70")) == "8.70"
    assert [str(Difference(-0.25, 0.011, beyond)) for beyond in (True, False)] == [
        "-0.250 ± 0.011, lower",
        "-0.250 ± 0.011",
    ]
    assert str(Percent(0.985)) == "98.5 %"
    table = pd.DataFrame({"a": [Measured(1.0, 0.1), NOT_RUN, None], "b": [0.123456, math.nan, 2.0], "n": [1, 2, 3]})
    assert as_csv(table) == "a,b,n\n1.00 ± 0.10,0.1235,1\nnot run,,2\n,2,3\n"
    assert [kind_of(cell) for cell in (*table["a"], *table["n"], "text")] == [
        "number",
        "open",
        None,
        *["number"] * 3,
        None,
    ]


@pytest.mark.parametrize(
    ("mean", "se", "published", "sign"),
    [
        (2.79, 0.17, Published("3.07", "0.14"), ""),  # within noise
        (2.50, 0.10, Published("3.07", "0.14"), " ▼"),
        (0.0002, 0.0001, Published("0.00", "0.00"), ""),  # within the paper's rounding
        (0.0002, 0.0001, Published("0.01", "0.00"), " ▼"),
        (1.65, 0.13, Published("1.58"), ""),
        (1.30, 0.01, Published("1.0"), " ▲"),
        (9.00, 0.01, Published("9.00"), ""),
        (3.0, math.nan, Published("2.0"), ""),  # without a standard error
        (3.0, 0.0, Published("2.0"), ""),
        (9.0, 0.01, None, ""),  # the paper has no such number
    ],
)
def test_differences_are_marked_beyond_two_standard_errors_only(mean, se, published, sign):
    cell = Measured(mean, se, 2, published)
    assert shown(cell) == f"{cell}{sign}"
    assert kind_of(cell) == {" ▼": "yes", " ▲": "no", "": "number"}[sign]


def test_only_the_papers_own_methods_stand_next_to_its_numbers(results_of):
    tables = {name: results_of(name).tables for name in ("uci_pruning", "mnist_pruning", "lenet_pruning")}
    comparison = tables["uci_pruning"]["comparison"].set_index("dataset")
    boston = comparison.loc["boston"]
    assert boston["sBNN tuned"].published == boston["sBNN (paper)"]
    assert boston["sBNN-50 tuned (snr)"].published == boston["sBNN-50 (paper)"]
    assert boston["NN (ours)"].published is boston["SVBNN (ours)"].published is None
    assert boston["PBP (ours)"].published == boston["PBP (published)"]  # of results/pbp, and the same method
    wide = comparison.loc["protein"].iloc[1]  # 100 units; the paper has 50
    assert wide["hidden"] == 100
    assert wide["sBNN tuned"].published is None
    pruned = tables["mnist_pruning"]["pruning"]
    rival = next(column for column in pruned if column.startswith("BbB") and column.endswith("snr"))
    assert [cell.published for cell in pruned[rival]] == list(pruned["BbB (paper)"])
    sparse = (
        tables["lenet_pruning"]["comparison"].set_index(["network", "method", "sparsity %"])["error %"].sort_index()
    )
    theirs = sparse.loc["LeNet-5", "sBNN (paper)", 99.2]
    assert sparse.loc["LeNet-5", "sBNN set 2 (ours)", 99.2].published == theirs
    assert all(cell.published is None for cell in sparse.loc["LeNet-5", "NN (ours)"])


def test_paired_differences_are_students():
    generator = np.random.default_rng(0)
    common = generator.normal(size=20) * 10  # splits differ far more than methods do
    ours, other = (pd.Series(common + generator.normal(shift, 0.3, 20)) for shift in (0.0, 0.4))
    found, test = paired(ours, other), stats.ttest_rel(ours, other)
    assert found.is_lower
    assert re.fullmatch(r"-[\d.]+ ± [\d.]+, lower", str(found))
    assert found.mean / found.se == pytest.approx(test.statistic)
    assert test.pvalue < 0.05
    assert not paired(ours, ours + generator.normal(0, 1, 20)).beyond_noise
    assert paired(ours[:1], other[:1]) is None


def test_no_two_curves_of_a_figure_look_alike():
    looks = [look(method) for method in METHODS] + list(RECIPE_LOOKS.values())
    assert len(set(looks)) == len(looks)
    for recipes in (["paper"], ["set_1", "set_2"]):  # of the same experiment, next to these rivals
        shown = [look(method.name) for method in (SBNN, BBB, NN, NN_DR)] + [look(SBNN.name, r) for r in recipes]
        assert len({colour for colour, _ in shown}) == len(shown)


def test_no_method_is_spelled_in_the_report():
    word = re.compile(rf"\b({'|'.join(map(re.escape, METHODS))})\b")
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # texts that nothing takes
        texts = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in docstrings]
        assert not [text for text in texts if isinstance(text, str) and word.search(text)], path
