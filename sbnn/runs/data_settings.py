"""The `data` node of a run's settings, by kind of data."""

from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, model_validator

from sbnn.checked import (
    Count,
    Distinct,
    Flag,
    FolderPath,
    ListOf,
    NonEmpty,
    OneOf,
    Portion,
    Positive,
    Settings,
    Share,
    Size,
    Within,
    complaint,
    plainly,
    text,
    whole_sentence,
)
from sbnn.data.encoding import TASKS
from sbnn.data.image_formats import COLLECTIONS
from sbnn.data.simulated import FUNCTIONS
from sbnn.data.uci import DATASETS

EvaluateOn = Annotated[str, OneOf("test", "validation")]


class SimulatedSettings(Settings):
    observations: Annotated[int, Within("[2, 1e9]")]
    train_share: Portion
    replicates: Size
    features: Size
    alpha: Annotated[float, Within("(0, 1e6]")]
    function: Annotated[str, OneOf(*FUNCTIONS)]
    active_share: Share

    evaluate_on: ClassVar[str] = "test"

    @model_validator(mode="after")
    def _rows_to_train_on(self) -> Self:
        if self.train_rows < 1:
            share, rows = f"{self.train_share:g}", self.observations
            raise whole_sentence(f"data.train_share={share} leaves none of data.observations={rows} rows to train on")
        return self

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
    datasets: Annotated[NonEmpty[DatasetName], Distinct]
    splits: Count | None
    evaluate_on: EvaluateOn
    hidden: dict[DatasetName, Annotated[NonEmpty[Size], Distinct]]
    enlarge: dict[DatasetName, Enlargement]


def _column(value: object) -> str | int:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise complaint("must be the name of a column, or its number")
    return value


def _header(value: object) -> bool | str:
    if value != "auto" and not isinstance(value, bool):
        raise complaint("must be auto, true or false")
    return value


TablePath = Annotated[str, text("the path of a table")]
Column = Annotated[str | int, BeforeValidator(_column)]


class TableSettings(Settings):
    """A table of the user's own. Neither `file` nor `target` has a default; the experiment asks for them."""

    file: TablePath | None
    test_file: TablePath | None
    target: Column | None
    header: Annotated[bool | str, BeforeValidator(_header)]
    task: Annotated[str, OneOf(*TASKS)]
    categories: Annotated[ListOf[Column], Distinct]
    leave_out: Annotated[ListOf[Column], Distinct]
    folds: Annotated[int, Within("[2, 1000]")]
    repeats: Annotated[int, Within("[1, 1000]")]
    half_samples: Annotated[int, Within("[2, 1000]")]
    evaluate_on: EvaluateOn
    compare: Flag


class ImageSettings(Settings):
    dir: FolderPath | None
    evaluate_on: EvaluateOn
    validation_share: Portion
    protocol: Annotated[str, OneOf("validation", "paper")]
    seeds: Size
    train_images: Count | None
    test_images: Count | None
    collection: Annotated[str, OneOf(*COLLECTIONS)]
    shift: NonEmpty[Annotated[float, Within("[0, 255]")]]
    scale: NonEmpty[Positive]

    @model_validator(mode="after")
    def _one_number_for_each_channel(self) -> Self:
        channels = COLLECTIONS[self.collection].shape[0]
        for key in ("shift", "scale"):
            if len(getattr(self, key)) != channels:
                values = plainly(getattr(self, key))
                raise whole_sentence(f"data.{key}={values} must hold {channels}: one number for each channel")
        return self
