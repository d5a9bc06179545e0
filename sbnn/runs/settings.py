"""The settings of one run, checked: type, bounds and choices of every key stand here once, in one line.

`conf/config.yaml` explains each key. What several keys must agree on is at the end of a class.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, PlainValidator, model_validator

from sbnn.checked import (
    Count,
    Distinct,
    Droprate,
    Flag,
    FolderPath,
    ListOf,
    Log,
    NonEmpty,
    OneOf,
    Pattern,
    Portion,
    Positive,
    Rising,
    Settings,
    Share,
    Size,
    StateDictPath,
    Within,
    checked,
    complaint,
    plainly,
    text,
    whole_sentence,
)
from sbnn.compression.pruning import Pruning
from sbnn.compression.scores import SCORES
from sbnn.data.images import AUGMENTATIONS
from sbnn.data.simulated import FUNCTIONS
from sbnn.model.methods import METHODS
from sbnn.model.settings import InitSettings, LikelihoodSettings, ModelSettings, PriorSettings
from sbnn.networks import LENETS
from sbnn.runs.data_settings import ImageSettings, SimulatedSettings, TableSettings, UciSettings
from sbnn.training.settings import Training

RECIPES = ("tuned", "gradual", "paper", "set_1", "set_2")  # of the method itself; the last three are the paper's
RIVALS = [method.name for method in METHODS.values() if method.is_rival]
Changes = dict[str, dict]  # by name: a part of the settings below, with other values


def _device(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"auto|cpu|cuda(:\d+)?", value):
        raise complaint("is unknown; choose one of auto, cuda, cpu")
    return value


def _resume(value: object) -> bool | str:
    if value != "auto" and not isinstance(value, bool):
        raise complaint("must be auto, true or false")
    return value


def _one_number(value: Any) -> float | dict[int, float]:
    table = value if isinstance(value, dict) else {1: value}
    numbers = [isinstance(number, int | float) and not isinstance(number, bool) for number in table.values()]
    if not table or not all(numbers) or not all(0 <= number <= 3 for number in table.values()):
        raise complaint("must be a number in [0, 3], or a table of such numbers by width")
    if not all(isinstance(width, int) for width in table):
        raise complaint("must be a table by width, a whole number")
    return {width: float(number) for width, number in value.items()} if isinstance(value, dict) else float(value)


def _from_zero(values: tuple[float, ...]) -> tuple[float, ...]:
    if values[0] != 0:
        raise complaint("must begin with 0, the full network that others compare to")
    return values


class NetworkSettings(Settings):
    hidden: NonEmpty[Size]
    leave_out: ListOf[Pattern]
    width: Annotated[float, Within("(0, 4]")]


class VarySettings(Settings):
    alpha: Annotated[NonEmpty[Annotated[float, Within("[0, 1e6]")]], Distinct]
    features: Annotated[NonEmpty[Size], Distinct]
    active_share: Annotated[NonEmpty[Share], Distinct]
    mean_scale: Annotated[ListOf[Annotated[float, Within("(0, 1000]")]], Rising]
    log_tau0: Annotated[ListOf[Log], Rising]
    function: Annotated[NonEmpty[Annotated[str, OneOf(*FUNCTIONS)]], Distinct]
    target: Annotated[NonEmpty[Annotated[str, OneOf("standardised", "raw")]], Distinct]
    width: Annotated[NonEmpty[Size], Rising]
    network: Annotated[NonEmpty[Annotated[str, OneOf(*LENETS)]], Distinct]
    augmentation: Annotated[NonEmpty[Annotated[str, OneOf(*AUGMENTATIONS)]], Distinct]


class MixtureSettings(PriorSettings):
    """With the paper's one number for both widths, in Experiment 6."""

    c: Annotated[float | dict[int, float], PlainValidator(_one_number)] | None


class SelectionSettings(Settings):
    keep_share: Annotated[float, Within("(0, 1]")]
    folds: Annotated[int, Within("[2, 1e6]")]
    thresholds: Annotated[NonEmpty[Annotated[float, Within("(0, 1]")]], Rising]
    rule: Annotated[str, OneOf("minimum", "one_se")]
    refit: dict[str, object]  # changes to the trainer


class DropoutSettings(Settings):
    rates: Annotated[NonEmpty[Annotated[float, Within("[0, 1)")]], Distinct]
    validation_share: Portion


class PredictiveSettings(Settings):
    samples: Size
    statistics: Annotated[int, Within("[2, 1e9]")]


class RunSettings(Settings):
    """Every key of a run; a subclass says which data it runs on."""

    name: Annotated[str, text("the name of an experiment")]
    minutes: Positive | None
    seed: Annotated[int, Within("[0, 1e18]")]
    device: Annotated[str, BeforeValidator(_device)]
    dtype: Annotated[str, OneOf("float32", "float64")]
    threads: Annotated[int, Within("[1, 1024]")] | None
    chunk: Count
    progress: Flag
    tracking: Annotated[str, OneOf("none", "tensorboard")]
    keep_network: Flag
    results_dir: FolderPath
    checkpoint_seconds: Positive
    resume: Annotated[bool | str, BeforeValidator(_resume)]
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
    rivals: Annotated[ListOf[Annotated[str, OneOf(*RIVALS)]], Distinct]
    pretrained: StateDictPath | None
    predictive: PredictiveSettings
    droprates: Annotated[NonEmpty[Droprate], Rising, AfterValidator(_from_zero)]
    scores: Annotated[ListOf[Annotated[str, OneOf(*SCORES)]], Distinct]
    prune_gradually: Annotated[ListOf[Annotated[float, Within("(0, 1)")]], Rising]
    finetune: Annotated[ListOf[Droprate], Rising]
    pruning: Pruning
    data: Settings
    network: NetworkSettings
    prior: MixtureSettings
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
        return checked(type(self), merged(self.plain(), changes))


def _listed(value: Any) -> Any:
    """The same with lists for tuples."""
    if isinstance(value, Mapping):
        return {key: _listed(below) for key, below in value.items()}
    return [_listed(below) for below in value] if isinstance(value, tuple | list) else value


def merged(values: Mapping, changes: Mapping) -> dict:
    """Two nested tables as one; where both have a value that is no table, the second one's counts."""
    found = dict(values)
    for key, value in changes.items():
        nested = isinstance(value, Mapping) and isinstance(found.get(key), Mapping)
        found[key] = merged(found[key], value) if nested else value
    return found


class SimulatedRun(RunSettings):
    data: SimulatedSettings


class UciRun(RunSettings):
    data: UciSettings


class ImageRun(RunSettings):
    data: ImageSettings


class TableRun(RunSettings):
    data: TableSettings


def kind_of(values: Mapping) -> type[RunSettings]:
    """By the keys under `data`, of which one may be missing or foreign."""
    given = values.get("data")
    keys = set(given) if isinstance(given, Mapping) else set()
    return max((SimulatedRun, UciRun, ImageRun, TableRun), key=lambda kind: len(keys & _data_keys(kind)))


def _data_keys(kind: type[RunSettings]) -> set[str]:
    return set(kind.model_fields["data"].annotation.model_fields)
