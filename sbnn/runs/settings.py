"""The settings of one run, checked: type, bounds and choices of every key stand here once, in one line.

`conf/config.yaml` explains each key. What several keys must agree on is at the end of a class.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, BeforeValidator, model_validator

from sbnn.checked import (
    Any_,
    Count,
    Droprate,
    Flag,
    FolderPath,
    OneOf,
    Pattern,
    Portion,
    Positive,
    Rising,
    Settings,
    Several,
    Share,
    StateDictPath,
    Within,
    checked,
    complaint,
    plainly,
    text,
    whole_sentence,
)
from sbnn.compression.pruning import Pruning
from sbnn.data.image_formats import COLLECTIONS
from sbnn.data.simulated import FUNCTIONS
from sbnn.data.uci import DATASETS
from sbnn.model.methods import RIVALS
from sbnn.model.settings import InitSettings, LikelihoodSettings, ModelSettings, PriorSettings
from sbnn.training.settings import Training

RECIPES = ("tuned", "paper", "set_1", "set_2")  # of the method itself; the last three are the paper's
AUGMENTATIONS = ("none", "crop", "crop_and_flip")
NETWORKS = ("lenet_300_100", "lenet_5")
Changes = dict[str, dict]  # by name: a part of the settings below, with other values


def _device(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", value):
        raise complaint("is unknown; choose one of auto, cuda, cpu")
    return value


def _from_zero(values: tuple[float, ...]) -> tuple[float, ...]:
    if values[0] != 0:
        raise complaint("must begin with 0, the full network that others compare to")
    return values


class SimulatedSettings(Settings):
    observations: Annotated[int, Within("[2, inf)")]
    train_share: Portion
    replicates: Count
    features: Count
    alpha: Positive
    function: Annotated[str, OneOf(*FUNCTIONS)]
    active_share: Share

    evaluate_on: ClassVar[str] = "test"

    @property
    def train_rows(self) -> int:
        """How many of a dataset's rows train; at least one is left to test on."""
        return min(round(self.observations * self.train_share), self.observations - 1)


class Enlargement(Settings):
    """Times the steps and the batch of a larger dataset."""

    steps: Count = 1
    batch: Count = 1


DatasetName = Annotated[str, OneOf(*DATASETS)]


class UciSettings(Settings):
    dir: FolderPath | None
    datasets: Several[DatasetName]
    splits: Count | None
    evaluate_on: Annotated[str, OneOf("test", "validation")]
    hidden: dict[DatasetName, Several[Count]]
    enlarge: dict[DatasetName, Enlargement]


class ImageSettings(Settings):
    dir: FolderPath | None
    evaluate_on: Annotated[str, OneOf("test", "validation")]
    validation_share: Portion
    protocol: Annotated[str, OneOf("validation", "paper")]
    train_images: Count | None
    test_images: Count | None
    collection: Annotated[str, OneOf(*COLLECTIONS)]
    shift: Several[Annotated[float, Within("[0, 255]")]]
    scale: Several[Positive]

    @model_validator(mode="after")
    def _one_number_for_each_channel(self) -> Self:
        channels = COLLECTIONS[self.collection].shape[0]
        for key in ("shift", "scale"):
            if len(getattr(self, key)) != channels:
                values = plainly(getattr(self, key))
                raise whole_sentence(f"data.{key}={values} must hold {channels}: one number for each channel")
        return self


class NetworkSettings(Settings):
    hidden: Several[Count]
    leave_out: Any_[Pattern]
    width: Annotated[float, Within("(0, 4]")]


class VarySettings(Settings):
    alpha: Several[Annotated[float, Within("[0, inf)")]]
    features: Several[Count]
    active_share: Several[Share]
    function: Several[Annotated[str, OneOf(*FUNCTIONS)]]
    target: Several[Annotated[str, OneOf("standardised", "raw")]]
    width: Annotated[Several[Count], Rising]
    network: Several[Annotated[str, OneOf(*NETWORKS)]]
    augmentation: Several[Annotated[str, OneOf(*AUGMENTATIONS)]]


