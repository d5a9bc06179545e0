"""A parameter that is mostly zero as the weights that are left and the gaps between them.

Of its values in a row, a convolution's those of the matrix (out, in kh kw), there are

    gaps    uint8 or int16: how many zeros come before each weight; the type's largest number stands for that many zeros
            and no weight; none at all if every value is stored
    values  float32, float16 or int8
    scale   float32 (rows,), only of int8: a weight is values x scale of its row
"""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

PRECISIONS = {"float32": torch.float32, "float16": torch.float16, "int8": torch.int8}
WIDTHS = (torch.uint8, torch.int16)  # of gaps
LARGEST = 127  # in 8 bits
WITHIN = 0.99  # the share of the weights whose rounding has to stay below their standard deviation


def packed(weight: Tensor, precision: str, sigma: Tensor | None = None) -> dict[str, Tensor] | None:
    """The parts of a parameter; None if they would be no fewer bytes than it has.

    A matrix with few zeros is stored whole; a vector with few stays as precise as it is, since it is small. With its
    standard deviations, int8 becomes float16 where rounding is worse than these; float16 becomes float32 where numbers
    are too large for it.
    """
    matrix = weight.reshape(len(weight) if weight.dim() > 1 else 1, -1)
    row, column = matrix.nonzero(as_tuple=True)
    kept, places = matrix[row, column], row * matrix.shape[1] + column
    parts: dict[str, Tensor] = {}
    if precision == "int8":
        scale = matrix.abs().amax(1).float() / LARGEST
        values = (kept / scale[row]).round_()
        moved = (values * scale[row] - kept).abs()
        if sigma is None or (moved < sigma.expand_as(weight).reshape_as(matrix)[row, column]).double().mean() >= WITHIN:
            parts |= {"values": values.to(torch.int8), "scale": scale}
        else:
            precision = "float16"
    if precision == "float16" and (kept.abs() > torch.finfo(torch.float16).max).any():
        precision = "float32"
    parts.setdefault("values", kept.to(PRECISIONS[precision]))
    values, gaps = parts["values"], min((_gaps(places, width) for width in WIDTHS), key=lambda gaps: gaps.nbytes)
    if gaps.nbytes + values.nbytes < weight.numel() * values.itemsize:
        return parts | {"gaps": gaps}
    if weight.dim() < 2 or values.itemsize >= weight.itemsize:
        return None
    return parts | {"values": values.new_zeros(weight.numel()).index_copy_(0, places, values)}


def unpacked(parts: Mapping[str, Tensor], shape: Sequence[int]) -> Tensor:
    """The parameter, float32; ValueError if the parts do not make one of this shape."""
    values, gaps = parts["values"], parts.get("gaps", torch.zeros(math.prod(shape), dtype=torch.uint8))
    if values.dtype not in PRECISIONS.values():
        raise ValueError(f"values of {values.dtype} are unknown")
    skips = gaps == torch.iinfo(gaps.dtype).max
    place = ((gaps.long() + ~skips).cumsum(0) - 1)[~skips]
    matrix = torch.zeros(shape).view(shape[0] if len(shape) > 1 else 1, -1)
    if len(place) != len(values) or (len(place) and not 0 <= int(place.min()) <= int(place.max()) < matrix.numel()):
        raise ValueError("weights and their places do not match")
    matrix.view(-1)[place] = values.float()
    if values.dtype == torch.int8:
        matrix *= parts["scale"].view(len(matrix), 1)
    return matrix.view(*shape)


def _gaps(places: Tensor, width: torch.dtype) -> Tensor:
    """The zeros before each of the weights at these places, from the first on."""
    largest = torch.iinfo(width).max
    zeros = places.diff(prepend=places.new_full((1,), -1)) - 1
    ends = (zeros // largest + 1).cumsum(0) - 1
    gaps = torch.full((int(ends[-1]) + 1 if len(ends) else 0,), largest, dtype=width)
    gaps[ends] = (zeros % largest).to(width)
    return gaps
