"""Finding, fetching and verifying data files, against a real HTTP server on this machine."""

import gzip
import hashlib
import io
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from sbnn.data import download as places
from sbnn.data.download import CorruptFile, File, Sources, Unavailable, data_directory
from sbnn.data.uci import DATASETS, YearDataset, load

YACHT = DATASETS["yacht"]
TEXT = gzip.decompress((places.BUNDLED / "boston.txt.gz").read_bytes())


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def server():
    """Serves `/good`, a `/truncated` body shorter than announced, a `/tampered` one, and 404 for the rest."""

    class Handler(BaseHTTPRequestHandler):
        asked: list[str] = []  # noqa: RUF012

        def do_GET(self):
            self.asked.append(self.path)
            tampered, page = TEXT.replace(b"24", b"25", 1), b"<html>Please sign in</html>"
            body = {"/good": TEXT, "/truncated": TEXT, "/tampered": tampered, "/page": page}.get(self.path)
            if self.path == "/garbage":
                self.wfile.write(b"what?\r\n\r\n")
                return
            if body is None:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:2000] if self.path == "/truncated" else body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        listening.address = f"http://127.0.0.1:{listening.server_address[1]}"
        listening.asked = Handler.asked
        yield listening
        listening.shutdown()


def remote(server, path, checksum=None):
    return File("boston", ("uci/b/data.txt",), f"{server.address}{path}", checksum or sha256(TEXT))


def test_a_download_is_checked_kept_and_not_repeated(server, tmp_path):
    found = Sources(tmp_path).find(remote(server, "/good"))
    assert (found.content, found.origin, found.altered) == (TEXT, "download", False)
    assert [p.name for p in (tmp_path / "uci" / "b").iterdir()] == ["data.txt"]
    again = Sources(tmp_path).find(remote(server, "/good"))
    assert (again.content, again.origin) == (TEXT, "data directory")
    assert server.asked == ["/good"]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/truncated", r"broke off after 2000 of \d+ bytes"),
        ("/tampered", rf"its sha256 is [0-9a-f]{{64}}, not {sha256(TEXT)}"),
        ("/missing", r"the server answered 404"),
        ("/garbage", r"BadStatusLine: what\?"),
    ],
)
def test_a_bad_download_leaves_nothing_and_says_what_was_tried(server, tmp_path, path, reason):
    with pytest.raises(Unavailable, match=reason) as caught:
        Sources(tmp_path).find(remote(server, path))
    message = str(caught.value)
    assert str(tmp_path / "uci/b/data.txt") in message
    assert "no copy is bundled" in message
    assert server.address + path in message
    assert "SBNN_DATA_DIR" in message
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_an_unreachable_host_is_asked_once(tmp_path, monkeypatch):
    attempts = []

    def refuse(url, timeout):
        attempts.append(url)
        raise places.urllib.error.URLError("no route")

    monkeypatch.setattr(places.urllib.request, "urlopen", refuse)
    finder = Sources(tmp_path)
    for name in ("yacht", "power"):
        with pytest.raises(Unavailable, match=r"githubusercontent\.com cannot be reached: no route"):
            load(name, finder)
    assert len(attempts) == 1
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_a_reason_too(server, tmp_path):
    (tmp_path / "uci").write_text("a file where a folder should be")
    with pytest.raises(Unavailable, match=r"data\.txt does not exist.*failed"):
        Sources(tmp_path).find(remote(server, "/good"))


