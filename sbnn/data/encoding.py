"""From a table's text to what a network learns from: numbers, categories as columns of zeros and ones, a target."""

from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from sbnn.data.table import Cells, column_of
from sbnn.errors import DataError

TASKS = AUTO, REGRESSION, CLASSES = ("auto", "regression", "classes")
FEW = 20  # whole numbers with at most so many different values are classes, unless the user says otherwise
MOST_CATEGORIES = 100  # of a column; one with more is a name or a number of something


@dataclass(frozen=True)
class Examples:
    """Rows to learn from, then those of a test file.

    Columns are scaled by all rows only so that single precision can hold them: what a network sees is scaled again, by
    its own training rows.
    """

    x: np.ndarray  # (n, D), every column less its mean, over its deviation
    y: np.ndarray  # (n, 1) numbers, less their mean, or (n,) the numbers of classes
    target: str
    features: tuple[str, ...]  # the table's other columns
    feature: np.ndarray  # (D,) which of them a column of x belongs to
    columns: tuple[str, ...]  # what a column of x says: `size`, or of categories `colour=red`
    classes: tuple[str, ...]  # none in a regression
    to_learn: int  # how many rows are not of the test file
    mean: np.ndarray  # (D,) what was subtracted ...
    deviation: np.ndarray  # (D,) ... and divided by
    target_mean: float  # what was subtracted from the target

    def is_regression(self) -> bool:
        return not self.classes


@dataclass(frozen=True)
class Encoding:
    """What a user says about a table's columns, each by its name or its number, counted from 1, -1 being the last."""

    target: str | int
    task: str = AUTO
    categories: Collection[str | int] = ()
    leave_out: Collection[str | int] = ()

    def examples(self, cells: Cells, test: Cells | None = None) -> Examples:
        """Make the columns of a table, and of a test file with the same ones, into examples."""
        target = _named(cells, self.target)
        categories, left_out = ([_named(cells, one) for one in own] for own in (self.categories, self.leave_out))
        if test is not None:
            _check_alike(cells, test)
        tables = [cells] if test is None else [cells, test]

        def column(name: str) -> np.ndarray:
            as_text = name in categories or (name == target and self.task == CLASSES)
            parts = [column_of(table, name, as_text) for table in tables]
            if len({part.dtype for part in parts}) > 1:
                files = f"{tables[0].file} and {tables[-1].file}"
                raise DataError(f"Column {name} holds numbers in one of {files}, text in the other.")
            return np.concatenate(parts)

        y, classes = _targets(column(target), cells, target, self.task)
        features = tuple(name for name in cells.columns if name != target and name not in left_out)
        if not features:
            raise DataError(f"{cells.file} has no column to learn from besides {target}; leave fewer out.")
        shown = [_inputs(name, column(name)) for name in features]
        x = np.concatenate([values for values, _ in shown], axis=1)
        mean, deviation = x.mean(0), x.std(0)
        deviation = np.where(deviation > 0, deviation, 1)
        middle = 0.0 if classes else float(y.mean())
        return Examples(
            x=(x - mean) / deviation,
            y=y if classes else y - middle,
            target=target,
            features=features,
            feature=np.repeat(np.arange(len(features)), [len(names) for _, names in shown]),
            columns=tuple(name for _, names in shown for name in names),
            classes=classes,
            to_learn=len(cells),
            mean=mean,
            deviation=deviation,
            target_mean=middle,
        )


def _named(cells: Cells, given: str | int) -> str:
    """The name of a column, or a sentence that says which there are."""
    names = list(cells.columns)
    if str(given) in names:
        return str(given)
    if isinstance(given, int):
        if not 1 <= abs(given) <= len(names):
            raise DataError(f"{cells.file} has no column {given}; it has {len(names)}.")
        return names[given - 1 if given > 0 else given]
    by_lower = {name.lower(): name for name in names}
    near = [by_lower[name] for name in get_close_matches(given.lower(), by_lower)]
    raise DataError(
        f"{cells.file} has no column {given}; "
        + (f"did you mean {' or '.join(near)}?" if near else f"it has {_listed(names)}.")
    )


def _check_alike(cells: Cells, test: Cells) -> None:
    lacks = [name for name in cells.columns if name not in test.columns]
    more = [name for name in test.columns if name not in cells.columns]
    if lacks or more:
        said = [f"{word} {_listed(names)}" for word, names in (("lacks", lacks), ("also has", more)) if names]
        raise DataError(f"The columns of {test.file} are not those of {cells.file}: it {' and '.join(said)}.")


def _listed(names: Collection[str]) -> str:
    first, more = list(names)[:10], len(names) - 10
    return ", ".join(first) + (f" and {more} more" if more > 0 else "")


def _targets(values: np.ndarray, cells: Cells, name: str, task: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """The target, and the names of its classes, if it has such."""
    is_text, own = values.dtype == object, values[: len(cells)]
    if is_text and task == REGRESSION:
        seen = f"{cells.place(0, name)}, reads {values[0][:40]!r}"
        raise DataError(f"data.task=regression needs numbers as a target, and {seen}.")
    kinds, counts = np.unique(own, return_counts=True)
    if len(kinds) == 1:
        raise DataError(f"Every value in column {name} of {cells.file} is {own[0]}; there is nothing to learn.")
    repeated = len(kinds) <= len(own) / 2
    few_whole = not is_text and repeated and len(kinds) <= FEW and bool((kinds == kinds.round()).all())
    if task == REGRESSION or not (is_text or few_whole):
        return values[:, None], ()
    if not repeated:
        raise DataError(f"Column {name} of {cells.file} has {len(kinds)} values in {len(own)} rows: no classes.")
    if unseen := set(values[len(cells) :]) - set(kinds):
        raise DataError(f"The class {min(unseen)} of the test file is not in {cells.file}.")
    if counts.min() == 1:
        only = kinds[counts.argmin()]
        raise DataError(f"The class {only} of column {name} has one row in {cells.file}; it needs at least two.")
    return np.searchsorted(kinds, values).astype(np.int64), tuple(one if is_text else f"{one:g}" for one in kinds)


def _inputs(name: str, values: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """A column of numbers as it is; one of categories as a column for each, and what each says."""
    if values.dtype != object:
        return values[:, None], [name]
    kinds = sorted(set(values))
    if len(kinds) > MOST_CATEGORIES:
        raise DataError(
            f"Column {name} has {len(kinds)} categories, more than {MOST_CATEGORIES}; leave it out with "
            f"data.leave_out=[{name}]."
        )
    ones = np.stack([values == kind for kind in kinds], axis=1).astype(np.float64)
    return ones, [f"{name}={kind}" for kind in kinds]
