"""Probabilistic backpropagation on the UCI regressions: the benchmark's own method, next to Experiment 5's.

python scripts/pbp.py [--folder results/pbp] [--only boston concrete ...]

Splits and standardisation are those of Experiment 5, widths the benchmark's: 50 hidden units, on protein 100. Nothing
is chosen: epochs and priors are those of its authors. All splits of a data set are fitted at once, a row of each after
the other. Data sets that are in rows.csv are kept, and those named are run again. All takes some eight minutes on one
thread, half of them for protein; year, of half a million rows, is left out.
"""

import argparse
import hashlib
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import probabilistic_backpropagation as pbp
import torch
import yaml

from sbnn.compression.evaluation import TWO_SIDED_95
from sbnn.data.uci import DATASETS
from sbnn.experiments import uci_pruning
from sbnn.files import write_text
from sbnn.report import pbp as report
from sbnn.report.publish import gather
from sbnn.runs.composition import default_settings
from sbnn.runs.context import Context
from sbnn.runs.identity import code_commit, code_hash
from sbnn.runs.machine import machine
from sbnn.runs.settings import UciRun
from sbnn.streams import seed_of

LEFT_OUT = ("year",)
HIDDEN, WIDER = 50, {"protein": 100}
EPOCHS = 40


def measured(name: str, settings: UciRun, epochs: int) -> pd.DataFrame:
    """A row for every split and metric, in the target's units."""
    table, hidden = uci_pruning.available(settings)[name], WIDER.get(name, HIDDEN)
    train, test = uci_pruning.replicas(name, table, settings, Context(dtype=torch.float64))
    (x, y), (x_test, y_test) = ([values.numpy() for values in data.all()] for data in (train, test))
    seeds = [seed_of(settings.seed, report.FOLDER, name, hidden, split) for split in range(len(x))]
    started = time.process_time()
    networks = pbp.fit(x, y[..., 0], hidden, epochs, [np.random.default_rng(seed) for seed in seeds])
    seconds = time.process_time() - started
    mean, variance = pbp.predict(networks, x_test)
    error, scale = y_test[..., 0] - mean, train.y_scale[:, 0].numpy()  # (S, m), (S, 1)
    found = {
        report.RMSE: np.sqrt((error**2).mean(1)) * scale[:, 0],
        report.NLL: (np.log(2 * np.pi * variance * scale**2) / 2 + error**2 / variance / 2).mean(1),
        report.COVERAGE: (abs(error) <= TWO_SIDED_95 * np.sqrt(variance)).mean(1),
    }
    rows = pd.DataFrame({"replicate": range(len(x))} | found).melt("replicate", var_name="metric")
    print(f"{name}: RMSE {found[report.RMSE].mean():.4g}, {seconds:.0f} s", flush=True)
    columns = {"dataset": name, "hidden": hidden, "epochs": epochs}
    return rows.assign(**columns, seconds=round(seconds, 1), source=table.origin, data=table.sha256[:16])


def own_code() -> str:
    """A hash of what makes the numbers: both scripts, and what Experiment 5 makes its data with."""
    texts = [Path(file).read_bytes() for file in (__file__, pbp.__file__)]
    return hashlib.sha256(b"".join([*texts, code_hash("uci_pruning").encode()])).hexdigest()[:16]


def main(arguments: Sequence[str] | None = None, smaller: dict[str, object] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--only", nargs="+", choices=DATASETS, help="run these, even if they are done")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    path = options.folder / "rows.csv"
    options.folder.mkdir(parents=True, exist_ok=True)
    config = {"epochs": options.epochs, "hidden": HIDDEN, "wider": WIDER, "prior": pbp.PRIOR, "left_out": [*LEFT_OUT]}
    write_text(options.folder / "config.yaml", yaml.safe_dump(config | {"smaller": smaller}, sort_keys=False))
    done = set(pd.read_csv(path).dataset) if path.exists() else set()
    for name in options.only or [name for name in DATASETS if name not in done | set(LEFT_OUT)]:
        changes = {"data": {"datasets": [name]}}
        settings = default_settings("uci_pruning", "laptop").changed(changes).changed(smaller or {})
        facts = {"commit": code_commit(), "code": own_code(), "numpy": np.__version__, **machine()}
        own = measured(name, settings, options.epochs).assign(**facts)
        others = pd.read_csv(path).query("dataset != @name") if path.exists() else None
        write_text(path, pd.concat([others, own]).to_csv(index=False, float_format="%.6g"))
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
