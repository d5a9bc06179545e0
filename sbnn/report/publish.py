"""From tidy rows to what people read: an experiment's folder, and the page of them all."""

import json
import math
import platform
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
from sbnn.model.saved import write_fit
from sbnn.report import (
    across,
    benchmark,
    deployment,
    folders,
    gradients,
    group_rivals,
    history,
    inclusion,
    pbp,
    remarks,
    selection_rates,
    uci_settings,
)
from sbnn.report.cells import as_csv
from sbnn.report.closing import announce, page_of
from sbnn.report.page.write import check_page, write_page
from sbnn.report.results import Results
from sbnn.report.style import save
from sbnn.runs.composition import one_folder
from sbnn.runs.context import Context
from sbnn.runs.identity import budget_of, report_hash, settings_hash
from sbnn.runs.machine import machine
from sbnn.runs.settings import RunSettings

# Of no experiment.
STUDIES = (benchmark, deployment, gradients, group_rivals, inclusion, pbp, remarks, selection_rates, uci_settings)
DRAWN = {module.FOLDER: module.draw for module in STUDIES}


def publish(
    rows: pd.DataFrame, settings: RunSettings, context: Context, seconds: float, command: str, judged: bool
) -> float:
    """Write a finished run's folder, whole or not at all; return its headline number for a sweeper."""
    check_finite(rows)
    folders.put_back(context.output)
    text, recorded = (
        table.to_csv(index=False, float_format="%.6g") for table in (rows, history.table_of(context.histories))
    )
    facts = circumstances(settings, context, seconds, command)
    facts["left_out"] = left_out(settings, rows)
    results = Results.of_run(context.output, text, recorded, facts, settings)
    with folders.fresh(context.output) as new:
        write_text(new / "rows.csv", text)
        write_text(new / "config.yaml", yaml.safe_dump(settings.plain(), sort_keys=False))
        write_text(new / "history.csv", recorded)
        for name, model in context.networks.items():
            file = "network" if len(context.networks) == 1 else f"network, {one_folder(name)}"
            write_fit(model, new / f"{file}.safetensors", context.histories[name].rows())
        for name, write in context.files.items():
            write(new / name)
        if settings.tracking == "tensorboard":
            history.write_tensorboard(results.history, new / "tensorboard")
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
        folders.copy_trained(folder, new)
        finish(results, new, judged=True, gathered=gathered)
    return results


def republish_all(folder: Path) -> None:
    """The same for every experiment in a folder, then for what they say together."""
    check_page(folder)
    folders.put_back_all(folder)
    done = []
    for path in sorted(folder.glob("[!.]*/rows.csv*")):
        if path.parent.name in DRAWN:
            DRAWN[path.parent.name](path.parent)
            continue
        try:
            done.append(republish(path.parent, gathered=False))
        except (SbnnError, OSError, ValueError, KeyError) as error:
            print(f"sbnn: {path.parent} is left as it is: {error}", file=sys.stderr)
    with folders.alone(folder):
        gather(folder, *done)
    print(f"\n{page_of(folder)}")


def gather(folder: Path, *known: Results) -> None:
    """Write what all experiments in a folder say together: claims and the page. Those known are not read again."""
    check_page(folder)
    found = {name: Results(folder / name) for name in across.PRUNED}  # read once, for the claims and for the page
    found |= {results.folder.name: results for results in known}
    verdicts = across.board(folder, known, found)
    write_text(folder / "claims.csv", verdicts.to_csv(index=False))
    write_page(folder, verdicts, found)


def finish(results: Results, new: Path, judged: bool, gathered: bool = True) -> None:
    """Draw into the fresh folder, put it in the old one's place, and write again what all experiments say together."""
    on_page = judged and results.on_test_data and bool(results.report.claims)
    results.facts |= {"budget": budget_of(results.settings), "report": report_hash()}
    for name, table in results.tables.items():
        write_text(new / f"{name}.csv", as_csv(table))
    for name, figure in results.report.figures(results.rows).items():
        save(figure, new / f"{name}.png")
    if results.history is not None and len(results.history):
        save(history.figure(results.history), new / "history.png")
    if on_page and results.is_judged:
        write_text(new / "claims.csv", results.verdicts.to_csv(index=False))
    results.facts["files"] = sorted([*(path.name for path in new.iterdir()), "run.json"])
    write_text(new / "run.json", json.dumps(results.facts, indent=2) + "\n")
    with folders.alone(results.folder.parent):
        folders.replace(results.folder, new)
        if on_page and gathered:
            gather(results.folder.parent, results)
    announce(results, on_page, gathered)


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
