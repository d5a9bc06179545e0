"""Experiment 9: a VGG-like network on CIFAR-10, first deterministic, then with posteriors that start at its weights."""

from dataclasses import replace
from functools import partial

import pandas as pd

from sbnn.checked import plainly
from sbnn.errors import ConfigError
from sbnn.experiments import images
from sbnn.experiments.image_measures import add_measured
from sbnn.experiments.images import Job, check_plan, data_of, images_of
from sbnn.experiments.recipes import changed, recipes
from sbnn.model.flat import Layout
from sbnn.model.methods import NN
from sbnn.networks import load_weights, vgg_like
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import ImageRun
from sbnn.training.fitting import as_fit

USES = (
    *images.USES, "network.leave_out", "network.width", "vary.augmentation", "pretrained", "predictive.statistics",
)  # fmt: skip


def check(settings: ImageRun) -> None:
    images.check(settings, check_plan)
    if len(settings.vary.augmentation) > 1:
        kinds = plainly(settings.vary.augmentation)
        raise ConfigError(f"vary.augmentation={kinds} must be one kind in this experiment.")
    if settings.pretrained is None and NN.name not in settings.rivals:
        rivals = plainly(settings.rivals)
        raise ConfigError(f"rivals={rivals} must name {NN.name}, which the others start from, or give pretrained=.")
    network = vgg_like(settings.network.width)
    Layout(network, settings.network.leave_out)
    if settings.pretrained is not None:
        load_weights(network, settings.pretrained)


def run(settings: ImageRun, context: Context) -> pd.DataFrame:
    rows, stored = Rows(settings.name, settings.data.collection), images_of(settings, context)
    build, (augmentation, *_) = partial(vgg_like, settings.network.width), settings.vary.augmentation
    of = {"width": settings.network.width, "augmentation": augmentation}
    train, test = data_of(settings, stored, augmentation, context, flat=False)
    for replicate in range(settings.data.seeds):
        first = Job(NN, NN.name, changed(settings, NN.name), build, of, replicate=replicate)
        if settings.pretrained is None:
            start = first.train(context, train)
        else:
            start = as_fit(load_weights(build(), settings.pretrained), first.settings.model, train, context)
            first = replace(first, start=start)
        add_measured(rows, context, first, train, test, start)
        for method, recipe, own in recipes(settings):
            if method is not NN or own.trainer.prune_to is not None:
                job = replace(first, method=method, recipe=recipe, settings=own, start=start)
                add_measured(rows, context, job, train, test)
    return rows.table()
