"""The noise of a gate, which is open where its logit plus logistic noise is positive: with probability S(logit)."""

import numpy as np
import torch
from torch import Tensor

from sbnn.model.elementwise import fitted, polynomial

FAR = 5.0  # standard deviations, beyond which noise counts as this; the loop's own ends at 4.9


def _log_odds_of_normal(squared: np.ndarray) -> np.ndarray:
    """log(Phi(x) / Phi(-x)) / x, of x^2."""
    x = torch.from_numpy(np.sqrt(squared))
    return ((torch.special.log_ndtr(x) - torch.special.log_ndtr(-x)) / x).numpy()


LOG_ODDS = fitted(_log_odds_of_normal, 0, FAR**2, 8)  # to 1e-5


def logistic(eps: Tensor) -> Tensor:
    """Standard logistic noise, log(u / (1 - u)), from standard normal noise by u = Phi(eps)."""
    eps = eps.clamp(-FAR, FAR)
    return eps * polynomial(eps * eps, LOG_ODDS)
