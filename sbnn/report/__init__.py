"""From tidy rows to what people read: tables, figures, and a verdict on every claim."""

import json
import math
import os
import platform
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf

from sbnn import __version__
from sbnn.errors import SbnnError
from sbnn.report import (
    claims,
    claims_compression,
    claims_images,
    claims_simulated,
    claims_uci,
    compression,
    images,
    page,
    simulated,
    uci,
)
from sbnn.report.style import save
from sbnn.runs.context import Run
from sbnn.runs.identity import budget_of, config_hash, report_hash
from sbnn.runs.rows import read_rows, write_text

try:
    import fcntl
except ImportError:  # not a Unix: run experiments one after the other there
    fcntl = None

# Each draws its experiment's tables and figures, by file name, from the rows alone.
DRAWINGS = {
    "simulated_relevance": simulated.relevance,
    "simulated_correlation": simulated.correlation,
    "simulated_selection": simulated.selection,
    "simulated_pruning": simulated.pruning,
    "uci_pruning": uci.pruning,
    "mnist_pruning": images.mnist,
    "cifar_pruning": images.cifar,
    "lenet_pruning": compression.lenet,
    "vgg_pruning": compression.vgg,
}
JUDGES = claims_simulated.JUDGES | claims_uci.JUDGES | claims_images.JUDGES | claims_compression.JUDGES
# One number per experiment for a sweeper to bring down.
HEADLINES = claims_simulated.HEADLINES | {
    "uci_pruning": claims_uci.geometric_mean_error,
    "mnist_pruning": claims_images.mean_error,
    "cifar_pruning": claims_images.mean_error,
    "lenet_pruning": claims_compression.mean_error,
    "vgg_pruning": claims_compression.mean_error,
}
# The error of networks pruned alike; a headline is that of full ones, or takes in the whole curve.
ERRORS = HEADLINES | {"simulated_pruning": claims_simulated.mean_error}
# A table to end the run with, where there is one that fits a screen.
CLOSING = {
    "uci_pruning": uci.closing,
    "mnist_pruning": images.closing,
    "cifar_pruning": images.closing,
    "lenet_pruning": compression.closing,
    "vgg_pruning": compression.closing,
}


def publish(rows: pd.DataFrame, cfg: DictConfig, run: Run, seconds: float, command: str, judged: bool) -> float:
    """Write a finished run's folder, whole or not at all; return its headline number for a sweeper."""
    if not np.isfinite(rows["value"]).all():
        bad = rows[~np.isfinite(rows["value"])].iloc[0]
        raise SbnnError(
            f"The {bad.metric} of {bad.method}, replicate {bad.replicate}, is not finite; nothing is written."
        )
    _put_back(run.output)
    fresh = _fresh(run.output)
    rows.to_csv(fresh / "rows.csv", index=False, float_format="%.6g")
    facts = circumstances(cfg, run, seconds, command) | {"left_out": left_out(cfg, rows)}
    (fresh / "config.yaml").write_text(OmegaConf.to_yaml(cfg, resolve=True))
    _write_facts(fresh, facts)
    return _finish(fresh, run.output, judged)


def republish(folder: Path, gathered: bool = True) -> None:
    """The same from a folder's own rows.csv: tables, figures and claims anew, no training."""
    _put_back(folder)
    read_rows(folder / "rows.csv")
    fresh = _fresh(folder)
    for name in ("rows.csv", "config.yaml", "run.json"):
        shutil.copy(folder / name, fresh / name)
    _finish(fresh, folder, judged=True, gathered=gathered)


def republish_all(results: Path) -> None:
    """Every experiment in a folder, then what they say together."""
    for path in results.glob(".*.old/rows.csv"):
        _put_back(results / path.parent.name.removeprefix(".").removesuffix(".old"))
    for path in sorted(results.glob("[!.]*/rows.csv")):
        republish(path.parent, gathered=False)
    with _alone(results):
        gather(results)


def left_out(cfg: DictConfig, rows: pd.DataFrame) -> list[str]:
    """Data sets that were asked for and could not be had."""
    return [name for name in cfg.data.get("datasets", []) if name not in set(rows["dataset"])]


