"""What does a training step cost compared with a plain network, in time and in memory? Prints both, with the ratios.

python scripts/benchmark_step.py [--network mlp|lenet_5|vgg_like] [--threads 1 2] [--hidden 1200 1200] [--batch 128]

Time: the contenders take turns, round after round, so that whatever else the machine does hits all of them alike. A
ratio is the median over the rounds of the ratio within a round. sBNN and BbB go through `train` with everything it
does; the plain network and the other libraries are handed one batch that never changes.
Memory: bytes in tensors at the peak of training, the batch counted, the stored data not.
"""

import argparse
import os
import statistics
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import accumulate

import torch
from contenders import CONTENDERS, DENSE_ONLY, IMAGES, MOMENTUM, NO_MOMENTUM, PLAIN, Fit, Task, rows
from torch.profiler import ProfilerActivity, profile, record_function

from sbnn.errors import ConfigError

MEGABYTE = 1e6


def seconds(task: Task, fit: Fit) -> float:
    """A step's share of one call."""
    _synchronise(task)
    started = time.perf_counter()
    fit()
    _synchronise(task)
    return (time.perf_counter() - started) / task.steps


def peak_bytes(task: Task, build: Callable[[Task], Fit]) -> int:
    """Most bytes that tensors held at once while a fit ran, those that it was built with among them."""
    if task.x.device.type == "cuda":
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


def runnable(task: Task) -> dict[str, Callable[[Task], Fit]]:
    """The contenders that run here, with a line for each that does not."""
    here = {}
    for name, build in CONTENDERS.items():
        if name in DENSE_ONLY and not task.widths:
            continue
        try:
            build(task)()
            here[name] = build
        except ModuleNotFoundError as error:
            print(f"{name:30s} not installed (no module {error.name}): pip install '.[bench]'")
        except (ImportError, ConfigError) as error:  # a library too old for this torch; no compiler
            print(f"{name:30s} does not run here: {error}")
    return here


def print_memory(task: Task, contenders: dict[str, Callable[[Task], Fit]]) -> None:
    """`+ state` counts for the plain network as much optimiser state as sBNN has: a velocity more for every weight."""
    peaks = {name: peak_bytes(task, build) for name, build in contenders.items()}
    one = task.weights * torch.finfo(torch.float32).bits // 8
    print(f"\npeak memory; one number for each of the {task.weights} weights is {one / MEGABYTE:.1f} MB")
    print(f"{'':30s}      MB  x weights  ratio  ratio to plain + state")
    for name, peak in peaks.items():
        ratios = f"{peak / peaks[PLAIN]:5.2f}  {peak / (peaks[PLAIN] + one):5.2f}"
        print(f"{name:30s} {peak / MEGABYTE:7.1f}  {peak / one:9.2f}  {ratios}")


def print_times(task: Task, contenders: dict[str, Callable[[Task], Fit]], threads: int, rounds: int) -> None:
    torch.set_num_threads(threads)
    torch.compiler.reset()  # compiled code is made for a number of threads
    fits = {name: build(task) for name, build in contenders.items()}
    for fit in fits.values():
        fit()  # compiles, and touches memory
    times = {name: [] for name in fits}
    for _ in range(rounds):
        for name, fit in fits.items():
            times[name].append(seconds(task, fit))
    print(f"\n{threads} thread{'s' * (threads > 1)}, {rounds} rounds of {task.steps} steps")
    print(f"{'':30s} ms/step  (best)  ratio  to no momentum")
    for name, own in times.items():
        ratios = [_median_ratio(own, times[other]) for other in (PLAIN, NO_MOMENTUM)]
        milliseconds = f"{statistics.median(own) * 1e3:7.2f} {min(own) * 1e3:7.2f}"
        print(f"{name:30s} {milliseconds}  {ratios[0]:5.2f}  {ratios[1]:5.2f}", flush=True)


def _median_ratio(times: Sequence[float], others: Sequence[float]) -> float:
    return statistics.median(time / other for time, other in zip(times, others, strict=True))


def _synchronise(task: Task) -> None:
    if task.x.device.type == "cuda":
        torch.cuda.synchronize()


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", choices=["mlp", *IMAGES], default="mlp", help="vgg_like is of width 0.25")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--inputs", type=int, default=784)
    parser.add_argument("--hidden", type=int, nargs="+", default=[1200, 1200])
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args(arguments)
    warnings.filterwarnings("ignore", category=DeprecationWarning)  # the other libraries'
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if options.network == "mlp":
        task = Task.dense([options.inputs, *options.hidden, 10], options.batch, options.steps, device)
    else:
        network, shape = IMAGES[options.network]
        task = Task(network, [], *rows(shape, options.batch, options.steps, device))
    name = "-".join(map(str, task.widths)) or options.network
    print(f"{name}, batch {task.batch}, {device.type}, torch {torch.__version__}")
    print(f"ratios are to {PLAIN} with momentum {MOMENTUM}, which all the others use too")
    torch.set_num_threads(1)  # the profiler sees one thread's allocations
    contenders = runnable(task)
    print_memory(task, contenders)
    for threads in options.threads:
        print_times(task, contenders, threads, options.rounds)


if __name__ == "__main__":
    main()
