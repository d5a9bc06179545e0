"""The step benchmark runs and measures what it says; how long anything takes is not asserted, how much memory is."""

import importlib
from pathlib import Path

import pytest
import torch

from sbnn.model.methods import BBB, SBNN


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "scripts")
    threads = torch.get_num_threads()
    yield importlib.import_module("benchmark_step")
    torch.set_num_threads(threads)


@pytest.mark.parametrize("network", ["mlp", "lenet_5"])
def test_prints_a_row_for_every_contender(benchmark, monkeypatch, capsys, network):
    slow = benchmark.CONTENDERS[f"{SBNN.label}, not compiled"]  # half a minute less
    for method in (SBNN, BBB):
        monkeypatch.setitem(benchmark.CONTENDERS, method.label, slow)
    options = {"inputs": "6", "hidden": "8", "batch": "4", "steps": "2", "rounds": "2", "threads": "1"}
    benchmark.main([part for name, value in (options | {"network": network}).items() for part in (f"--{name}", value)])
    printed = capsys.readouterr().out
    for name in [name for name in benchmark.CONTENDERS if network == "mlp" or name not in benchmark.DENSE_ONLY]:
        rows = [line for line in printed.splitlines() if line.startswith(f"{name}  ")]
        assert len(rows) == 2 or (len(rows) == 1 and "pip install '.[bench]'" in rows[0])


def test_peak_memory_is_what_a_hand_counts(benchmark):
    task = benchmark.Task.dense([6, 8, 10], 4, 2, torch.device("cpu"))

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
    task = benchmark.Task.dense([400, 600, 10], 4, 2, torch.device("cpu"))
    build = benchmark.CONTENDERS[SBNN.label]
    build(task)()  # compiles
    assert benchmark.peak_bytes(task, build) < 6.1 * 4 * task.weights
