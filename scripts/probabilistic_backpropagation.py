"""Probabilistic backpropagation (Hernández-Lobato and Adams 2015) of regressions with one hidden layer, many at once.

Every weight is N(m, v) on its own, and so is the output given them; the noise's precision is Gamma(a, b), and so is
that of the weights' prior. Rows come one after the other: with Z the probability of a row's target,

    m <- m + v dlog Z/dm,    v <- v - v² ((dlog Z/dm)² - 2 dlog Z/dv),

which are the moments of the posterior after that row (assumed density filtering). After each pass over the rows the
prior of every weight is refined by expectation propagation. Networks, R of them with data of their own, are the first
axis of all arrays; none knows of the others.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

Array = NDArray[np.float64]
PRIOR = 6.0  # a and b of both precisions before any data
TINIEST, WIDEST = 1e-100, 1e6  # variances: below the one an update is undone, a cavity beyond the other is not refined
AHEAD = np.array([[-1.0], [0.0], [1.0]])  # b / (a - 1), b / a and b / (a + 1) give Z, Z1 and Z2


@dataclass
class Networks:
    """The posterior: means and variances of both layers' weights, biases last, and the noise's Gamma(a, b)."""

    mean: tuple[Array, Array]  # (R, D + 1, H), (R, H + 1)
    variance: tuple[Array, Array]
    a: Array  # (R,)
    b: Array


@dataclass
class PriorSites:
    """The factors N(w | 0, 1 / precision) as Gaussians and Gammas, in natural parameters, and the precision's Gamma."""

    precision: tuple[Array, Array]  # shaped as the weights
    shift: tuple[Array, Array]  # mean times precision
    shape: tuple[Array, Array]
    rate: tuple[Array, Array]
    a: Array  # (R,)
    b: Array


def start(features: int, hidden: int, generators: Sequence[np.random.Generator]) -> tuple[Networks, PriorSites]:
    """Means N(0, 1 / inputs of the layer), the prior's variance b / (a - 1)."""
    shapes = ((hidden, features + 1), (1, hidden + 1))
    drawn = [[g.standard_normal(shape) / math.sqrt(shape[1]) for shape in shapes] for g in generators]
    mean = (np.stack([first.T for first, _ in drawn]), np.concatenate([last for _, last in drawn]))
    precision = (PRIOR - 1) / PRIOR

    def filled(value: float) -> tuple[Array, Array]:
        return np.full_like(mean[0], value), np.full_like(mean[1], value)

    a, b = (np.full(len(generators), PRIOR) for _ in "ab")
    sites = PriorSites(filled(precision), filled(0.0), filled(0.0), filled(0.0), a.copy(), b.copy())
    return Networks(mean, filled(1 / precision), a, b), sites


def relu(mean: Array, variance: Array) -> tuple[Array, Array, Array, Array]:
    """Mean and variance of max(0, z) for z ~ N(m, v), P(z > 0) and the density of z at 0.

    With α = m / √v and γ = φ(α) / Φ(α): mean Φ(α) m', m' = m + √v γ; variance Φ(α) (m'² Φ(-α) + v (1 - γ (γ + α))).
    The scaled complementary error function gives γ where φ and Φ both vanish.
    """
    deviation = np.sqrt(variance)
    alpha = mean / deviation
    positive, gamma = ndtr(alpha), math.sqrt(2 / math.pi) / erfcx(alpha * -math.sqrt(0.5))
    given = mean + deviation * gamma
    spread = positive * (given * given * (1 - positive) + variance * (1 - gamma * (gamma + alpha)))
    return positive * given, spread, positive, positive * gamma / deviation


def forward(networks: Networks, x: Array) -> tuple[Array, Array, tuple[Array, Array, Array, Array]]:
    """Mean and variance (R, n) of the output at x (R, n, D + 1), and what `relu` says of the hidden units, (R, n, H).

    A layer W h / √inputs has the mean M E[h] / √inputs and the variance (V E[h²] + M² Var[h]) / inputs.
    """
    (m1, m2), (v1, v2) = networks.mean, networks.variance
    inputs, units = m1.shape[1], m2.shape[1]
    hidden = relu(x @ m1 / math.sqrt(inputs), (x * x) @ v1 / inputs)
    h, spread = hidden[:2]
    m, v = m2[:, :-1, None], v2[:, :-1, None]
    mean = (h @ m)[..., 0] + m2[:, -1:]
    variance = (h * h + spread) @ v + spread @ (m * m)
    return mean / math.sqrt(units), (variance[..., 0] + v2[:, -1:]) / units, hidden


def noise_posterior(log_z: Array, a: Array, b: Array) -> tuple[Array, Array]:
    """Gamma(a, b) after log Z, log Z1 and log Z2, with a, a + 1 and a + 2: its first two moments are matched.

    a <- 1 / (Z2 Z / Z1² (a + 1) / a - 1),    b <- 1 / (Z2 / Z1 (a + 1) / b - Z1 / Z a / b).
    """
    first, second = np.exp(log_z[1] - log_z[0]), np.exp(log_z[2] - log_z[1])
    return 1 / (second / first * (a + 1) / a - 1), b / (second * (a + 1) - first * a)


