"""The benchmark runs and measures what it says; how long anything takes is not asserted, how much memory is."""

import importlib
from pathlib import Path

import pandas as pd
import pytest
import torch

from sbnn.model.methods import SBNN
from sbnn.networks import lenet_5
from sbnn.report import benchmark as report


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")
    threads = torch.get_num_threads()
    yield importlib.import_module("benchmark")
    torch.set_num_threads(threads)


def test_writes_rows_tables_and_a_figure(benchmark, tmp_path, capsys):
    task, picture = benchmark.Task.dense(6, 8, 10, steps=2, batch=4), {"steps": 1, "batch": 2}
    plain, eager = benchmark.plain, benchmark.ours(SBNN, "never")  # to compile would take half a minute
    images = benchmark.Task("LeNet-5", lenet_5, (1, 28, 28), **picture)

    def few():
        both = {benchmark.PLAIN: plain, SBNN.label: eager, benchmark.EAGER: eager}
        for measure in ("step", "replicas", "weights", "memory"):
            yield benchmark.Comparison(measure, task, both)
        yield benchmark.Comparison("step", images, {benchmark.PLAIN: plain} | benchmark.PEERS)
        yield benchmark.Comparison("small", task, {benchmark.EAGER: eager, SBNN.label: eager})

    benchmark.main(["--folder", str(tmp_path / report.FOLDER), "--rounds", "2"], few)
    printed = capsys.readouterr().out
    rows = pd.read_csv(tmp_path / report.FOLDER / "rows.csv")
    for peer in benchmark.PEERS:
        assert peer in set(rows.contender) or f"{peer}: not installed" in printed
    assert (rows[rows.contender == benchmark.PLAIN].query("measure != 'memory'").ratio == 1).all()
    assert {"cpu", "torch", "commit", "cores"} <= set(rows.columns)
    assert {path.name for path in (tmp_path / report.FOLDER).iterdir()} == {
        "rows.csv",
        "steps.csv",
        "small.csv",
        "cost.png",
        "cost.svg",
    }
    assert "What a step costs" in (tmp_path / "README.md").read_text()


def test_the_committed_tables_are_made_of_the_committed_rows():
    folder = Path(__file__).parents[1] / "results" / report.FOLDER
    rows = pd.read_csv(folder / "rows.csv")
    for name, table in report.tables(rows).items():
        assert (folder / f"{name}.csv").read_text() == table.to_csv(index=False)


def test_peak_memory_is_what_a_hand_counts(benchmark):
    task = benchmark.Task.dense(6, 8, 10, steps=2, batch=4)

    def build(_):
        for_building = torch.zeros(5000)
        kept = for_building[:1000].clone()

        def fit():
            torch.zeros(500)
            first = kept + 1
            return torch.stack([first, kept])

        return fit

    assert benchmark.peak_bytes(task, build) == 4 * (1000 + 1000 + 2000)


def test_training_keeps_six_numbers_a_weight(benchmark):
    """Means, widths, their velocities, a draw and its gradient: half as much again as a plain network and its state."""
    torch.set_num_threads(1)  # the profiler sees one thread's allocations
    task = benchmark.Task.dense(400, 600, 10, steps=2, batch=4)
    build = benchmark.ours(SBNN)
    build(task)()  # compiles
    assert benchmark.peak_bytes(task, build) < 6.15 * 4 * task.weights
