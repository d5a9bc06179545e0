"""What the image experiments share: the data, how one network is trained on them, and what is measured of it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor, nn

from sbnn.compression.evaluation import Classified
from sbnn.compression.pruning import Pruning, prune_masks
from sbnn.data.download import data_directory
from sbnn.data.image_formats import COLLECTIONS
from sbnn.data.image_sets import Images, load
from sbnn.data.images import Augmentation, ImageData, held_out
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import changed, check_recipes
from sbnn.model.methods import SCORES, Fit, fit, prior_of
from sbnn.runs import settings as config
from sbnn.runs.context import Run
from sbnn.runs.identity import config_hash
from sbnn.runs.rows import Rows, write_text
from sbnn.streams import Streams, seed_modules, seed_of
from sbnn.training.schedule import Plan, Training

AUGMENTATIONS = {"none": None, "crop_and_flip": Augmentation(padding=4, flip=True), "crop": Augmentation(padding=2)}
CDF_STEPS = 200


@dataclass(frozen=True)
class Job:
    """One network to train."""

    method: str
    recipe: str
    cfg: DictConfig  # with the recipe's changes
    build: Callable[[], nn.Module]
    of: dict[str, object]  # what tells it from others of its method and recipe, by column: which network, how augmented
    start: Fit | None = None

    @property
    def label(self) -> str:
        return "-".join([self.recipe, *(str(value) for value in self.of.values() if value != "none")])

    @property
    def seed(self) -> int:
        return seed_of(self.cfg.seed, self.method, self.cfg.data.collection, next(iter(self.of.values())))


def check(cfg: DictConfig, also: Callable[[str, DictConfig], None]) -> None:
    """`also` checks what the experiment asks of each recipe."""
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
    check_recipes(cfg, also)


def check_plan(method: str, cfg: DictConfig) -> None:
    """A recipe's whole configuration is valid and its steps can be made."""
    config.check(cfg)
    Plan(Training(**cfg.trainer), prior_of(method, cfg), len(rows_of(cfg)[0]))


def rows_of(cfg: DictConfig) -> tuple[Tensor, Tensor]:
    """Rows of the training images to train on, and those that are held back (none where the test set is measured)."""
    share = cfg.data.validation_share if cfg.data.evaluate_on == "validation" else 0.0
    train, held = held_out(COLLECTIONS[cfg.data.collection].train, share, seed_of("held out", cfg.data.collection))
    return train[: cfg.data.train_images], held[: cfg.data.test_images]


def images_of(cfg: DictConfig, run: Run) -> Images:
    """Fetched, if need be, by one process for all of them."""
    folder = data_directory(cfg.data.dir)
    found = load(cfg.data.collection, folder, run.progress) if run.world.leads else None
    run.world.wait()
    return (found or load(cfg.data.collection, folder)).to(run.device)


def data_of(cfg: DictConfig, images: Images, augmentation: str, run: Run, flat: bool) -> tuple[ImageData, ImageData]:
    """What is trained on, and what is measured."""
    train, held = (rows.to(run.device)[None] for rows in rows_of(cfg))
    shift, scale = (
        torch.tensor(list(cfg.data[key]), device=run.device, dtype=run.dtype).view(-1, 1, 1)
        for key in ("shift", "scale")
    )
    data = ImageData(images.train_x, images.train_y, train, shift, scale, AUGMENTATIONS[augmentation], flat)
    if cfg.data.evaluate_on == "validation":
        return data, data.at(held)
    test = torch.arange(len(images.test_y), device=run.device)[: cfg.data.test_images]
    return data, ImageData(images.test_x, images.test_y, test[None], shift, scale, flat=flat)


def table_of(cfg: DictConfig, jobs: Iterable[tuple[Job, ImageData, ImageData]], run: Run) -> pd.DataFrame:
    """Train and measure one network after the other."""
    rows = Rows(cfg.name, cfg.data.collection)
    for job, train, test in jobs:
        measured(rows, run, job, trained(run, job, train), train, test)
    return rows.table()


def alone(cfg: DictConfig, **of: object) -> DictConfig:
    """The configuration of one network: a checkpoint of it does not depend on which others are trained beside it."""
    return OmegaConf.merge(cfg, {"vary": {key: [value] for key, value in of.items()}})