class SelectionSettings(Settings):
    keep_share: Annotated[float, Within("(0, 1]")]
    folds: Annotated[int, Within("[2, inf)")]
    thresholds: Annotated[Several[Annotated[float, Within("(0, 1]")]], Rising]
    rule: Annotated[str, OneOf("minimum", "one_se")]
    refit: dict[str, object]  # changes to the trainer


class DropoutSettings(Settings):
    rates: Several[Annotated[float, Within("[0, 1)")]]
    validation_share: Portion


class PredictiveSettings(Settings):
    samples: Count
    statistics: Annotated[int, Within("[2, inf)")]


class RunSettings(Settings):
    """Every key of a run; a subclass says which data it runs on."""

    name: Annotated[str, text("the name of an experiment")]
    minutes: Positive | None
    seed: Annotated[int, Within("[0, inf)")]
    device: Annotated[str, BeforeValidator(_device)]
    dtype: Annotated[str, OneOf("float32", "float64")]
    threads: Count | None
    chunk: Count
    progress: Flag
    results_dir: FolderPath
    checkpoint_seconds: Positive
    resume: Flag
    keep_checkpoints: Flag
    force: Flag
    init: InitSettings
    likelihood: LikelihoodSettings
    trainer: Training
    vary: VarySettings
    selection: SelectionSettings
    dropout: DropoutSettings
    recipe: Annotated[str, OneOf("all", *RECIPES)]
    recipes: Changes
    by_network: Changes
    rivals: Any_[Annotated[str, OneOf(*(rival.name for rival in RIVALS))]]
    pretrained: StateDictPath | None
    predictive: PredictiveSettings
    droprates: Annotated[Several[Droprate], Rising, AfterValidator(_from_zero)]
    finetune: Annotated[Any_[Droprate], Rising]
    pruning: Pruning
    data: Settings
    network: NetworkSettings
    prior: PriorSettings
    budget: Annotated[str, text("the name of a budget")]

    @model_validator(mode="after")
    def _keys_agree(self) -> Self:
        slab, spike, start = self.prior.log_tau1, self.prior.log_tau0, self.trainer.anneal_from
        if start is not None and not spike <= start < slab:
            between = f"prior.log_tau0={spike:g} and prior.log_tau1={slab:g}"
            raise whole_sentence(f"trainer.anneal_from={start:g} must lie between {between}")
        if missing := [droprate for droprate in self.finetune if droprate not in self.droprates]:
            names = plainly(self.finetune)
            raise whole_sentence(f"finetune={names} names {missing[0]}, which is not one of the droprates")
        return self

    @property
    def model(self) -> ModelSettings:
        """What a fit is built from."""
        leave_out = self.network.leave_out
        return ModelSettings(prior=self.prior, init=self.init, likelihood=self.likelihood, leave_out=leave_out)

    def plain(self) -> dict:
        """As yaml holds it: tables and lists."""
        return _listed(self.model_dump())

    def changed(self, changes: Mapping[str, object]) -> Self:
        """With other values for some keys; a table's other keys stay as they are."""
        return checked(type(self), _merged(self.plain(), changes))


def _listed(value: Any) -> Any:
    """The same with lists for tuples."""
    if isinstance(value, Mapping):
        return {key: _listed(below) for key, below in value.items()}
    return [_listed(below) for below in value] if isinstance(value, tuple | list) else value


def _merged(values: Mapping, changes: Mapping) -> dict:
    """Two nested tables as one; where both have a value that is no table, the second one's counts."""
    found = dict(values)
    for key, value in changes.items():
        nested = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
        found[key] = _merged(found[key], value) if nested else value
    return found


class SimulatedRun(RunSettings):
    data: SimulatedSettings


class UciRun(RunSettings):
    data: UciSettings


class ImageRun(RunSettings):
    data: ImageSettings


def kind_of(values: Mapping) -> type[RunSettings]:
    """By the keys under `data`, of which one may be missing or foreign."""
    given = values.get("data")
    keys = set(given) if isinstance(given, Mapping) else set()
    return max((SimulatedRun, UciRun, ImageRun), key=lambda kind: len(keys & _data_keys(kind)))


def _data_keys(kind: type[RunSettings]) -> set[str]:
    return set(kind.model_fields["data"].annotation.model_fields)
