"""Images as the training loop reads them: bytes on the device, made into batches there, without a loader."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from sbnn.errors import ConfigError
from sbnn.streams import Streams


def held_out(size: int, share: float, seed: int) -> tuple[Tensor, Tensor]:
    """Training and validation rows, a random share of `size` being held back: the same on every device."""
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise ConfigError(f"The share of the training images held back is {share}, but must be a number in [0, 1).")
    order = torch.randperm(size, generator=torch.Generator().manual_seed(seed))
    kept = size - round(size * share)
    return order[:kept], order[kept:]


@dataclass(frozen=True)
class Augmentation:
    """A random crop, after padding with black as torchvision's RandomCrop does, and a mirror image every other time."""

    padding: int = 0  # pixels on every side
    flip: bool = False  # left to right

    def draw(self, count: int, generator: torch.Generator) -> Tensor:
        """(3, count): how far from the top and from the left each crop begins, and whether it is mirrored."""
        corner = torch.randint(2 * self.padding + 1, (2, count), generator=generator, device=generator.device)
        mirrored = torch.randint(1 + self.flip, (1, count), generator=generator, device=generator.device)
        return torch.cat([corner, mirrored])

    def apply(self, x: Tensor, drawn: Tensor) -> Tensor:
        """Images (N, C, H, W) as drawn (3, N): one gather of their pixels."""
        height, width = x.shape[2:]
        top, left, mirrored = drawn.unsqueeze(-1)  # (N, 1) each
        column = torch.arange(width, device=x.device)
        row = top + torch.arange(height, device=x.device)  # (N, H)
        column = left + torch.where(mirrored > 0, width - 1 - column, column)  # (N, W)
        padded = functional.pad(x, (self.padding,) * 4).flatten(2)
        pixel = row.unsqueeze(2) * (width + 2 * self.padding) + column.unsqueeze(1)  # (N, H, W)
        return padded.gather(2, pixel.flatten(1).unsqueeze(1).expand(-1, x.shape[1], -1)).view_as(x)


# By the names of the key `vary.augmentation`.
AUGMENTATIONS = {"none": None, "crop": Augmentation(padding=2), "crop_and_flip": Augmentation(padding=4, flip=True)}


@dataclass(frozen=True)
class ImageData:
    """R replicas reading rows of one stored set of images, which are bytes on the device until a batch is made."""

    x: Tensor  # (n, C, H, W) uint8
    y: Tensor  # (n,)
    rows: Tensor  # (R, m)
    shift: Tensor  # (C, 1, 1), in units of the bytes: a network sees (x - shift) / scale
    scale: Tensor
    augmentation: Augmentation | None = None
    flat: bool = True  # whether a network sees C H W features or an image

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def size(self) -> int:
        """Rows per replica."""
        return self.rows.shape[1]

    def __getitem__(self, part: slice | Tensor) -> "ImageData":
        """Some of the replicas; the images are shared, not copied."""
        return replace(self, rows=self.rows[part])

    def chosen(self) -> list[Tensor]:
        return [self.rows]

    def at(self, rows: Tensor) -> "ImageData":
        """The same replicas and scaling at other rows (R, m'), not augmented: a held-out part."""
        return replace(self, rows=rows, augmentation=None)

    def all(self) -> tuple[Tensor, Tensor]:
        """Every row as it is stored, never augmented."""
        return self._read(self.rows, None)

    def draw(self, count: int, streams: Streams | None, part: slice = slice(None)) -> Tensor | None:
        """How a part of a batch of `count` rows is augmented, (3, R B): each replica's own stream draws for all."""
        if self.augmentation is None:
            return None
        if streams is None or len(streams) != len(self):
            raise ValueError("Augmented batches are drawn from one random stream for every replica; pass streams.")
        return torch.cat([self.augmentation.draw(count, one)[:, part] for one in streams.generators], 1)

    def read(self, positions: Tensor, drawn: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Inputs (R, B, ...) and labels at positions (R, B) into each replica's rows, augmented as drawn."""
        return self._read(self.rows.gather(1, positions), drawn)

    def batches(self, streams: Streams | None = None, size: int = 250) -> Iterator[tuple[Tensor, Tensor]]:
        """All rows, as many at a time as stay in a CPU's cache, augmented where there are streams to do it by."""
        positions = torch.arange(self.size, device=self.rows.device).expand(len(self), -1)
        parts = positions.tensor_split(math.ceil(self.size / size), dim=1)
        return (self.read(part, None if streams is None else self.draw(part.shape[1], streams)) for part in parts)

    def _read(self, rows: Tensor, drawn: Tensor | None) -> tuple[Tensor, Tensor]:
        which = rows.flatten()
        x = self.x.index_select(0, which)
        if self.augmentation is not None and drawn is not None:
            x = self.augmentation.apply(x, drawn)
        x = x.to(self.shift.dtype).sub_(self.shift).div_(self.scale)  # (R B, C, H, W)
        x = x.flatten(1) if self.flat else x
        y = self.y.index_select(0, which).long()
        return x.unflatten(0, rows.shape), y.view(rows.shape)
