"""What hangs on the settings that the paper leaves open, on the UCI regressions: steps, start, spike and width.

python scripts/uci_settings.py [--folder results/uci_settings] [--only steps grid widths]

Every network is trained and measured as Experiment 5 does it, by its recipe `paper` unless a column says otherwise:
all splits, ranked by inclusion and by snr. Columns name what differs. Done studies are kept, and those named are run
again. All takes some 40 minutes on one thread.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from sbnn.experiments import uci_pruning
from sbnn.files import write_text, written_whole
from sbnn.report import uci_settings as report
from sbnn.report.publish import gather
from sbnn.runs.composition import default_settings
from sbnn.runs.context import Context, device_named
from sbnn.runs.identity import code_commit, code_hash
from sbnn.runs.machine import machine
from sbnn.runs.settings import UciRun

ITS_OWN, TORCH = 0.04, 0.577  # init.mean_scale: the recipe's, and torch's default
SMALL = ("boston", "kin8nm")  # one that is flat to half of its weights, and one that is not
FINE = [*np.arange(0, 0.9, 0.05).round(2).tolist(), *np.arange(0.9, 1, 0.01).round(2).tolist()]
METRICS = ("rmse", "chosen_kept")  # of the second, the share of weights with p > 1/2

Job = tuple[dict[str, object], dict[str, object]]  # the columns that name it, and what it changes


def steps() -> Iterator[Job]:
    """As many steps on every data set, from two starts."""
    for scale, number in product((ITS_OWN, TORCH), (1000, 3000, 10000, 30000)):
        changes = {"trainer": {"steps": number}, "recipes": {"paper": {"init": {"mean_scale": scale}}}}
        changes |= {"data": {"hidden": {"protein": [50], "year": [100]}}, "droprates": [0.0, 0.5]}
        yield {"steps": number, "mean_scale": scale}, changes


def grid() -> Iterator[Job]:
    """Where means start and how narrow the spike is; sigma starts as wide as the spike."""
    for scale, spike in product((0.04, 0.1, 0.3, TORCH, 1.41), (-6.0, -5.0, -4.0, -3.0, -2.0)):
        stated = {"init": {"mean_scale": scale, "sigma": None}, "prior": {"log_tau0": spike}}
        yield {"mean_scale": scale, "log_tau0": spike}, {"data": {"datasets": SMALL}, "recipes": {"paper": stated}}


def widths() -> Iterator[Job]:
    """Networks of other widths, by both recipes; protein's two are the paper's and the benchmark's."""
    for recipe in ("paper", "tuned"):
        for hidden in (25, 50, 100, 200, 400):
            names = [*SMALL, *(["protein"] if hidden in (50, 100) else [])]
            changes = {"datasets": names, "hidden": {name: [hidden] for name in names}}
            yield {"recipe": recipe}, {"data": changes, "recipe": recipe}


STUDIES = {"steps": steps, "grid": grid, "widths": widths}
FIXED = {"rivals": [], "prune_gradually": [], "scores": ["inclusion", "snr"], "recipe": "paper"}


def settings_of(study: str, changes: dict[str, object]) -> UciRun:
    """Those of the experiment; a study of its own steps or start takes no more of them on larger data sets."""
    own = default_settings("uci_pruning", "laptop").changed({**FIXED, "droprates": FINE})
    if study != "widths":
        batches = {name: {"steps": 1, "batch": by.batch} for name, by in own.data.enlarge.items()}
        own = own.changed({"data": {"enlarge": batches}})
    return own.changed(changes)


def measured(study: str, context: Context, smaller: dict[str, object]) -> pd.DataFrame:
    frames = []
    for columns, changes in STUDIES[study]():
        started, settings = time.process_time(), settings_of(study, changes).changed(smaller)
        rows = uci_pruning.run(settings, context)
        rows = rows[rows.metric.isin(METRICS) & rows.score.isin(FIXED["scores"])]
        frames.append(rows.assign(metric="varied_" + rows.metric, study=study, **columns))
        print(study, columns, f"{time.process_time() - started:.0f} s", flush=True)
    return pd.concat(frames, ignore_index=True)


def main(arguments: Sequence[str] | None = None, smaller: dict[str, object] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--only", nargs="+", choices=STUDIES, default=list(STUDIES))
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    context, path = Context(device=device_named("auto"), chunk=20), options.folder / report.ROWS
    options.folder.mkdir(parents=True, exist_ok=True)
    for study in options.only:
        facts = {"commit": code_commit(), "code": code_hash("uci_pruning"), "torch": torch.__version__, **machine()}
        own = measured(study, context, smaller or {}).assign(**facts)
        others = pd.read_csv(path).query("study != @study") if path.exists() else None
        with written_whole(path) as temporary:
            found = pd.concat([others, own])
            found.to_csv(temporary, index=False, float_format="%.6g", compression={"method": "gzip", "mtime": 0})
    config = {name: [{"columns": of, "changes": by} for of, by in jobs()] for name, jobs in STUDIES.items()}
    text = {"all": {**FIXED, "droprates": FINE}, "smaller": smaller, **config}
    write_text(options.folder / "config.yaml", yaml.safe_dump(_plain(text), sort_keys=False))
    report.draw(options.folder)
    gather(options.folder.parent)


def _plain(value: object) -> object:
    """The same with lists for tuples."""
    if isinstance(value, dict):
        return {key: _plain(below) for key, below in value.items()}
    return [_plain(below) for below in value] if isinstance(value, tuple | list) else value


if __name__ == "__main__":
    main()
