"""What is measured of a network trained on images, and how a measurement outlives a run that is cut off."""

import json
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from io import StringIO

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sbnn.compression.batch_norm import restated
from sbnn.compression.evaluation import Classified
from sbnn.compression.operating_points import operating_points
from sbnn.compression.paths import active_share
from sbnn.compression.pruning import prune_masks
from sbnn.compression.units import widths
from sbnn.data.images import ImageData
from sbnn.experiments.images import Job
from sbnn.experiments.recipes import FINETUNE, OURS, changed
from sbnn.files import write_text
from sbnn.model.fit import Fit
from sbnn.model.methods import NN, SBNN
from sbnn.runs.context import Context
from sbnn.runs.identity import digest, effective
from sbnn.runs.keys import MEASURING, TRAINING
from sbnn.runs.rows import Rows
from sbnn.runs.settings import ImageRun
from sbnn.streams import Streams, seed_of
from sbnn.training.fitting import Start
from sbnn.training.history import History
from sbnn.training.masking import score_by
from sbnn.training.schedule import Plan

CDF_STEPS = 200
UNITS_BY = ("inclusion", "saliency")  # what ranks whole units: the paper's relevance of any node, and what they cost


def table_of(settings: ImageRun, jobs: Iterable[tuple[Job, ImageData, ImageData]], context: Context) -> pd.DataFrame:
    """Train and measure one network after the other."""
    rows = Rows(settings.name, settings.data.collection)
    for job, train, test in jobs:
        add_measured(rows, context, job, train, test)
    return rows.table()


def add_measured(
    rows: Rows, context: Context, job: Job, train: ImageData, test: ImageData, model: Fit | None = None
) -> None:
    """Train, unless there is a model, and measure; but only once.

    What this code found before the run was cut off lies by the checkpoints, and needs none of them.
    """
    settings, before = job.settings, set(context.histories)
    agreed = digest([effective(settings, (TRAINING, MEASURING)), settings.recipes.get(FINETUNE)])
    kept = context.checkpoints and context.checkpoints / f"{job.label}-{agreed}-{context.code}.csv"
    if kept is not None and kept.exists() and not settings.keep_network:
        text = kept.read_text("utf-8")
        remember(context, json.loads(kept.with_suffix(".json").read_text("utf-8")))
    else:
        own = Rows(settings.name, settings.data.collection)
        Measurement(own, context, job, model or job.train(context, train), train, test).add()
        text = pd.concat(own.frames).to_csv(index=False)
        if kept is not None and context.world.leads:
            write_text(kept.with_suffix(".json"), json.dumps(memory_of(context, set(context.histories) - before)))
            write_text(kept, text)
    rows.frames.append(pd.read_csv(StringIO(text)))  # the same types, whether it was kept or not


def memory_of(context: Context, fits: set[str]) -> dict[str, dict]:
    """How some fits went, as numbers that JSON takes as they are."""
    seconds = {name: took for name, took in context.fit_seconds.items() if name.rpartition("-")[0] in fits}
    return {"histories": {name: context.histories[name].plain() for name in sorted(fits)}, "seconds": seconds}


def remember(context: Context, memory: dict[str, dict]) -> None:
    """As if these fits had been trained in this sitting."""
    context.histories.update({name: History.of(plain) for name, plain in memory["histories"].items()})
    context.fit_seconds.update(memory["seconds"])
    context.resumed.extend(memory["seconds"])


