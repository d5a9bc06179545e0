"""Standard normal noise as a function of a key and a weight's number, in terms that a compiler can vectorise.

No state and no memory: inside a compiled function it becomes part of the pass that draws the weights, on as many
threads as that has, where torch's generators fill a tensor of their own on one thread.
"""

import functools
import math

import numpy as np
import torch
from torch import Tensor

from sbnn.model.elementwise import fitted, polynomial

SQRT_HALF = 0x3F3504F3  # as the bits of a float
MULTIPLIERS = (0x7FEB352D, 0x846CA68B - 2**32)  # of Wellons's lowbias32
# sin(pi t / 2) / t in powers of t^2, t in [-1, 1], and -2 log(1 + x), both to 4e-6
SINE = fitted(lambda squared: np.sin(np.pi / 2 * np.sqrt(squared)) / np.sqrt(squared), 0, 1, 3)
MINUS_TWO_LOG = fitted(lambda x: -2 * np.log1p(x), 0.5**0.5 - 1, 2**0.5 - 1, 6)


def noise(key: Tensor, size: int, begin: int = 0) -> Tensor:
    """(R, size) draws from keys (R, 2) of random int32; those from `begin` on.

    A key puts the numbers 0, 1, ... on a random line modulo 2^32, whose points are then scrambled. Of the 32 bits that
    each gives, half are a radius and half an angle (Box and Muller): 2^32 different values, none above 4.9. There are
    so few of either that they are looked up where nothing is compiled.
    """
    number = torch.arange(begin, begin + size, dtype=torch.int32, device=key.device)
    bits = scrambled(number * (key[:, :1] | 1) + key[:, 1:])
    high, low = _shifted(bits, 16), bits & 0xFFFF
    if torch.compiler.is_compiling():
        return radius(high) * cosine(low)
    radii, cosines = tables(key.device)
    draws = radii.index_select(0, high.view(-1)).mul_(cosines.index_select(0, low.view(-1)))
    return draws.view(len(key), size)


@functools.cache
def tables(device: torch.device) -> tuple[Tensor, Tensor]:
    """Every radius, and the cosine of every angle."""
    halves = torch.arange(2**16, dtype=torch.int32, device=device)
    return radius(halves), cosine(halves)


def radius(half: Tensor) -> Tensor:
    """sqrt(-2 log u), u in (0, 1) by 16 random bits."""
    return _minus_two_log((half.float() + 0.5) * 2**-16).sqrt()


def cosine(half: Tensor) -> Tensor:
    """Of an angle by 16 random bits: the sine of its distance from a right one, which is counted in quarters."""
    turn = 1 - (half.float() - 32767.5).abs() * 2**-14
    return turn * polynomial(turn * turn, SINE)


def scrambled(bits: Tensor) -> Tensor:
    """A permutation of the 32-bit integers in which every bit of the result depends on every bit of the input."""
    for shift, multiplier in zip((16, 15), MULTIPLIERS, strict=True):
        bits = (bits ^ _shifted(bits, shift)) * multiplier
    return bits ^ _shifted(bits, 16)


def _shifted(bits: Tensor, by: int) -> Tensor:
    """To the right, zeros coming in."""
    return (bits >> by) & (2 ** (32 - by) - 1)


def _minus_two_log(x: Tensor) -> Tensor:
    """-2 log x of floats in (0, 1): x = 2^k m with m in [sqrt(1/2), sqrt 2)."""
    above = x.view(torch.int32) - SQRT_HALF
    k, m = above >> 23, ((above & (2**23 - 1)) + SQRT_HALF).view(torch.float32)
    return k.float() * (-2 * math.log(2)) + polynomial(m - 1, MINUS_TWO_LOG)
