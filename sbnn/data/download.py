"""Where a data file comes from: the data directory, a copy bundled with the package, or a download."""

import gzip
import hashlib
import http.client
import os
import urllib.error
import urllib.request
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from tqdm import tqdm

from sbnn.errors import SbnnError

BUNDLED = Path(__file__).parent / "bundled"


class Unavailable(SbnnError):
    """A file can be had nowhere; the sentence names every place that was tried."""


class CorruptFile(SbnnError):
    """A file is there but is not what it should be; the sentence names it, the row if one is at fault, and the cure."""


@dataclass(frozen=True)
class File:
    """One published file: where it lies in the data directory, where to download it, and its checksum."""

    name: str  # the dataset, for messages
    paths: tuple[str, ...]  # under the data directory, any of them will do; a download becomes the first
    url: str
    sha256: str | None = None  # None: not known, and not checked
    bundled: str | None = None  # its stand-in under sbnn/data/bundled, gzipped ...
    bundled_sha256: str | None = None  # ... and that one's checksum


@dataclass(frozen=True)
class Found:
    content: bytes
    path: Path
    origin: str  # `data directory`, `bundled copy` or `download`
    sha256: str | None  # what the content should hash to

    @property
    def altered(self) -> bool:
        return self.sha256 is not None and hashlib.sha256(self.content).hexdigest() != self.sha256

    @property
    def cure(self) -> str:
        if self.origin == "bundled copy":
            return "install sbnn again"
        return "delete it to have it fetched again, or put a good copy in its place"


def data_directory(configured: str | None) -> Path:
    """`data.dir`, or the environment's SBNN_DATA_DIR, or a folder in the user's cache."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(configured or os.environ.get("SBNN_DATA_DIR") or Path(cache) / "sbnn").expanduser()


class Sources:
    """Finds files. A host that cannot be reached is not asked again for the next file."""

    def __init__(self, folder: Path, timeout: float = 20.0, progress: bool = False):
        self.folder, self.timeout, self.progress = folder, timeout, progress
        self.unreachable: dict[str, str] = {}

    def find(self, file: File) -> Found:
        """The first of: data directory, bundled copy, download (which is kept in the data directory)."""
        if path := self.held(file):
            return Found(_read(path), path, "data directory", file.sha256)
        if file.bundled is not None:
            path = BUNDLED / file.bundled
            return Found(_read(path), path, "bundled copy", file.bundled_sha256)
        path = self.folder / file.paths[0]
        failure = self.download(file, path)
        if failure is None:
            return Found(_read(path), path, "download", file.sha256)
        raise Unavailable(
            f"{file.name} cannot be had: {path} does not exist, no copy is bundled with sbnn, and downloading "
            f"{file.url} failed ({failure}); put the file at that path, or set data.dir or SBNN_DATA_DIR to a folder "
            f"that holds {' or '.join(file.paths)}."
        )

    def held(self, file: File) -> Path | None:
        """Where it lies in the data directory."""
        paths = [self.folder / name for name in file.paths]
        return next((path for path in paths if os.path.exists(path)), None)  # Path.exists raises on a locked folder

    def download(self, file: File, path: Path) -> str | None:
        """Fetch a file, check it, and only then give it its name; the reason if that fails."""
        host = urlsplit(file.url).netloc
        if host in self.unreachable:
            return self.unreachable[host]
        temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
        try:
            digest = self._fetch(file, temporary)
            if file.sha256 is not None and digest != file.sha256:
                return f"its sha256 is {digest}, not {file.sha256}"
            os.replace(temporary, path)
        except urllib.error.HTTPError as error:
            return f"the server answered {error.code} {error.reason}"
        except urllib.error.URLError as error:
            self.unreachable[host] = f"{host} cannot be reached: {error.reason}"
            return self.unreachable[host]
        except (OSError, http.client.HTTPException) as error:
            return f"{type(error).__name__}: {error}"
        finally:
            with suppress(OSError):
                temporary.unlink()
        return None

    def _fetch(self, file: File, temporary: Path) -> str:
        """The body to a temporary file, and its sha256."""
        digest, received = hashlib.sha256(), 0
        with urllib.request.urlopen(file.url, timeout=self.timeout) as answer:
            announced = answer.headers.get("Content-Length", "")
            expected = int(announced) if announced.isdigit() else None
            temporary.parent.mkdir(parents=True, exist_ok=True)
            label, quiet = f"{file.name}, download", not self.progress
            with (
                open(temporary, "wb") as out,
                tqdm(total=expected, desc=label, unit="B", unit_scale=True, disable=quiet) as bar,
            ):
                while block := answer.read(1 << 16):
                    out.write(block)
                    digest.update(block)
                    received += len(block)
                    bar.update(len(block))
        if expected is not None and received < expected:
            raise ConnectionError(f"broke off after {received} of {expected} bytes")
        return digest.hexdigest()


def _read(path: Path) -> bytes:
    """The content of a file, unpacked if it is gzipped."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise CorruptFile(f"{path} cannot be read ({error}); put a good copy in its place.") from error
