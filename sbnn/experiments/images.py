"""What the image experiments share: the data, and how one network is trained on them."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from sbnn.data.download import data_directory
from sbnn.data.image_formats import COLLECTIONS
from sbnn.data.image_sets import Images, load
from sbnn.data.images import AUGMENTATIONS, ImageData, held_out
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import check_recipes, pruned
from sbnn.model.fit import Fit
from sbnn.model.methods import METHODS, Method
from sbnn.runs.context import Context
from sbnn.runs.settings import ImageRun
from sbnn.streams import seed_modules, seed_of
from sbnn.training.fitting import Start
from sbnn.training.schedule import Plan

USES = (
    "prior.log_decay", "prior.cost", "recipe", "recipes", "rivals", "predictive.samples", "droprates", "scores",
    "prune_gradually", "finetune", "pruning",
)  # fmt: skip


@dataclass(frozen=True)
class Job:
    """One network to train."""

    method: Method
    recipe: str
    settings: ImageRun  # with the recipe's changes
    build: Callable[[], nn.Module]
    of: dict[str, object]  # what tells it from others of its method and recipe, by column: which network, how augmented
    start: Fit | None = None
    replicate: int = 0  # of the networks that differ only in their seeds

    @property
    def label(self) -> str:
        own = [str(value) for value in self.of.values() if value != "none"]
        again = [f"seed {self.replicate}"] if self.replicate else []
        return "-".join([self.recipe, *own, *pruned(self.settings), *again])

    @property
    def seed(self) -> int:
        first = next(iter(self.of.values()))
        again = [self.replicate] if self.replicate else []
        return seed_of(self.settings.seed, self.method.name, self.settings.data.collection, first, *again)

    def train(self, context: Context, data: ImageData) -> Fit:
        seed_modules(self.seed, torch.device("cpu"))  # exempt parameters start where their module puts them
        start = Start(self.method, self.build(), self.settings.model, self.start)
        return context.fit(start, data, self.settings, [self.seed], self.label)


def check(settings: ImageRun, also: Callable[[Method, ImageRun], None]) -> None:
    """`also` checks what the experiment asks of each recipe."""
    known = [rival.name for rival in METHODS.values() if rival.is_rival and not rival.dropout]
    if unknown := [name for name in settings.rivals if name not in known]:
        raise ConfigError(f"rivals={unknown[0]} is not of this experiment; choose one of {', '.join(known)}.")
    if settings.data.evaluate_on == "validation" and len(rows_of(settings)[1]) == 0:
        raise ConfigError(f"data.validation_share={settings.data.validation_share} holds no image back.")
    check_recipes(settings, also)


def check_plan(method: Method, settings: ImageRun) -> None:
    """A recipe's steps can be made."""
    Plan(settings.trainer, method.prior(settings.prior), len(rows_of(settings)[0]))


def rows_of(settings: ImageRun) -> tuple[Tensor, Tensor]:
    """Rows of the training images to train on, and those that are held back (none where the test set is measured)."""
    data = settings.data
    share = data.validation_share if data.evaluate_on == "validation" else 0.0
    train, held = held_out(COLLECTIONS[data.collection].train, share, seed_of("held out", data.collection))
    return train[: data.train_images], held[: data.test_images]


def images_of(settings: ImageRun, context: Context) -> Images:
    """Fetched, if need be, by one process for all of them."""
    folder, collection = data_directory(settings.data.dir), settings.data.collection
    found = load(collection, folder, context.progress) if context.world.leads else None
    context.world.wait()
    context.data_hashes[collection] = COLLECTIONS[collection].sha256  # which `load` has checked
    return (found or load(collection, folder)).to(context.device)


def data_of(
    settings: ImageRun, images: Images, augmentation: str, context: Context, flat: bool
) -> tuple[ImageData, ImageData]:
    """What is trained on, and what is measured."""
    train, held = (rows.to(context.device)[None] for rows in rows_of(settings))
    shift, scale = (
        torch.tensor(values, device=context.device, dtype=context.dtype).view(-1, 1, 1)
        for values in (settings.data.shift, settings.data.scale)
    )
    data = ImageData(images.train_x, images.train_y, train, shift, scale, AUGMENTATIONS[augmentation], flat)
    if settings.data.evaluate_on == "validation":
        return data, data.at(held)
    test = torch.arange(len(images.test_y), device=context.device)[: settings.data.test_images]
    return data, ImageData(images.test_x, images.test_y, test[None], shift, scale, flat=flat)