def trained(run: Run, job: Job, data: ImageData) -> Fit:
    seed_modules(job.seed, torch.device("cpu"))  # what is set aside starts where its module puts it
    return fit(run, job.method, job.build(), data, job.cfg, [job.seed], job.label, job.start)


def measured(rows: Rows, run: Run, job: Job, model: Fit, train: ImageData, test: ImageData) -> None:
    """As `measure`, but only once: what this code measured before the run was cut off lies by the checkpoint."""
    cfg = job.cfg.copy()
    cfg.recipes = {"finetune": cfg.recipes.get("finetune")}  # the job has the changes of its own recipe already
    name = f"{job.label}-{config_hash(cfg, but=('recipe', 'rivals'))}-{run.code}.csv"
    kept = run.checkpoints and run.checkpoints / name
    if kept is None or not kept.exists():
        before = len(rows.frames)
        measure(rows, run, job, model, train, test)
        if kept is not None and run.world.leads:
            write_text(kept, pd.concat(rows.frames[before:]).to_csv(index=False))
    else:
        rows.frames.append(pd.read_csv(kept))


def measure(rows: Rows, run: Run, job: Job, model: Fit, train: ImageData, test: ImageData) -> None:
    """A network as it is pruned ever more, under every score it has; by its own, also what each layer keeps.

    Where batch norm keeps statistics they are taken anew for each of these networks, on training images augmented as
    they were; `stale_` are measurements without that. `finetuned_` are of a pruned network that was trained on.
    """
    cfg, layout = job.cfg, model.layout
    plan = Plan(Training(**cfg.trainer), model.prior, train.size)
    columns = {"method": job.method, "recipe": job.recipe if job.method == "sBNN" else "ours", **job.of}
    columns |= {
        "epochs": 0 if model is job.start else plan.steps // plan.batches,
        "images": train.size,
        "measured": test.size,
        "weights": layout.size,
    }
    once, statistics = [{"replicate": 0}], replace(train, rows=train.rows[:, : cfg.predictive.statistics])
    classified = Classified(model, test, cfg.predictive.samples, [seed_of("test", job.seed)])

    def restated(weights: Tensor, beside: dict[str, Tensor] = model.beside) -> dict[str, Tensor]:
        streams = Streams([seed_of("statistics", job.seed)], run.device)  # the same images every time
        return layout.restated(weights, (x for x, _ in statistics.batches(streams)), beside)

    def add(prefix: str, found: dict[str, Tensor], **more: object) -> None:
        for metric, values in found.items():
            rows.add(once, prefix + metric, values, **more, **columns)

    full = classified.right(restated)
    for score in SCORES[job.method]:
        own = score == SCORES[job.method][0]
        masks = prune_masks(model, list(cfg.droprates), score, Pruning(**cfg.pruning))
        for droprate, keep in zip(cfg.droprates, masks, strict=True):
            where = {"score": score, "droprate": droprate}
            add("", classified.measure(keep, restated, own, full), **where)
            if not own:
                continue
            if layout.norms:
                add("stale_", classified.measure(keep), **where)
            for layer, share in zip(layout.modules, layout.per_module(keep), strict=True):
                rows.add(once, "kept", share.sum(-1), layer=layer, layer_weights=share.shape[-1], **where, **columns)
            if droprate in cfg.finetune:
                again = retrained(run, job, model, droprate, keep, train)
                again_restated = partial(restated, beside=again.beside)
                add("finetuned_", Classified(again, test, 0, []).measure(keep, again_restated), **where)
    if job.method == "sBNN":
        inclusion, _ = model.inclusion()[0].sort()
        for threshold in np.linspace(0, 1, CDF_STEPS + 1).round(4):
            below = torch.searchsorted(inclusion, float(threshold), right=False) / len(inclusion)
            rows.add(once, "inclusion_below", below[None], threshold=threshold, **columns)


def retrained(run: Run, job: Job, model: Fit, droprate: float, keep: Tensor, data: ImageData) -> Fit:
    """What pruning has left, trained on as a deterministic network; its checkpoint's name says how it was pruned."""
    name = "-".join([job.label, "finetune", *(str(part) for part in (droprate, *job.cfg.pruning.values()))])
    cfg = changed(job.cfg, "finetune")
    return fit(run, "NN", model.layout.network, data, cfg, [job.seed], name, model, keep=keep)
