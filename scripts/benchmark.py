"""What does a training step cost, in time and in memory, against a plain network's and other libraries'?

python scripts/benchmark.py [--folder results/benchmark] [--rounds 9] [--only step small replicas weights memory]

The contenders of a comparison take turns, round after round, so that whatever else the machine does hits all of them
alike; a ratio is the median over the rounds of the ratio within a round. Times are of the process, on one CPU thread
(on CUDA, of the clock). Our own methods go through `train` with all that it does; plain networks and other libraries
are handed one batch that never changes. Memory is bytes in tensors at the peak, the batch counted, stored data not.
"""

import argparse
import gc
import os
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pandas as pd
import torch
from contenders import PEERS, Build, Fit, Task, ours, plain
from torch.profiler import ProfilerActivity, profile, record_function

from sbnn.errors import ConfigError
from sbnn.files import write_text
from sbnn.model.methods import BBB, NN, NN_DR, SBNN
from sbnn.networks import lenet_5, vgg_like
from sbnn.report import benchmark as report
from sbnn.report.publish import gather
from sbnn.runs.identity import code_commit
from sbnn.runs.machine import machine

PLAIN, EAGER = report.PLAIN, report.EAGER
METHODS = {method.label: ours(method) for method in (NN, SBNN, BBB)}
MEASURES = ("step", "small", "replicas", "weights", "memory")


@dataclass(frozen=True)
class Comparison:
    """Contenders on one task; ratios are to the first of them."""

    measure: str
    task: Task
    contenders: dict[str, Build]


def comparisons() -> Iterator[Comparison]:
    """All that is measured. Small networks are trained as the experiments train them: replicas at once, by Adam."""
    networks = [
        Task.dense(784, 1200, 1200, 10, steps=30),
        Task("LeNet-5", lenet_5, (1, 28, 28), steps=30),
        Task("VGG, width 0.25", lambda: vgg_like(0.25), (3, 32, 32), steps=10),
    ]
    for task in networks:
        peers = {} if task.name.startswith("VGG") else PEERS  # none of them takes batch norm
        yield Comparison("step", task, {PLAIN: plain} | METHODS | peers)
    adam = {"optimizer": "adam", "steps": 100}
    for task in (
        Task.dense(13, 50, 1, name="UCI Boston", batch=100, replicas=20, **adam),
        Task.dense(9, 100, 1, name="UCI protein", batch=400, replicas=5, **adam),
        Task.dense(100, 20, 10, 1, name="simulated, 100 features", batch=160, replicas=100, **adam | {"steps": 20}),
    ):
        for method in (SBNN, BBB, NN, NN_DR):
            yield Comparison("small", task, {EAGER: ours(method, "never"), method.label: ours(method)})
    for count in (1, 10, 100, 1000):
        task = Task.dense(13, 50, 1, name="UCI Boston", batch=100, replicas=count, optimizer="adam", steps=20)
        yield Comparison("replicas", task, {PLAIN: plain, SBNN.label: ours(SBNN), EAGER: ours(SBNN, "never")})
    for width, steps in ((55, 100), (265, 50), (950, 10), (3110, 3)):
        task = Task.dense(100, width, width, 10, steps=steps)
        yield Comparison("weights", task, {PLAIN: plain, SBNN.label: ours(SBNN), EAGER: ours(SBNN, "never")})
    for task in networks:
        yield Comparison("memory", task, {PLAIN: plain} | METHODS)


def seconds(task: Task, fit: Fit) -> float:
    """A step's share of one call."""
    clock = time.process_time if task.device.type == "cpu" else time.perf_counter
    _synchronise(task)
    started = clock()
    fit()
    _synchronise(task)
    return (clock() - started) / task.steps


def timed(comparison: Comparison, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds a step of every contender, and its ratio to the first with quartiles."""
    task = comparison.task
    fits = {name: build(task) for name, build in runnable(comparison).items()}
    for fit in fits.values():
        fit()  # compiles, and touches memory
    times: dict[str, list[float]] = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            times[name].append(seconds(task, fit))
    first = next(iter(times.values()))
    found = {}
    for name, own in times.items():
        ratios = [one / other for one, other in zip(own, first, strict=True)]
        low, _, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
        found[name] = {"value": statistics.median(own) * 1e3, "ratio": statistics.median(ratios)}
        found[name] |= {"low": low, "high": high}
    return found


def sized(comparison: Comparison) -> dict[str, dict[str, float]]:
    """Peak megabytes of every contender; ratios to the first, with as much optimiser state counted as sBNN has."""
    task, builds = comparison.task, runnable(comparison)
    peaks = {name: peak_bytes(task, build) for name, build in builds.items()}
    extra = 4 * task.weights  # a velocity more for every weight
    return {name: {"value": peak / 1e6, "ratio": peak / (peaks[PLAIN] + extra)} for name, peak in peaks.items()}


def peak_bytes(task: Task, build: Build) -> int:
    """Most bytes that tensors held at once while a fit ran, those that it was built with among them."""
    gc.collect()
    if task.device.type == "cuda":
        before = torch.cuda.memory_allocated()
        fit = build(task)
        torch.cuda.reset_peak_memory_stats()
        fit()
        return torch.cuda.max_memory_allocated() - before
    # The profiler is told of each allocation by torch's allocator, through which compiled code goes as well.
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # it would announce each start and stop
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiled:
        fit = build(task)
        with record_function("fit"):
            fit()
    events = profiled.profiler.kineto_results.events()
    begin = next(event.start_ns() for event in events if event.name() == "fit")
    changes = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    live = sum(change for when, change in changes if when < begin)
    return max(accumulate((change for when, change in changes if when >= begin), initial=live))


def runnable(comparison: Comparison) -> dict[str, Build]:
    """The contenders that run here, with a line for each that does not."""
    here = {}
    for name, build in comparison.contenders.items():
        try:
            build(comparison.task)()
            here[name] = build
        except ModuleNotFoundError as error:
            print(f"  {name}: not installed (no module {error.name}): make benchmark-peers")
        except (ImportError, ConfigError) as error:  # a library too old for this torch; no compiler
            print(f"  {name}: does not run here: {error}")
    return here


def measured(chosen: Sequence[str], rounds: int, listed: Callable[[], Iterator[Comparison]]) -> pd.DataFrame:
    rows = []
    for comparison in listed():
        if comparison.measure not in chosen:
            continue
        task = comparison.task
        print(f"{comparison.measure}: {task.name}, {task.weights} weights, {task.replicas} replicas", flush=True)
        found = sized(comparison) if comparison.measure == "memory" else timed(comparison, rounds)
        fixed = {"measure": comparison.measure, "network": task.name, "weights": task.weights}
        fixed |= {"replicas": task.replicas, "batch": task.batch, "optimizer": task.optimizer}
        for name, numbers in found.items():
            rows.append(fixed | {"contender": name} | numbers | {"rounds": rounds, "steps": task.steps})
            print(f"  {name:28s} {numbers['value']:9.3f} {numbers['ratio']:7.2f}", flush=True)
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None, listed: Callable[[], Iterator[Comparison]] = comparisons) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results/benchmark"))
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=MEASURES, default=MEASURES)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # the other libraries'
    torch.set_num_threads(1)
    rows = measured(options.only, options.rounds, listed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    facts = {"device": device, "threads": 1, "torch": torch.__version__, "commit": code_commit(), **machine()}
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", rows.assign(**facts).to_csv(index=False, float_format="%.5g"))
    report.draw(options.folder)
    gather(options.folder.parent)


def _synchronise(task: Task) -> None:
    if task.device.type == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
