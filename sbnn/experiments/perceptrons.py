"""Experiments 6 and 7: two hidden layers on flattened images, by width and as weights are pruned, against BbB."""

from collections.abc import Iterator
from functools import partial

import pandas as pd
import torch
from torch import nn

from sbnn.data.images import ImageData
from sbnn.errors import ConfigError
from sbnn.experiments import images
from sbnn.experiments.image_measures import table_of
from sbnn.experiments.images import Job, check_plan, data_of, images_of
from sbnn.experiments.recipes import recipes
from sbnn.model.methods import SBNN, Method
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.settings import ImageRun

USES = (*images.USES, "prior.c", "vary.width", "vary.augmentation")


def check(settings: ImageRun) -> None:
    images.check(settings, check_recipe)


def check_recipe(method: Method, settings: ImageRun) -> None:
    for width in settings.vary.width:
        check_plan(method, with_c(settings, width))


def with_c(settings: ImageRun, width: int) -> ImageRun:
    """The settings with the paper's one number c, if there is one for the width, put into slab and spike."""
    c = settings.prior.c
    if isinstance(c, dict):
        if width not in c:
            raise ConfigError(f"prior.c={c} has no value for networks of {width} units; give one, or null.")
        c = c[width]
    return settings if c is None else settings.changed({"prior": {"log_tau1": -1 + c, "log_tau0": -5 - c, "c": None}})


def run(settings: ImageRun, context: Context) -> pd.DataFrame:
    return table_of(settings, jobs(settings, context), context)


def jobs(settings: ImageRun, context: Context) -> Iterator[tuple[Job, ImageData, ImageData]]:
    """sBNN at every width, its rivals at the widest only: the network that the paper prunes."""
    stored = images_of(settings, context)
    features, layers = stored.train_x[0].numel(), len(settings.network.hidden)
    for method, recipe, own in recipes(settings):
        for width in settings.vary.width if method is SBNN else settings.vary.width[-1:]:
            for augmentation in settings.vary.augmentation:
                build = partial(network, features, [width] * layers)
                of = {"width": width, "augmentation": augmentation}
                data = data_of(own, stored, augmentation, context, flat=True)
                for replicate in range(own.data.seeds):
                    yield Job(method, recipe, with_c(own, width), build, of, replicate=replicate), *data


def network(features: int, hidden: list[int]) -> nn.Module:
    with torch.device("meta"):  # the weights live in the posterior; a second set would only take memory
        return mlp(features, hidden, outputs=10)
