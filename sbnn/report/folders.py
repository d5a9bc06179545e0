"""A folder of results is replaced whole or not at all, by one process at a time; files of the user's stay in it."""

import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sbnn.errors import SbnnError
from sbnn.files import flush, remove_leftovers

try:
    import fcntl
except ImportError:  # not a Unix: run experiments one after the other there
    fcntl = None

ALWAYS_OURS = {"rows.csv", "config.yaml", "run.json", "claims.csv"}
# What only training can make, as far as a run leaves it; the rest is drawn from it.
TRAINED = ("rows.csv", "config.yaml", "history.csv", "tensorboard", "network*.safetensors", "network.json")


def check_replaceable(folder: Path) -> None:
    """Refuse, before training, to put results where something else is."""
    if not folder.is_dir():
        if os.path.lexists(folder):
            raise SbnnError(f"{folder} is not a folder; choose another one with results_dir=.")
        return
    if Path.cwd().is_relative_to(folder.resolve()):
        raise SbnnError(f"{folder} is the current folder or holds it, and results replace theirs; choose another one.")
    inside = sorted(path.name for path in folder.iterdir())
    if inside and not (_facts(folder) or _facts(set_aside(folder))):
        raise SbnnError(
            f"{folder} holds {inside[0]} and no run.json of sbnn's, so its files may be yours; choose another folder, "
            "or move them away."
        )


@contextmanager
def fresh(folder: Path) -> Iterator[Path]:
    """An empty folder next to the results, to be filled and then put in their place; a failure leaves nothing of it."""
    new = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        yield new
    finally:
        shutil.rmtree(new, ignore_errors=True)


def copy_trained(folder: Path, new: Path) -> None:
    """Take over from a folder of results what cannot be drawn again."""
    for path in (path for pattern in TRAINED for path in folder.glob(pattern)):
        if path.is_dir():
            shutil.copytree(path, new / path.name)
        else:
            shutil.copy(path, new / path.name)


def replace(folder: Path, new: Path) -> None:
    """Put a fresh folder in the place of the old one, with the files in it that are not ours."""
    put_back(folder)
    flush(new)
    old = set_aside(folder)
    if folder.exists():
        os.replace(folder, old)
    os.replace(new, folder)
    flush(folder.parent)
    _rescue(old, folder)


def put_back(folder: Path) -> None:
    """Restore what a run that was cut off had set aside: the results themselves, or the user's files among them."""
    old = set_aside(folder)
    if not old.exists():
        return
    if (folder / "rows.csv").exists():
        _rescue(old, folder)
        return
    with suppress(OSError):
        folder.rmdir()  # Hydra made it
    if not folder.exists():
        os.replace(old, folder)
        return
    for path in sorted(old.iterdir(), key=lambda path: path.name == "rows.csv"):  # which makes it whole, last
        if not (folder / path.name).exists():
            os.replace(path, folder / path.name)
    shutil.rmtree(old, ignore_errors=True)


def put_back_all(results: Path) -> None:
    for path in results.glob(".*.old"):
        put_back(results / path.name.removeprefix(".").removesuffix(".old"))


def set_aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _rescue(old: Path, folder: Path) -> None:
    """Move what is not ours from a folder that has been replaced to the one in its place; the rest goes."""
    if not old.exists():
        return
    written = set(_facts(old).get("files", [])) | ALWAYS_OURS
    theirs = [path for path in old.iterdir() if path.name not in written]
    for path in theirs:
        if not (folder / path.name).exists():
            os.replace(path, folder / path.name)
        elif "files" in _facts(old):  # a file of the user's that is called like one of ours
            os.replace(path, folder / f"{path.name}.yours")
    shutil.rmtree(old, ignore_errors=True)


def _facts(folder: Path) -> dict:
    """What our own run.json says; nothing if it is not there, or not ours."""
    try:
        facts = json.loads((folder / "run.json").read_text())
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) and {"experiment", "seed", "versions"} <= set(facts) else {}


@contextmanager
def alone(results: Path) -> Iterator[None]:
    """Let experiments that run side by side put their folders there, and read each other's, one at a time."""
    with (results / ".lock").open("w") as lock:
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep a folder of results to this process, from before training until the results are in it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.with_name(f".{folder.name}.lock")).open("a+") as lock:
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.seek(0)
            owner = lock.read().strip() or "another process"
            raise SbnnError(
                f"{folder} is being written by {owner}; wait for it, stop it, or give another results_dir."
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}")
        lock.flush()
        remove_leftovers(folder.parent)
        check_replaceable(folder)
        yield
