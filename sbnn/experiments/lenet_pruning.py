"""Experiment 8: LeNet-300-100 and LeNet-5 on MNIST, against what other methods of compression have published."""

from collections.abc import Iterator

import pandas as pd

from sbnn.data.images import ImageData
from sbnn.experiments import images
from sbnn.experiments.image_measures import table_of
from sbnn.experiments.images import Job, check_plan, data_of, images_of
from sbnn.experiments.recipes import changed, check_changes, recipes
from sbnn.model.flat import Layout
from sbnn.networks import LENETS, load_weights
from sbnn.runs.context import Context
from sbnn.runs.settings import ImageRun
from sbnn.training.fitting import as_fit

USES = (*images.USES, "network.leave_out", "vary.network", "by_network", "pretrained")


def check(settings: ImageRun) -> None:
    check_changes(settings, "by_network", LENETS)
    for name in settings.vary.network:
        Layout(LENETS[name](), settings.network.leave_out)
        images.check(changed(settings, name, "by_network"), check_plan)
        if settings.pretrained is not None:
            load_weights(LENETS[name](), settings.pretrained)


def run(settings: ImageRun, context: Context) -> pd.DataFrame:
    return table_of(settings, jobs(settings, context), context)


def jobs(settings: ImageRun, context: Context) -> Iterator[tuple[Job, ImageData, ImageData]]:
    stored, weights = images_of(settings, context), settings.pretrained
    for name in settings.vary.network:
        build = LENETS[name]
        for method, recipe, own in recipes(changed(settings, name, "by_network")):
            data = train, _ = data_of(own, stored, "none", context, flat=False)
            start = None if weights is None else as_fit(load_weights(build(), weights), own.model, train, context)
            for replicate in range(own.data.seeds):
                yield Job(method, recipe, own, build, {"network": name}, start, replicate), *data
