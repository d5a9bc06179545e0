"""A folder of results is replaced whole or not at all, and by one process at a time."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # not a Unix: run experiments one after the other there
    fcntl = None


def fresh(folder: Path) -> Path:
    """An empty folder next to the results, to be filled and then put in their place."""
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    return new


def replace(folder: Path, new: Path) -> None:
    """Put a fresh folder in the place of the old one."""
    old = set_aside(folder)
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        os.replace(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)


def put_back(folder: Path) -> None:
    """Restore results that a run had set aside when it was cut off before the new ones were in their place."""
    old = set_aside(folder)
    if old.exists() and not (folder / "rows.csv").exists():
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(old, folder)


def put_back_all(results: Path) -> None:
    for path in results.glob(".*.old/rows.csv"):
        put_back(results / path.parent.name.removeprefix(".").removesuffix(".old"))


def set_aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """Let experiments that run side by side put their folders there, and read each other's, one at a time."""
    with (results / ".lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
