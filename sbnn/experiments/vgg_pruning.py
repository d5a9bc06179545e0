"""Experiment 9: a VGG-like network on CIFAR-10, first deterministic, then with posteriors that start at its weights."""

from dataclasses import replace
from functools import partial

import pandas as pd
from omegaconf import DictConfig

from sbnn.errors import ConfigError
from sbnn.experiments import images
from sbnn.experiments.images import Job, check_plan, data_of, images_of, measured, trained
from sbnn.experiments.recipes import changed, recipes
from sbnn.model.flat import Layout
from sbnn.model.methods import as_fit
from sbnn.networks import vgg_like
from sbnn.pretrained import load_weights
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows


def check(cfg: DictConfig) -> None:
    images.check(cfg, check_plan)
    if len(cfg.vary.augmentation) > 1:
        raise ConfigError(f"vary.augmentation={list(cfg.vary.augmentation)} must be one kind in this experiment.")
    if cfg.pretrained is None and "NN" not in cfg.rivals:
        raise ConfigError(f"rivals={list(cfg.rivals)} must name NN, which the others start from, or give pretrained=.")
    network = vgg_like(cfg.network.width)
    Layout(network, cfg.network.leave_out)
    if cfg.pretrained is not None:
        load_weights(network, cfg.pretrained)


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    rows, stored = Rows(cfg.name, cfg.data.collection), images_of(cfg, run)
    build, augmentation = partial(vgg_like, cfg.network.width), cfg.vary.augmentation[0]
    of = {"width": cfg.network.width, "augmentation": augmentation}
    train, test = data_of(cfg, stored, augmentation, run, flat=False)
    first = Job("NN", "NN", changed(cfg, "NN"), build, of)
    if cfg.pretrained is None:
        start = trained(run, first, train)
    else:
        start = as_fit(load_weights(build(), cfg.pretrained), run, first.cfg)
        first = replace(first, start=start)
    measured(rows, run, first, start, train, test)
    for method, recipe, own in recipes(cfg):
        if method != "NN":
            job = Job(method, recipe, own, build, of, start)
            measured(rows, run, job, trained(run, job, train), train, test)
    return rows.table()