class Measurement:
    """A network as it is pruned ever more, under every score it has; by its own, also what each layer keeps.

    Where batch norm keeps statistics they are taken again for each of these networks, on training images augmented as
    they were; `stale_` are measurements without that. `finetuned_` are of a pruned network that was trained on.
    """

    def __init__(self, rows: Rows, context: Context, job: Job, model: Fit, train: ImageData, test: ImageData):
        self.rows, self.context, self.job, self.model, self.train, self.test = rows, context, job, model, train, test
        settings, plan = job.settings, Plan(job.settings.trainer, model.prior, train.size)
        self.settings, self.replicate = settings, [{"replicate": job.replicate}]
        self.statistics = replace(train, rows=train.rows[:, : settings.predictive.statistics])
        self.classified = Classified(model, test, settings.predictive.samples, [seed_of("test", job.seed)])
        self.columns = {
            "method": job.method.name,
            "recipe": job.recipe if job.method is SBNN else OURS,
            **job.of,
            "epochs": 0 if model is job.start else plan.steps // plan.batches,
            "images": train.size,
            "measured": test.size,
            "weights": model.layout.size,
        }

    def add(self) -> None:
        if self.model.posterior.keep is not None:
            self.add_gradual(self.model.posterior.keep)
            return
        full = self.classified.right(self.restated)
        for score in self.job.method.offered(self.settings.scores):
            masks = prune_masks(self.model, self.settings.droprates, score, self.settings.pruning)
            for droprate, keep in zip(self.settings.droprates, masks, strict=True):
                where, own = {"score": score, "droprate": droprate}, score == self.job.method.score
                self.add_metrics("", self.classified.measure(keep, self.restated, own, full), where)
                if own:
                    self.add_more(keep, droprate, where)
        for score, keep in operating_points(self.model, self.job.method.scores):
            found = self.classified.measure(keep, self.restated) | {"kept": keep.double().mean(1)}
            self.add_metrics("chosen_", found, {"score": score})
        if self.job.method is SBNN:
            self.add_inclusion()
            self.add_units()

    def add_gradual(self, keep: Tensor) -> None:
        """What is left of a network that was pruned while it was trained."""
        trainer = self.settings.trainer
        where = {"score": score_by(self.model, trainer.gradual), "droprate": trainer.prune_to}
        self.add_metrics("gradual_", self.classified.measure(keep, self.restated, sampled=True), where)
        self.add_layers("gradual_kept", keep, where)

    def add_layers(self, metric: str, keep: Tensor, where: dict[str, object]) -> None:
        """How many weights each layer keeps."""
        layout = self.model.layout
        self.add_metrics("", {metric.replace("kept", "active"): active_share(self.model, keep)}, where)
        for layer, share in zip(layout.modules, layout.per_module(keep), strict=True):
            also = {"layer": layer, "layer_weights": share.shape[-1]}
            self.rows.add(self.replicate, metric, share.sum(-1), **also, **where, **self.columns)

    def add_more(self, keep: Tensor, droprate: float, where: dict[str, object]) -> None:
        """What is measured under the method's own score alone."""
        if self.model.layout.norms:
            self.add_metrics("stale_", self.classified.measure(keep), where)
        self.add_layers("kept", keep, where)
        if droprate in self.settings.finetune:
            again = self.retrained(droprate, keep)
            now = partial(self.restated, auxiliary=again.auxiliary)
            self.add_metrics("finetuned_", Classified(again, self.test, 0, []).measure(keep, now), where)

    def add_inclusion(self) -> None:
        """The distribution of inclusion probabilities."""
        inclusion, _ = self.model.inclusion()[0].sort()
        for threshold in np.linspace(0, 1, CDF_STEPS + 1).round(4):
            below = torch.searchsorted(inclusion, float(threshold), right=False) / len(inclusion)
            self.rows.add(self.replicate, "inclusion_below", below[None], threshold=threshold, **self.columns)

    def add_units(self) -> None:
        """The network as whole units leave it instead of single weights, and how many every layer has left."""
        by_unit = self.settings.pruning.model_copy(update={"scope": "unit"})
        for score in UNITS_BY:
            masks = prune_masks(self.model, self.settings.droprates, score, by_unit)
            for droprate, keep in zip(self.settings.droprates, masks, strict=True):
                where = {"score": score, "droprate": droprate}
                found = {"error": self.classified.measure(keep, self.restated)["error"], "kept": keep.double().mean(1)}
                self.add_metrics("unit_", found, where)
                for place, count in enumerate(widths(self.model, keep).unbind(1)):
                    self.rows.add(self.replicate, "units", count, layer=str(place), **where, **self.columns)

    def add_metrics(self, prefix: str, found: dict[str, Tensor], where: dict[str, object]) -> None:
        for metric, values in found.items():
            self.rows.add(self.replicate, prefix + metric, values, **where, **self.columns)

    def restated(self, weights: Tensor, auxiliary: dict[str, Tensor] | None = None) -> dict[str, Tensor]:
        """The statistics of batch norm for these weights, on the same images every time."""
        streams = Streams([seed_of("statistics", self.job.seed)], self.context.device)
        batches = (x for x, _ in self.statistics.batches(streams))
        return restated(self.model.layout, weights, batches, auxiliary or self.model.auxiliary)

    def retrained(self, droprate: float, keep: Tensor) -> Fit:
        """What pruning has left, trained on as a deterministic network; its name says how it was pruned."""
        job, pruned = self.job, (droprate, *self.settings.pruning.model_dump().values())
        name, settings = "-".join([job.label, FINETUNE, *map(str, pruned)]), changed(self.settings, FINETUNE)
        start = Start(NN, self.model.layout.network, settings.model, self.model, keep=keep)
        return self.context.fit(start, self.train, settings, [job.seed], name)