def gradients(networks: Networks, x: Array, y: Array) -> tuple[Array, list[tuple[Array, Array]]]:
    """log Z, log Z1 and log Z2 (3, R) of a row x (R, D + 1), y (R,); by layer, d log Z by means and by variances.

    Z = N(y | m, v + b / (a - 1)). Through a rectifier of mean E: dE/dm = P, dE/dv = δ / 2, dVar/dm = 2 E (1 - P) and
    dVar/dv = P - E δ, with P = P(z > 0) and δ the density of z at 0.
    """
    (m1, m2), (_, v2) = networks.mean, networks.variance
    inputs, units = m1.shape[1], m2.shape[1]
    mean, variance, hidden = forward(networks, x[:, None])
    h, spread, positive, density = (values[:, 0] for values in hidden)
    total = variance[:, 0] + networks.b / (networks.a + AHEAD)  # (3, R)
    error = y - mean[:, 0]
    log_z = -0.5 * (np.log(total) + error * error / total)
    by_mean = (error / total[0])[:, None]
    by_variance = 0.5 * (by_mean * by_mean - 1 / total[0][:, None])
    by_mean, by_variance = by_mean / math.sqrt(units), by_variance / units

    m, v = m2[:, :-1], v2[:, :-1]
    last_mean, last_variance = np.empty_like(m2), np.empty_like(m2)
    last_mean[:, :-1], last_mean[:, -1:] = by_mean * h + 2 * by_variance * m * spread, by_mean
    last_variance[:, :-1], last_variance[:, -1:] = by_variance * (h * h + spread), by_variance

    by_h, by_spread = by_mean * m + 2 * by_variance * v * h, by_variance * (m * m + v)
    first_mean = (by_h * positive + by_spread * 2 * h * (1 - positive)) / math.sqrt(inputs)
    first_variance = (by_h * 0.5 * density + by_spread * (positive - h * density)) / inputs
    first = x[:, :, None] * first_mean[:, None], (x * x)[:, :, None] * first_variance[:, None]
    return log_z, [first, (last_mean, last_variance)]


def update(mean: Array, variance: Array, by_mean: Array, by_variance: Array) -> None:
    """The module's first equations. Where a variance would not be positive, or no number, a weight stays as it is."""
    step = variance * by_mean
    narrower = 2 * variance * variance * by_variance - step * step
    narrower += variance
    if not narrower.min() > TINIEST:
        undone = ~(narrower > TINIEST)
        narrower[undone], step[undone] = variance[undone], 0
    mean += step
    variance[...] = narrower


def learn(networks: Networks, x: Array, y: Array) -> None:
    """Take in one row for each network."""
    log_z, by_layer = gradients(networks, x, y)
    for layer, derivatives in enumerate(by_layer):
        update(networks.mean[layer], networks.variance[layer], *derivatives)
    networks.a, networks.b = noise_posterior(log_z, networks.a, networks.b)


def refine(networks: Networks, sites: PriorSites) -> None:
    """A pass of expectation propagation over the prior's factors, weight by weight.

    A factor is taken out of the posterior, N(w | 0, 1 / precision) put in, and the first two moments matched:
    Z = N(0 | m, v + b / (a - 1)), of what is left, gives them as a row's Z does in `learn`.
    """
    for layer, (mean, variance) in enumerate(zip(networks.mean, networks.variance, strict=True)):
        own = (mean, variance, *(part[layer] for part in (sites.precision, sites.shift, sites.shape, sites.rate)))
        columns = np.stack([part.swapaxes(1, -1).reshape(len(part), -1).T for part in own], 1)  # (W, 6, R)
        for column in columns:
            column[:], sites.a, sites.b = refined(column, sites.a, sites.b)
        for part, column in zip(own, columns.swapaxes(0, 1), strict=True):
            part.swapaxes(1, -1)[...] = column.T.reshape(part.swapaxes(1, -1).shape)


def refined(column: Array, a: Array, b: Array) -> tuple[Array, Array, Array]:
    """One weight's mean, variance and four numbers of its prior's site (6, R), and the precision's a and b."""
    mean, variance, site_precision, site_shift, site_shape, site_rate = column
    with np.errstate(all="ignore"):  # of cavities that are not used
        precision, shift = 1 / variance - site_precision, mean / variance - site_shift
        v, m, shape, rate = 1 / precision, shift / precision, a - site_shape, b - site_rate
        total = v + rate / (shape + AHEAD)
        log_z = -0.5 * (np.log(total) + m * m / total)
        by_mean = -m / total[0]
        new_mean = m + v * by_mean
        new_variance = v - v * v / total[0]
        new_a, new_b = noise_posterior(log_z, shape, rate)
        usable = (v > 0) & (v < WIDEST) & (shape > 1) & (rate > 0)
        site = 1 / new_variance - precision, new_mean / new_variance - shift, new_a - shape, new_b - rate
    new = np.where(usable, [new_mean, new_variance, *site], column)
    return new, np.where(usable, new_a, a), np.where(usable, new_b, b)


def with_bias(x: Array) -> Array:
    return np.concatenate([x, np.ones_like(x[..., :1])], -1)


def fit(x: Array, y: Array, hidden: int, epochs: int, generators: Sequence[np.random.Generator]) -> Networks:
    """R networks on x (R, n, D) and y (R, n), each with a generator of its own for its start and its orders."""
    networks, sites = start(x.shape[-1], hidden, generators)
    x = with_bias(x)
    for _ in range(epochs):
        order = np.stack([g.permutation(y.shape[1]) for g in generators])
        rows = np.take_along_axis(x, order[..., None], 1).swapaxes(0, 1).copy()  # (n, R, D + 1)
        for row, target in zip(rows, np.take_along_axis(y, order, 1).T.copy(), strict=True):
            learn(networks, row, target)
        refine(networks, sites)
    return networks


def predict(networks: Networks, x: Array) -> tuple[Array, Array]:
    """Mean and variance, with the noise's b / (a - 1), of the target at x (R, n, D)."""
    mean, variance, _ = forward(networks, with_bias(x))
    return mean, variance + (networks.b / (networks.a - 1))[:, None]
