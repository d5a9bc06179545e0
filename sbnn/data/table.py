"""A table of one's own, as it is written in a file: csv, csv.gz or parquet, every cell as text.

What is wrong with a file is said in one sentence that names its row and column.
"""

import csv
import gzip
import hashlib
import io
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np

from sbnn.errors import DataError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MISSING = {"", "na", "n/a", "nan", "null", "?"}
LARGEST = 1e30  # its square still is a number in float32
DELIMITERS = ",;\t"
Row = tuple[int, list[str]]  # its number in the file, counted from 1, and its cells


@dataclass(frozen=True)
class Cells:
    """The text of a table by the names of its columns."""

    file: str  # its name
    sha256: str  # of its content
    rows: list[int]  # where they stand in the file
    columns: dict[str, list[str]]

    def __len__(self) -> int:
        return len(self.rows)

    def place(self, row: int, column: str) -> str:
        return f"row {self.rows[row]}, column {column} of {self.file}"


def read_table(path: str | Path, header: bool | None = None) -> Cells:
    """The cells of a file. Without a word on the header, the first row is one if none of its cells is a number.

    Columns without a name are called `column 1`, `column 2` and so on.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path} is not a file; give the path of a table, csv, csv.gz or parquet.")
    content = path.read_bytes()
    sha256 = hashlib.sha256(content).hexdigest()
    if content.startswith(b"PAR1"):
        names, rows = _parquet(content, path.name)
    else:
        names, rows = _headed(list(_csv(_text(content, path.name), path.name)), header, path.name)
    if not rows:
        raise DataError(f"{path.name} holds no rows.")
    if repeated := next((name for place, name in enumerate(names) if name in names[:place]), None):
        raise DataError(f"{path.name} has two columns called {repeated}; give each a name of its own.")
    for number, cells in rows:
        if len(cells) != len(names):
            raise DataError(
                f"{path.name} is not a table: row {number} has {len(cells)} cells and others have {len(names)}."
            )
    columns = zip(*(cells for _, cells in rows), strict=True)
    by_name = {name: list(cells) for name, cells in zip(names, columns, strict=True)}
    return Cells(path.name, sha256, [number for number, _ in rows], by_name)


def column_of(cells: Cells, name: str, categories: bool = False) -> np.ndarray:
    """A column as numbers (float64) if all its cells are, or as text if none is, or where categories are asked for.

    A missing value is refused, and so is one that is not of its column's kind.
    """
    texts = cells.columns[name]
    if (row := next((row for row, text in enumerate(texts) if text.lower() in MISSING), None)) is not None:
        seen = f" (it reads {texts[row]})" if texts[row] else ""
        raise DataError(
            f"The value in {cells.place(row, name)}, is missing{seen}; fill it in, or leave the row or the column out."
        )
    are_numbers = [NUMBER.fullmatch(text) is not None for text in texts]
    if categories or not any(are_numbers):
        return np.array(texts, dtype=object)
    if not all(are_numbers):
        row = are_numbers.index(False)
        raise DataError(
            f"The value in {cells.place(row, name)}, is not a number: it reads {texts[row][:40]!r}, while others in "
            f"this column are; mend it, or add data.categories=[{name}]."
        )
    values = np.array(texts, dtype=np.float64)
    if len(far := np.flatnonzero(np.abs(values) > LARGEST)):
        raise DataError(f"The value in {cells.place(far[0], name)}, is too large: it reads {texts[far[0]][:40]}.")
    return values


def _text(content: bytes, file: str) -> str:
    try:
        if content.startswith(b"\x1f\x8b"):
            content = gzip.decompress(content)
        text = content.decode("utf-8-sig")
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{file} cannot be unzipped ({error}); write it again.") from error
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise DataError(f"{file} is not a table of text in UTF-8; save it as csv, csv.gz or parquet.")
    return text


def _csv(text: str, file: str) -> Iterator[Row]:
    """The rows that are not empty, with whichever delimiter splits the first into the most cells."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    delimiter = max(DELIMITERS, key=lambda one: len(next(csv.reader([first], delimiter=one), [])))
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, [cell.strip() for cell in cells]
    except csv.Error as error:
        raise DataError(f"{file} is not a table: line {reader.line_num} cannot be read ({error}).") from error


def _headed(rows: list[Row], header: bool | None, file: str) -> tuple[list[str], list[Row]]:
    if not rows:
        raise DataError(f"{file} is empty.")
    first = rows[0][1]
    if header is None:
        header = not any(NUMBER.fullmatch(cell) for cell in first)
    names = [(cell if header else "") or f"column {number}" for number, cell in enumerate(first, 1)]
    return names, rows[1:] if header else rows


def _parquet(content: bytes, file: str) -> tuple[list[str], list[Row]]:
    arrow = _arrow(file)
    try:
        table = arrow.read_table(io.BytesIO(content))
    except (OSError, ValueError, NotImplementedError) as error:  # pyarrow's own are of these kinds
        raise DataError(f"{file} cannot be read as parquet ({str(error).splitlines()[0]}).") from error
    columns = [[_written(value) for value in column.to_pylist()] for column in table.columns]
    return table.column_names, [(number, list(cells)) for number, cells in enumerate(zip(*columns, strict=True), 1)]


def _arrow(file: str) -> ModuleType:
    try:
        return import_module("pyarrow.parquet")
    except ImportError as error:
        raise DataError(f"{file} is parquet, which needs pyarrow: pip install 'sbnn[parquet]', or save csv.") from error


def _written(value: object) -> str:
    """A value as csv would have it."""
    return "" if value is None else str(value).strip()
