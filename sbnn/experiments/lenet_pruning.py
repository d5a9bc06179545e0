"""Experiment 8: LeNet-300-100 and LeNet-5 on MNIST, against what other methods of compression have published."""

from collections.abc import Iterator

import pandas as pd
from omegaconf import DictConfig

from sbnn.data.images import ImageData
from sbnn.errors import ConfigError
from sbnn.experiments import images
from sbnn.experiments.images import Job, alone, check_plan, data_of, images_of, table_of
from sbnn.experiments.recipes import changed, check_changes, recipes
from sbnn.model.flat import Layout
from sbnn.model.methods import as_fit
from sbnn.networks import lenet_5, lenet_300_100
from sbnn.pretrained import load_weights
from sbnn.runs.context import Run

NETWORKS = {"lenet_300_100": lenet_300_100, "lenet_5": lenet_5}


def check(cfg: DictConfig) -> None:
    check_changes(cfg, "by_network", NETWORKS)
    if list(cfg.vary.augmentation) != ["none"]:
        raise ConfigError(f"vary.augmentation={list(cfg.vary.augmentation)} must be none in this experiment.")
    for name in cfg.vary.network:
        Layout(NETWORKS[name](), cfg.network.leave_out)
        images.check(changed(cfg, name, "by_network"), check_plan)
        if cfg.pretrained is not None:
            load_weights(NETWORKS[name](), cfg.pretrained)


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    return table_of(cfg, jobs(cfg, run), run)


def jobs(cfg: DictConfig, run: Run) -> Iterator[tuple[Job, ImageData, ImageData]]:
    stored = images_of(cfg, run)
    for name in cfg.vary.network:
        for method, recipe, own in recipes(alone(changed(cfg, name, "by_network"), network=name)):
            start = None if cfg.pretrained is None else as_fit(load_weights(NETWORKS[name](), cfg.pretrained), run, own)
            job = Job(method, recipe, own, NETWORKS[name], {"network": name}, start)
            yield job, *data_of(own, stored, "none", run, flat=False)
