"""What a setting may be, said once: types whose complaints are one plain sentence.

A table of settings is a frozen pydantic model, and the type of each key says what it may hold:
`lr: Annotated[float, Within("(0, inf)")]`. `checked` reads one from a plain dictionary.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError, core_schema

from sbnn.errors import ConfigError

S = TypeVar("S", bound="Settings")


class KeyComplaint(ConfigError):
    """A complaint that begins with a key of the table, which has a longer name in the table above."""


class Settings(BaseModel):
    """A table of settings by name: it cannot be changed, knows no other keys, and complains in one sentence."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, **values: Any):
        try:
            super().__init__(**values)
        except ValidationError as error:
            kind = ConfigError if error.errors()[0]["type"] == "whole sentence" else KeyComplaint
            raise kind(sentence(error)) from error


def complaint(words: str) -> PydanticCustomError:
    """What is wrong with a value, as words that follow `key=value`."""
    return PydanticCustomError("sentence", "{words}", {"words": words})


def whole_sentence(words: str) -> PydanticCustomError:
    """What is wrong between several keys, which the words name themselves."""
    return PydanticCustomError("whole sentence", "{words}", {"words": words})


@dataclass(frozen=True)
class Within:
    """A number, whole if the type is int, in an interval such as `[0, 1)`."""

    interval: str

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable) -> core_schema.CoreSchema:
        whole = source is int
        low, high = (float(end) for end in self.interval[1:-1].split(","))
        words = f"must be a {'whole ' if whole else ''}number in {self.interval}"

        def check(value: Any) -> int | float:
            number = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value):
                raise complaint(words)
            above = value >= low if self.interval[0] == "[" else value > low
            below = value <= high if self.interval[-1] == "]" else value < high
            if not (above and below):
                raise complaint(words)
            return value if whole else float(value)

        return core_schema.no_info_plain_validator_function(check)


class OneOf:
    """One of a few words."""

    def __init__(self, *choices: str):
        self.choices = choices

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable) -> core_schema.CoreSchema:
        def check(value: object) -> str:
            if not isinstance(value, str) or value not in self.choices:
                raise complaint(f"is unknown; choose one of {', '.join(self.choices)}")
            return value

        return core_schema.no_info_plain_validator_function(check)


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise complaint("must be true or false")
    return value


def text(words: str) -> BeforeValidator:
    def check(value: object) -> str:
        if not isinstance(value, str):
            raise complaint(f"must be {words}")
        return value

    return BeforeValidator(check)


def _list(least: int) -> BeforeValidator:
    def check(value: object) -> tuple:
        if not isinstance(value, list | tuple) or len(value) < least:
            raise complaint(f"must be a list{' of at least one value' * least}")
        return tuple(value)

    return BeforeValidator(check)


def _rising(values: tuple) -> tuple:
    if any(later <= earlier for earlier, later in pairwise(values)):
        raise complaint("must rise from value to value")
    return values


def _distinct(values: tuple) -> tuple:
    if len(set(values)) < len(values):
        raise complaint("must not hold a value twice")
    return values


T = TypeVar("T")
Flag = Annotated[bool, BeforeValidator(_flag)]
FolderPath = Annotated[str, text("the path of a folder")]
StateDictPath = Annotated[str, text("the path of a state dict")]
Pattern = Annotated[str, text("a pattern of parameter names")]
Count = Annotated[int, Within("[1, inf)")]
Size = Annotated[int, Within("[1, 1e6]")]  # of what is kept in memory
Positive = Annotated[float, Within("(0, inf)")]
Share = Annotated[float, Within("[0, 1]")]
Portion = Annotated[float, Within("(0, 1)")]  # a share that is neither nothing nor all
Droprate = Annotated[float, Within("[0, 1)")]
Log = Annotated[float, Within("(-50, 50)")]
NonEmpty = Annotated[tuple[T, ...], _list(1)]
ListOf = Annotated[tuple[T, ...], _list(0)]  # as many as there are, or none
Rising = AfterValidator(_rising)
Distinct = AfterValidator(_distinct)


def checked(kind: type[S], values: Mapping[str, object]) -> S:
    """The settings in a dictionary that holds each of their keys, or one sentence about the first that is wrong."""
    try:
        found = kind(**values)
    except TypeError as error:  # Python's: a table with a number for a name
        raise ConfigError(f"{next(_numbered(values), 'A key')} is not a key that exists.") from error
    if (key := next(_left_out(found), None)) is not None:
        raise ConfigError(f"{key} is missing; leave it at its default instead of deleting it.")
    return found


def sentence(error: ValidationError) -> str:
    """The first complaint: key, value, what is allowed."""
    first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"] if isinstance(part, str))
    if isinstance(below := first.get("ctx", {}).get("error"), KeyComplaint):  # of a table in this one
        return f"{key}.{below}"
    if first["type"] in ("whole sentence", "value_error"):
        return first["msg"].removeprefix("Value error, ").rstrip(".") + "."
    if first["type"] == "missing":
        return f"{key} is missing; leave it at its default instead of deleting it."
    words = {
        "extra_forbidden": "is not a key that exists",
        "model_type": "must be a table of settings by name",
        "dict_type": "must be a table of settings by name",
    }.get(first["type"], first["msg"])
    if first["loc"][-1] == "[key]":  # of a table by name
        return f"{key.rpartition('.')[0].rpartition('.')[0]} names {first['input']}, which {words}."
    return f"{key}={plainly(first['input'])} {words}."


def plainly(value: object) -> str:
    """A value as it would be typed."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {plainly(below)}' for key, below in value.items())}}}"
    return f"[{', '.join(map(plainly, value))}]" if isinstance(value, list | tuple) else str(value)


def _numbered(values: Mapping, prefix: str = "") -> Iterator[str]:
    """Keys that are not words."""
    for key, value in values.items():
        if not isinstance(key, str):
            yield f"{prefix}{key}"
        elif isinstance(value, Mapping):
            yield from _numbered(value, f"{prefix}{key}.")


def _left_out(found: BaseModel, prefix: str = "") -> Iterator[str]:
    """Keys that have a default, which a library's user may leave out, but a configuration must hold."""
    for key in type(found).model_fields:
        if key not in found.model_fields_set:
            yield prefix + key
        elif isinstance(getattr(found, key), BaseModel):
            yield from _left_out(getattr(found, key), f"{prefix}{key}.")
