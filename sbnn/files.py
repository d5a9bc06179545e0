"""Files that are written whole or not at all, and are on the disk before they have their name."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

HOUR = 3600.0


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give a temporary path to fill, flush it to the disk, and only then give it its name; a failure leaves nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        flush(temporary)
        os.replace(temporary, path)
        flush(path.parent)
    finally:
        with suppress(OSError):
            temporary.unlink()


def write_text(path: Path, text: str) -> None:
    with written_whole(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    with suppress(PermissionError):  # some systems do not open folders
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of processes that were killed an hour ago or earlier."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError, ValueError):
            killed = not is_running(int(path.name.split(".")[-2]))
            if killed and time.time() - path.stat().st_mtime > HOUR:
                path.unlink()


def is_running(process: int) -> bool:
    """Whether this machine runs a process of that number."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
