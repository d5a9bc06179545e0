"""How much faster are replicas trained together than one after another? Prints the ratio.

python scripts/benchmark_replicas.py [--replicas 20] [--threads 1]
"""

import argparse
import time

import torch

from sbnn.data.replicas import ReplicaData
from sbnn.model.methods import METHODS, fit
from sbnn.networks import mlp
from sbnn.runs.context import Run
from sbnn.runs.settings import composed


def seconds(run: Run, method: str, cfg, data: ReplicaData, features: int) -> float:
    """One fit of all replicas of `data`."""
    network = mlp(features, cfg.network.hidden, dropout=method == "NN_Dr")
    dropout = torch.full((len(data),), 0.1, device=run.device) if method == "NN_Dr" else None
    started = time.perf_counter()
    fit(run, method, network, data, cfg, list(range(len(data))), "benchmark", dropout=dropout)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    cfg = composed("trainer.epochs=20")
    run = Run(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    print(f"{options.replicas} replicas, batch {cfg.trainer.batch}, {run.device.type}, {options.threads} threads")
    for features in (8, 20, 100):
        x = torch.randn(options.replicas, 1600, features, device=run.device)
        rows = torch.arange(1600, device=run.device).expand(options.replicas, -1)
        data = ReplicaData(x, x[..., :1], torch.arange(options.replicas, device=run.device), rows)
        for method in METHODS:
            seconds(run, method, cfg, data[:1], features)  # warm up
            together = seconds(run, method, cfg, data, features)
            alone = sum(seconds(run, method, cfg, data[r : r + 1], features) for r in range(options.replicas))
            times = f"{alone:6.2f} s alone  {together:6.2f} s together  {alone / together:5.1f} x"
            print(f"{features:4d} features  {method:6s} {times}")


if __name__ == "__main__":
    main()
