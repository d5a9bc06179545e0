"""Extend finished results on images: with more seeds or rivals, only what is new is trained.

python scripts/extend_results.py lenet_pruning --into FOLDER [--results results]
sbnn-run experiment=lenet_pruning results_dir=FOLDER data.seeds=10

Every network's rows and history are laid where an interrupted run would have left them, so that the second command goes
on from there. It takes a network for its own only if code and settings are the same.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pandas as pd
import torch

from sbnn.data.images import ImageData
from sbnn.errors import SbnnError
from sbnn.experiments import image_measures
from sbnn.experiments.images import Job
from sbnn.experiments.recipes import FINETUNE, OURS
from sbnn.experiments.registry import experiment_named
from sbnn.model.methods import SBNN
from sbnn.runs.composition import experiments, read_settings
from sbnn.runs.context import Context
from sbnn.runs.identity import code_hash
from sbnn.runs.rows import Rows, read_rows
from sbnn.runs.settings import ImageRun
from sbnn.training.history import MEASURES, History


class Finished:
    """Results in a folder, network by network."""

    def __init__(self, folder: Path):
        self.settings, self.rows = read_settings(folder / "config.yaml"), read_rows(folder / "rows.csv")
        if not isinstance(self.settings, ImageRun):
            raise SbnnError(f"{self.settings.name} is not on images; its runs train all of their networks together.")
        self.facts = json.loads((folder / "run.json").read_text("utf-8"))
        if self.facts["code"] != code_hash(self.settings.name):
            raise SbnnError(f"{folder} was made by other code than this, which would train every network again.")
        self.histories = dict(list(pd.read_csv(folder / "history.csv").groupby("fit")))

    def fits_of(self, job: Job) -> list[str]:
        """A network, and those that its pruned ones were trained on to."""
        return [name for name in self.histories if name == job.label or name.startswith(f"{job.label}-{FINETUNE}-")]

    def rows_of(self, job: Job) -> pd.DataFrame:
        rows, droprate = self.rows, job.settings.trainer.prune_to
        own = {"method": job.method.name, "recipe": job.recipe if job.method is SBNN else OURS, **job.of}
        own |= {"replicate": job.replicate}
        gradual = rows.metric.str.startswith("gradual_")
        here = ~gradual if droprate is None else gradual & (rows.droprate == droprate)
        for column, value in own.items():
            here &= rows[column] == value
        if not here.any():
            raise SbnnError(f"There are no rows of {job.label}.")
        return rows[here].dropna(axis=1, how="all")

    def tell(self, context: Context, job: Job) -> None:
        """What a context would know if it had trained this network."""
        for name in self.fits_of(job):
            lines = self.histories[name]
            measures = [torch.tensor(own) for own in lines[list(MEASURES)].to_numpy().tolist()]
            context.histories[name] = History(1, lines.epoch.tolist(), lines.seconds.tolist(), measures)
            context.fit_seconds[f"{name}-0"] = self.facts["fit_seconds"][f"{name}-0"]


def laid_out(finished: Finished, into: Path) -> pd.DataFrame:
    """The experiment gone through without training; its rows."""

    def measured(rows: Rows, context: Context, job: Job, *_: object) -> SimpleNamespace:
        return SimpleNamespace(add=lambda: rows.frames.append(finished.rows_of(job)))

    def train(job: Job, context: Context, data: ImageData) -> None:
        finished.tell(context, job)

    settings = finished.settings.changed({"progress": False, "resume": "auto", "force": False})
    with patch.object(image_measures, "Measurement", measured), patch.object(Job, "train", train):
        return experiment_named(settings.name).run(settings, Context.of(settings, into / settings.name))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("experiment", choices=experiments())
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--results", type=Path, default=Path("results"))
    options = parser.parse_args(arguments)
    try:
        finished = Finished(options.results / options.experiment)
        rows = laid_out(finished, options.into)
        if len(rows) != len(finished.rows):
            raise SbnnError(f"{len(finished.rows) - len(rows)} rows belong to none of its networks.")
    except (SbnnError, OSError) as error:
        sys.exit(f"extend_results: {error}")
    count, name = len(finished.histories), options.experiment
    print(f"{count} fits; sbnn-run experiment={name} results_dir={options.into} goes on from them.")


if __name__ == "__main__":
    main()
