"""Experiments 6 and 7: two hidden layers on flattened images, by width and as weights are pruned, against BbB."""

from collections.abc import Iterator
from functools import partial

import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from torch import nn

from sbnn.data.images import ImageData
from sbnn.errors import ConfigError
from sbnn.experiments import images
from sbnn.experiments.images import Job, alone, check_plan, data_of, images_of, table_of
from sbnn.experiments.recipes import recipes
from sbnn.networks import mlp
from sbnn.runs.context import Run


def check(cfg: DictConfig) -> None:
    images.check(cfg, check_recipe)


def check_recipe(method: str, cfg: DictConfig) -> None:
    for width in cfg.vary.width:
        check_plan(method, spread(cfg, width))


def spread(cfg: DictConfig, width: int) -> DictConfig:
    """The configuration with the paper's one number c, if there is one for the width, put into slab and spike."""
    c = cfg.prior.c
    if OmegaConf.is_dict(c):
        c = c.get(width)
        if c is None:
            raise ConfigError(f"prior.c={cfg.prior.c} has no value for networks of {width} units; give one, or null.")
    if c is None:
        return cfg
    if isinstance(c, bool) or not isinstance(c, int | float) or not 0 <= c <= 3:
        raise ConfigError(f"prior.c={c} must be a number in [0, 3], or a table of such numbers by width.")
    return OmegaConf.merge(cfg, {"prior": {"log_tau1": -1 + c, "log_tau0": -5 - c}})


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    return table_of(cfg, jobs(cfg, run), run)


def jobs(cfg: DictConfig, run: Run) -> Iterator[tuple[Job, ImageData, ImageData]]:
    """sBNN at every width, its rivals at the widest only: the network that the paper prunes."""
    stored = images_of(cfg, run)
    features = stored.train_x[0].numel()
    for method, recipe, own in recipes(cfg):
        for width in cfg.vary.width if method == "sBNN" else [max(cfg.vary.width)]:
            for augmentation in cfg.vary.augmentation:
                of = {"width": width, "augmentation": augmentation}
                build = partial(network, features, [width] * len(cfg.network.hidden))
                job = Job(method, recipe, alone(spread(own, width), **of), build, of)
                yield job, *data_of(own, stored, augmentation, run, flat=True)


def network(features: int, hidden: list[int]) -> nn.Module:
    with torch.device("meta"):  # the weights live in the posterior; a second set would only take memory
        return mlp(features, hidden, outputs=10)