def circumstances(cfg: DictConfig, run: Run, seconds: float, command: str) -> dict:
    """What a reader needs to judge or repeat the run."""
    packages = ("torch", "numpy", "pandas", "scikit-learn", "matplotlib", "hydra-core")
    trained = sum(run.trained)
    device = torch.cuda.get_device_name(run.device) if run.device.type == "cuda" else platform.machine()
    return {
        "experiment": cfg.name,
        "command": command,
        "seed": cfg.seed,
        "measured_on": cfg.data.get("evaluate_on", "test"),
        "seconds": round(seconds, 1),
        "training_seconds": None if math.isnan(trained) else round(trained, 1),
        "resumed": cfg.resume,
        "device": f"{run.device.type} ({device})",
        "threads": torch.get_num_threads(),
        "processes": run.world.size,
        "commit": run.commit,
        "code": run.code,
        "config": config_hash(cfg),
        "python": platform.python_version(),
        "versions": {"sbnn": __version__} | {name: version(name) for name in packages},
    }


def _put_back(folder: Path) -> None:
    """Results that were set aside by a run cut off before it could put the new ones in their place."""
    old = folder.with_name(f".{folder.name}.old")
    if old.exists() and not (folder / "rows.csv").exists():
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(old, folder)


def _fresh(folder: Path) -> Path:
    """An empty folder beside the results, to be filled and then put in their place."""
    fresh = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    return fresh


def _write_facts(folder: Path, facts: dict) -> None:
    (folder / "run.json").write_text(json.dumps(facts, indent=2) + "\n")


def _finish(fresh: Path, folder: Path, judged: bool, gathered: bool = True) -> float:
    """Draw into the fresh folder, put it in the old one's place, then write anew what stands beside it."""
    rows, facts = read_rows(fresh / "rows.csv"), json.loads((fresh / "run.json").read_text())
    facts |= {"budget": budget_of(OmegaConf.load(fresh / "config.yaml")), "report": report_hash()}
    # Settings are chosen on validation data, claims are judged on test data.
    judged = judged and facts.get("measured_on", "test") == "test"
    tables, figures = DRAWINGS[facts["experiment"]](rows)
    for name, table in tables.items():
        table.to_csv(fresh / f"{name}.csv", index=False, float_format="%.4g")
    for name, figure in figures.items():
        save(figure, fresh / f"{name}.png")
    verdicts = claims.judge(facts["experiment"], JUDGES, rows, facts["budget"])
    if judged:
        verdicts.to_csv(fresh / "claims.csv", index=False)
    _write_facts(fresh, facts)

    with _alone(folder.parent):
        old = folder.with_name(f".{folder.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if folder.exists():
            os.replace(folder, old)
        os.replace(fresh, folder)
        shutil.rmtree(old, ignore_errors=True)
        if judged and gathered:
            gather(folder.parent)
    print(f"\n{folder}: {', '.join(sorted(p.name for p in folder.iterdir()))}")
    if judged:
        print(verdicts[["id", "claim", "paper", "ours", "verdict"]].to_string(index=False))
    else:
        print("This is one of a sweep, or measured on validation data: no claim is judged.")
    if facts["experiment"] in CLOSING:
        print(f"\n{CLOSING[facts['experiment']](rows).to_string(index=False)}")
    return headline(rows, facts["experiment"])


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """Experiments that run side by side put their folders there, and read each other's, one at a time."""
    with (results / ".lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def gather(results: Path) -> None:
    """What all experiments in a folder say together: the table of claims and the page."""
    write_text(results / "claims.csv", claims.scoreboard(results).to_csv(index=False))
    page.write(results)


def headline(rows: pd.DataFrame, experiment: str) -> float:
    return float(HEADLINES[experiment](rows))


def errors_by_droprate(rows: pd.DataFrame, experiment: str) -> dict[str, float]:
    """Beside the headline, where weights are pruned: what is left of the network at three droprates."""
    own = rows[(rows.method == "sBNN") & (rows.score == "inclusion")]
    found = {droprate: own[own.droprate == droprate].assign(droprate=0.0) for droprate in (0.0, 0.5, 0.9)}
    return {f"error@{d:g}": float(ERRORS[experiment](pruned)) for d, pruned in found.items() if len(pruned)}
