"""From the relevance of features and of their copies to inclusion probabilities and a set of a known error rate."""

import numpy as np
from sklearn.isotonic import isotonic_regression


def inclusion_probabilities(relevance: np.ndarray) -> np.ndarray:
    r"""P(feature j has an effect), (D,), from the relevance psi (R, 2 D) of features and, behind them, their copies.

    In replica r feature j wins by w_jr = psi_jr - psi~_jr. Without an effect it is as likely to lose by as much. So of
    all features and replicas whose |w| is about a, if the share l(a) lose, another l(a) have won by chance, and

        P(no effect | w = a > 0) = l(a) / (1 - l(a)),
        p_j = mean over r of [w_jr > 0] (1 - l(w_jr) / (1 - l(w_jr)))

    l is fitted by isotonic regression: the clearer the margin, the rarer a loss. One loss is added at the largest
    margin, as knockoff+ does, so that a few lucky wins are no certainty. The mean of replicas that are each right about
    their own share of errors is less sure of itself than they are together, so that rates err on the safe side.
    """
    margin = relevance[:, : relevance.shape[1] // 2] - relevance[:, relevance.shape[1] // 2 :]  # (R, D)
    order = np.argsort(-np.abs(margin), axis=None, kind="stable")
    lost = np.concatenate([[1.0], margin.flat[order] < 0])
    share = np.empty(margin.size)
    share[order] = isotonic_regression(lost, y_min=0, y_max=0.5)[1:]
    return np.where(margin > 0, 1 - (share / (1 - share)).reshape(margin.shape), 0).mean(0)


def largest_set(inclusion: np.ndarray, fdr: float) -> np.ndarray:
    """The largest set whose mean 1 - p, the share of false discoveries to expect in it, is at most `fdr`, (D,) bool."""
    order = np.argsort(-inclusion, kind="stable")
    expected = np.cumsum(1 - inclusion[order]) / np.arange(1, len(order) + 1)  # rises along the order
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[: np.searchsorted(expected, fdr, side="right")]] = True
    return chosen
