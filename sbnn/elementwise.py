"""exp, sigmoid and softplus in terms that a compiler can vectorise.

Outside a compiled function, or in double precision, these are torch's own. Inside one, torch's exp and log1p are calls
that cost more than all the arithmetic of an update around them; written out, the update of a 784-1200-1200-10 network
takes 9 ms instead of 17 on one CPU thread. They agree with torch's to 2e-6, relative, which tests pin.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

LOG2_E = 1.4426950408889634
# 2^f on [-1/2, 1/2], highest power first: ln(2)^k / k!
POWERS_OF_TWO = (1.5252734e-5, 1.5403530e-4, 1.3333558e-3, 9.6181291e-3, 5.5504109e-2, 2.4022651e-1, 6.9314718e-1, 1.0)
# log(1 + e) = 2 atanh(z) = 2 z (1 + z^2/3 + z^4/5 + ...) with z = e/(2 + e); z <= 1/3 where e <= 1
ODD = (13, 11, 9, 7, 5, 3, 1)


def _plain(x: Tensor) -> bool:
    return x.dtype != torch.float32 or not torch.compiler.is_compiling()


def exp(x: Tensor) -> Tensor:
    """2^k 2^f, the power of two k written straight into the exponent of a float; flushed below 2^-126."""
    if _plain(x):
        return x.exp()
    y = (x * LOG2_E).clamp(-126.0, 127.0)
    k = (y + 0.5).floor()
    f, value = y - k, POWERS_OF_TWO[0]
    for coefficient in POWERS_OF_TWO[1:]:
        value = value * f + coefficient
    return value * ((k + 127).to(torch.int32) * 2**23).view(torch.float32)


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
    squared, series = z * z, 1 / ODD[0]
    for odd in ODD[1:]:
        series = series * squared + 1 / odd
    return x.clamp_min(0) + 2 * z * series, torch.where(x < 0, e, 1.0) * (2 + e) * reciprocal
