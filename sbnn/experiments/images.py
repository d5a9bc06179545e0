"""What the image experiments share: the data, the networks to train on them, and what is measured of each."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from sbnn import config
from sbnn.data.images import Augmentation, ImageData, held_out
from sbnn.data.sources import data_directory
from sbnn.data.vision import COLLECTIONS, Images, load
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import check_recipes, recipes
from sbnn.methods import SCORES, fit, prior_of
from sbnn.networks import mlp
from sbnn.predictive import Classified
from sbnn.pruning import Pruning, prune_masks
from sbnn.report.rows import Rows
from sbnn.run import Run
from sbnn.schedule import Plan, Training
from sbnn.streams import seed_of

AUGMENTATIONS = {"none": None, "crop_and_flip": Augmentation(padding=4, flip=True), "crop": Augmentation(padding=2)}
CDF_STEPS = 200


@dataclass(frozen=True)
class Job:
    """One network to train."""

    method: str
    recipe: str
    width: int
    augmentation: str
    cfg: DictConfig  # with the recipe's changes

    @property
    def label(self) -> str:
        return "-".join([self.recipe, str(self.width), *([] if self.augmentation == "none" else [self.augmentation])])


def check(cfg: DictConfig) -> None:
    if cfg.data.dir is not None and not isinstance(cfg.data.dir, str):
        raise ConfigError(f"data.dir={cfg.data.dir} must be the path of a folder.")
    channels = COLLECTIONS[cfg.data.collection].shape[0]
    for key in ("shift", "scale"):
        if len(cfg.data[key]) != channels:
            raise ConfigError(f"data.{key}={list(cfg.data[key])} must hold {channels}: one number for each channel.")
    if "NN_Dr" in cfg.rivals:
        raise ConfigError(f"rivals={list(cfg.rivals)} must be NN or BbB in this experiment.")
    if cfg.data.evaluate_on == "validation" and len(rows_of(cfg)[1]) == 0:
        raise ConfigError(f"data.validation_share={cfg.data.validation_share} holds no image back.")
    check_recipes(cfg, check_recipe)


def check_recipe(method: str, cfg: DictConfig) -> None:
    for width in cfg.vary.width:
        own = spread(cfg, width)
        config.check(own)
        Plan(Training(**own.trainer), prior_of(method, own), len(rows_of(own)[0]))


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


def rows_of(cfg: DictConfig) -> tuple[Tensor, Tensor]:
    """Rows of the training images to train on, and those that are held back (none where the test set is measured)."""
    share = cfg.data.validation_share if cfg.data.evaluate_on == "validation" else 0.0
    train, held = held_out(COLLECTIONS[cfg.data.collection].train, share, seed_of("held out", cfg.data.collection))
    return train[: cfg.data.train_images], held[: cfg.data.test_images]


def data_of(cfg: DictConfig, images: Images, augmentation: str, run: Run) -> tuple[ImageData, ImageData]:
    """What is trained on, and what is measured."""
    train, held = (rows.to(run.device)[None] for rows in rows_of(cfg))
    shift, scale = (
        torch.tensor(list(cfg.data[key]), device=run.device, dtype=run.dtype).view(-1, 1, 1)
        for key in ("shift", "scale")
    )
    data = ImageData(images.train_x, images.train_y, train, shift, scale, AUGMENTATIONS[augmentation])
    if cfg.data.evaluate_on == "validation":
        return data, data.at(held)
    test = torch.arange(len(images.test_y), device=run.device)[: cfg.data.test_images]
    return data, ImageData(images.test_x, images.test_y, test[None], shift, scale)


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    """sBNN at every width, its rivals at the widest only: the network that the paper prunes."""
    images = load(cfg.data.collection, data_directory(cfg.data.dir), cfg.progress).to(run.device)
    rows = Rows(cfg.name, cfg.data.collection)
    for method, recipe, own in recipes(cfg):
        for width in cfg.vary.width if method == "sBNN" else [max(cfg.vary.width)]:
            for augmentation in cfg.vary.augmentation:
                fit_and_measure(rows, run, Job(method, recipe, width, augmentation, own), images)
    return rows.table()


def fit_and_measure(rows: Rows, run: Run, job: Job, images: Images) -> None:
    """Train a network and measure it, pruned ever more, under every score it has."""
    cfg = spread(job.cfg, job.width)
    train, test = data_of(cfg, images, job.augmentation, run)
    features = images.train_x[0].numel()
    with torch.device("meta"):  # the weights live in the posterior; a second set would only take memory
        network = mlp(features, [job.width] * len(cfg.network.hidden), outputs=10)
    seed = seed_of(run.seed, job.method, cfg.data.collection, job.width)
    model = fit(run, job.method, network, train, cfg, [seed], job.label)
    plan = Plan(Training(**cfg.trainer), model.prior, train.size)
    columns = {
        "method": job.method,
        "recipe": job.recipe if job.method == "sBNN" else "ours",
        "width": job.width,
        "augmentation": job.augmentation,
        "epochs": plan.steps // plan.batches,
        "images": train.size,
        "measured": test.size,
        "weights": model.layout.size,
    }
    once = [{"replicate": 0}]
    classified = Classified(model, test, cfg.predictive.samples, [seed_of("test", seed)])
    for score in SCORES[job.method]:
        masks = prune_masks(model, list(cfg.droprates), score, Pruning(**cfg.pruning))
        for droprate, keep in zip(cfg.droprates, masks, strict=True):
            own = score == SCORES[job.method][0]
            for metric, values in classified.measure(keep, sampled=own).items():
                rows.add(once, metric, values, score=score, droprate=droprate, **columns)
    if job.method == "sBNN":
        inclusion, _ = model.inclusion()[0].sort()
        for threshold in np.linspace(0, 1, CDF_STEPS + 1).round(4):
            below = torch.searchsorted(inclusion, float(threshold), right=False) / len(inclusion)
            rows.add(once, "inclusion_below", below[None], threshold=threshold, **columns)
