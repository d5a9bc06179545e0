"""How much faster are replicas trained together than one after another? Prints the ratio.

python scripts/benchmark_replicas.py [--replicas 20] [--threads 1]
"""

import argparse
import time

import torch

from sbnn.data.replicas import ReplicaData
from sbnn.model.methods import BBB, BNN, NN, NN_DR, SBNN, Method
from sbnn.networks import mlp
from sbnn.training.fitting import Start, fit
from sbnn.training.session import Session
from sbnn.training.settings import Training

HIDDEN, TRAINING = [20, 10], Training(epochs=20, batch=160, lr=0.01)


def seconds(session: Session, method: Method, data: ReplicaData, features: int) -> float:
    """One fit of all replicas of `data`."""
    network = mlp(features, HIDDEN, dropout=method.dropout)
    dropout = torch.full((len(data),), 0.1, device=session.device) if method.dropout else None
    started = time.perf_counter()
    fit(Start(method, network, dropout=dropout), data, TRAINING, range(len(data)), "benchmark", session)
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--replicas", type=int, default=20)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    session = Session(torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    print(f"{options.replicas} replicas, batch {TRAINING.batch}, {session.device.type}, {options.threads} threads")
    for features in (8, 20, 100):
        x = torch.randn(options.replicas, 1600, features, device=session.device)
        rows = torch.arange(1600, device=session.device).expand(options.replicas, -1)
        data = ReplicaData(x, x[..., :1], torch.arange(options.replicas, device=session.device), rows)
        for method in (SBNN, BBB, BNN, NN, NN_DR):
            seconds(session, method, data[:1], features)  # warm up
            together = seconds(session, method, data, features)
            alone = sum(seconds(session, method, data[r : r + 1], features) for r in range(options.replicas))
            times = f"{alone:6.2f} s alone  {together:6.2f} s together  {alone / together:5.1f} x"
            print(f"{features:4d} features  {method.name:6s} {times}")


if __name__ == "__main__":
    main()