def test_data_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("SBNN_DATA_DIR", "from/environment")
    assert str(data_directory("configured")) == "configured"
    assert str(data_directory(None)) == "from/environment"
    monkeypatch.delenv("SBNN_DATA_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_directory(None) == tmp_path / "sbnn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert data_directory(None).parts[-2:] == (".cache", "sbnn")


@pytest.fixture
def yacht(tmp_path):
    """A stand-in for a dataset that is not bundled: made-up numbers in its format, with a checksum of their own."""
    rng = np.random.default_rng(0)
    lines = [" ".join(f"{v:.3f}" for v in row) for row in rng.normal(size=(YACHT.rows, YACHT.columns))]
    path = tmp_path / "uci" / "yacht" / "data.txt"
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")
    return path, lines, replace(YACHT, sha256=sha256(path.read_bytes()))


def test_a_file_in_the_data_directory(yacht, tmp_path):
    _, lines, dataset = yacht
    table = load("yacht", Sources(tmp_path), dataset)
    assert (table.x.shape, table.y.shape, table.origin) == ((308, 6), (308, 1), "data directory")
    assert table.y[4, 0] == float(lines[4].split()[6])


def spoil(lines, row, change):
    return [*lines[:row], change(lines[row]), *lines[row + 1 :]]


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda t: spoil(t, 16, lambda line: line.replace(line.split()[2], "abc")), r"row 17, column 2 reads 'abc'"),
        (lambda t: spoil(t, 16, lambda line: line.rsplit(" ", 1)[0]), "row 17 has 6 columns, not 7"),
        (lambda t: spoil(t, 16, lambda line: line.replace(line.split()[2], "nan")), "row 17, column 2 is not a finite"),
        (lambda t: [line.rsplit(" ", 1)[0] for line in t], "row 1 has 6 columns, not 7"),
        (lambda t: t[:-3], "ends at row 305, not 308"),
        (lambda t: spoil(t, 16, lambda line: line.replace(line.split()[2], "0.5")), "its sha256 is not the published"),
        (lambda t: ["<html>", "404"], r"row 1 has 1 columns, not 7"),
        (lambda t: [], "it ends at row 0, not 308"),
    ],
)
def test_a_corrupt_file_is_named_with_its_row_and_the_cure(yacht, tmp_path, change, fault):
    path, lines, dataset = yacht
    path.write_text("\n".join(change(lines)) + "\n")
    with pytest.raises(CorruptFile, match=fault) as caught:
        load("yacht", Sources(tmp_path), dataset)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert message.endswith("delete it to have it fetched again, or put a good copy in its place.")
    assert "\n" not in message


def test_a_binary_file_is_corrupt(yacht, tmp_path):
    path, _, dataset = yacht
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.txt", TEXT)
    damaged = bytearray(whole.getvalue())
    damaged[60:200] = bytes(140)
    for content, fault in (
        (b"\xff\xfe\x00\x01", "row 1 has 1 columns, not 7"),
        (b"PK\x03\x04 half a zip", "the zip cannot be opened"),
        (bytes(damaged), "the zip cannot be opened"),
    ):
        path.write_bytes(content)
        with pytest.raises(CorruptFile, match=fault):
            load("yacht", Sources(tmp_path), dataset)


def test_a_page_instead_of_a_file_without_checksum_is_not_kept(server, tmp_path, monkeypatch):
    monkeypatch.setattr("sbnn.data.uci.YEAR", f"{server.address}/page")
    with pytest.raises(Unavailable, match=r"year cannot be had: what .*/page sent is not it"):
        load("year", Sources(tmp_path))
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_the_data_directory_comes_before_the_bundled_copy(tmp_path):
    assert load("wine", Sources(tmp_path)).origin == "bundled copy"
    path = tmp_path / "uci" / "wine-quality-red" / "data.txt"
    path.parent.mkdir(parents=True)
    path.write_text("1 2 3\n")
    with pytest.raises(CorruptFile, match="row 1 has 3 columns, not 12"):
        load("wine", Sources(tmp_path))


@pytest.mark.parametrize("zipped", [True, False])
def test_year_from_a_small_file_of_its_format(tmp_path, zipped):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.integers(1922, 2011, 20), rng.normal(size=(20, 90)).round(5)])
    text = "".join(",".join(f"{v:g}" for v in row) + "\n" for row in rows)
    folder = tmp_path / "uci" / "year"
    folder.mkdir(parents=True)
    if zipped:
        with zipfile.ZipFile(folder / "YearPredictionMSD.txt.zip", "w") as archive:
            archive.writestr("YearPredictionMSD.txt", text)
    else:
        (folder / "YearPredictionMSD.txt").write_text(text)
    dataset = YearDataset("Year", "year", 20, 91, 90, 0, 1, train_rows=15)
    table = load("year", Sources(tmp_path), dataset)
    assert (table.y[:, 0] == rows[:, 0]).all()
    np.testing.assert_allclose(table.x, rows[:, 1:], rtol=1e-5)
    train, test = dataset.split()
    assert (train.tolist(), test.tolist()) == ([list(range(15))], [list(range(15, 20))])
    with pytest.raises(CorruptFile, match="it ends at row 20, not 515345"):
        load("year", Sources(tmp_path))
