"""exp, sigmoid and softplus in terms that a compiler can vectorise.

Outside a compiled function, or in double precision, these are torch's own. Inside one, torch's exp and log1p are calls
that cost more than all the arithmetic of an update around them; written out, the update of a 784-1200-1200-10 network
takes 8 ms instead of 17 on one CPU thread. They agree with torch's to 3e-6, relative, which tests pin.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.polynomial import Chebyshev, Polynomial
from torch import Tensor

LOG2_E = 1.4426950408889634
ROUNDED = 1.5 * 2.0**23  # added to a float, leaves its nearest integer in the lowest bits


def fitted(function: Callable, low: float, high: float, degree: int) -> tuple[float, ...]:
    """The polynomial through a function's values at Chebyshev's points, the constant first."""
    chebyshev = Chebyshev.interpolate(function, degree, (low, high))
    return tuple(chebyshev.convert(kind=Polynomial, domain=(-1, 1)).coef.tolist())


def polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Estrin's scheme: pairs of terms side by side, which a CPU computes at once, then pairs of pairs."""
    terms: list[Any] = list(coefficients)
    while len(terms) > 1:
        paired = [high * x + low for low, high in zip(terms[::2], terms[1::2], strict=False)]
        terms, x = paired + terms[2 * len(paired) :], x * x
    return terms[0]


POWER_OF_TWO = fitted(np.exp2, -0.5, 0.5, 5)
# log(1 + e) = 2 atanh(z) with z = e/(2 + e), z <= 1/3 where e <= 1
ATANH = fitted(lambda squared: np.arctanh(np.sqrt(squared)) / np.sqrt(squared), 0, 1 / 9, 4)


def _plain(x: Tensor) -> bool:
    return x.dtype != torch.float32 or not torch.compiler.is_compiling()


def exp(x: Tensor) -> Tensor:
    """2^f 2^k, k added straight to the exponent of a float; the result stays within 2^-126 and 2^127."""
    if _plain(x):
        return x.exp()
    y = (x * LOG2_E).clamp(-126.0, 127.0)
    rounded = y + ROUNDED
    power = polynomial(y - (rounded - ROUNDED), POWER_OF_TWO)
    return (power.view(torch.int32) + (rounded.view(torch.int32) << 23)).view(torch.float32)


def sigmoid(x: Tensor) -> Tensor:
    return x.sigmoid() if _plain(x) else 1 / (1 + exp(-x))


def softplus(x: Tensor) -> Tensor:
    return F.softplus(x) if _plain(x) else softplus_and_slope(x)[0]


def softplus_and_slope(x: Tensor) -> tuple[Tensor, Tensor]:
    """log(1 + e^x) and its derivative, from one exponential of -|x| and one division."""
    if _plain(x):
        return F.softplus(x), x.sigmoid()
    e = exp(-x.abs())
    reciprocal = 1 / ((1 + e) * (2 + e))
    z = e * (1 + e) * reciprocal
    return x.clamp_min(0) + 2 * z * polynomial(z * z, ATANH), torch.where(x < 0, e, 1.0) * (2 + e) * reciprocal
