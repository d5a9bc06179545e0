"""From tidy rows to what people read: an experiment's folder, and the page of them all."""

import json
import math
import platform
import shutil
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from sbnn.errors import SbnnError
from sbnn.files import write_text
from sbnn.report import benchmark, deployment, folders
from sbnn.report.cells import as_csv, written
from sbnn.report.claims import scoreboard
from sbnn.report.page.write import check_page, write_page
from sbnn.report.results import Results
from sbnn.report.style import save
from sbnn.runs.context import Context
from sbnn.runs.identity import budget_of, report_hash, settings_hash
from sbnn.runs.machine import machine
from sbnn.runs.settings import RunSettings


def publish(
    rows: pd.DataFrame, settings: RunSettings, context: Context, seconds: float, command: str, judged: bool
) -> float:
    """Write a finished run's folder, whole or not at all; return its headline number for a sweeper."""
    check_finite(rows)
    folders.put_back(context.output)
    text, facts = rows.to_csv(index=False, float_format="%.6g"), circumstances(settings, context, seconds, command)
    facts["left_out"] = left_out(settings, rows)
    results = Results.of_run(context.output, text, facts, settings)
    with folders.fresh(context.output) as new:
        write_text(new / "rows.csv", text)
        write_text(new / "config.yaml", yaml.safe_dump(settings.plain(), sort_keys=False))
        finish(results, new, judged)
    return results.headline


def check_finite(rows: pd.DataFrame) -> None:
    """Refuse measurements that are no numbers."""
    for bad in rows[~np.isfinite(rows["value"])].itertuples():
        raise SbnnError(
            f"The {bad.metric} of {bad.method}, replicate {bad.replicate}, is not finite; nothing is written."
        )


def republish(folder: Path, gathered: bool = True) -> Results:
    """Write a folder's tables, figures and claims again, from its own rows.csv, without training."""
    folders.put_back(folder)
    results = Results(folder)
    _ = results.rows  # a folder without rows is left alone
    with folders.fresh(folder) as new:
        for name in ("rows.csv", "config.yaml"):
            shutil.copy(folder / name, new / name)
        finish(results, new, judged=True, gathered=gathered)
    return results


def republish_all(folder: Path) -> None:
    """The same for every experiment in a folder, then for what they say together."""
    check_page(folder)
    folders.put_back_all(folder)
    done = []
    for path in sorted(folder.glob("[!.]*/rows.csv")):
        if timed := [one for one in (benchmark, deployment) if path.parent.name == one.FOLDER]:
            timed[0].draw(path.parent)
            continue
        try:
            done.append(republish(path.parent, gathered=False))
        except (SbnnError, OSError, ValueError, KeyError) as error:
            print(f"sbnn: {path.parent} is left as it is: {error}", file=sys.stderr)
    with folders.alone(folder):
        gather(folder, *done)


def gather(folder: Path, *known: Results) -> None:
    """Write what all experiments in a folder say together: claims and the page. Those known are not read again."""
    check_page(folder)
    verdicts = scoreboard(folder, {results.folder.name: results.verdicts for results in known if results.on_test_data})
    write_text(folder / "claims.csv", verdicts.to_csv(index=False))
    write_page(folder, verdicts, {results.folder.name: results for results in known})


def finish(results: Results, new: Path, judged: bool, gathered: bool = True) -> None:
    """Draw into the fresh folder, put it in the old one's place, and write again what all experiments say together."""
    judged = judged and results.on_test_data
    results.facts |= {"budget": budget_of(results.settings), "report": report_hash()}
    for name, table in results.tables.items():
        write_text(new / f"{name}.csv", as_csv(table))
    for name, figure in results.report.figures(results.rows).items():
        save(figure, new / f"{name}.png")
    if judged:
        write_text(new / "claims.csv", results.verdicts.to_csv(index=False))
    results.facts["files"] = sorted([*(path.name for path in new.iterdir()), "run.json"])
    write_text(new / "run.json", json.dumps(results.facts, indent=2) + "\n")
    with folders.alone(results.folder.parent):
        folders.replace(results.folder, new)
        if judged and gathered:
            gather(results.folder.parent, results)
    announce(results, judged)


def announce(results: Results, judged: bool) -> None:
    """Print what was written, the verdicts, and the experiment's closing table."""
    print(f"\n{results.folder}: {', '.join(sorted(path.name for path in results.folder.iterdir()))}")
    if judged:
        print(results.verdicts[["id", "claim", "paper", "ours", "verdict"]].to_string(index=False))
    else:
        print("This is one of a sweep, or measured on validation data: no claim is judged.")
    if (closing := results.report.closing(results.rows)) is not None:
        print(f"\n{closing.map(written).to_string(index=False)}")


def left_out(settings: RunSettings, rows: pd.DataFrame) -> list[str]:
    """Data sets that were asked for and could not be had."""
    return [name for name in getattr(settings.data, "datasets", ()) if name not in set(rows["dataset"])]


def circumstances(settings: RunSettings, context: Context, seconds: float, command: str) -> dict:
    """What a reader needs to judge or repeat the run."""
    packages = ("sbnn", "torch", "numpy", "pandas", "scikit-learn", "matplotlib", "hydra-core")
    trained = sum(context.fit_seconds.values())
    device = torch.cuda.get_device_name(context.device) if context.device.type == "cuda" else platform.machine()
    return {
        "experiment": settings.name,
        "command": command,
        "seed": settings.seed,
        "measured_on": settings.data.evaluate_on,
        "seconds": round(seconds, 1),
        "training_seconds": None if math.isnan(trained) else round(trained, 1),
        "fit_seconds": {name: round(spent, 2) for name, spent in context.fit_seconds.items()},
        "resumed": bool(context.resumed),
        "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        "machine": machine(),
        "data": context.data_hashes,
        "device": f"{context.device.type} ({device})",
        "threads": torch.get_num_threads(),
        "processes": context.world.size,
        "commit": context.commit,
        "code": context.code,
        "config": settings_hash(settings),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }
