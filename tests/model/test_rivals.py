"""The rivals' priors and posteriors, each formula against a second derivation, and on problems with answers."""

import math

import pytest
import torch

from sbnn.data.replicas import ReplicaData
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Gaussian
from sbnn.model.posteriors import gated, hard_concrete
from sbnn.model.posteriors.base import initial_means
from sbnn.model.posteriors.gated import Gated
from sbnn.model.posteriors.gates import FAR, logistic
from sbnn.model.posteriors.hard_concrete import HardConcrete
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.count import CountPrior
from sbnn.model.priors.log_uniform import PRUNED, LogUniformPrior, log_alpha
from sbnn.model.priors.point_mass import PointMassPrior
from sbnn.networks import mlp
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.optimizers import Adam
from sbnn.training.parts import Numbers, Rule
from sbnn.training.settings import Training

MEAN = torch.linspace(-1.5, 1.5, 31, dtype=torch.float64).repeat(3)
SIGMA = torch.tensor([0.01, 0.1, 0.7], dtype=torch.float64).repeat_interleave(31)
POINT_MASS = PointMassPrior(log_tau1=0.3, pi=0.2)
COUNT = CountPrior(cost=1.5, strength=0.4)
WEIGHT = 0.01  # of the penalty
TRUTH = torch.tensor([[1.0, -2.0, 0.5, 0, 0, 0, 0, 0, 0, 0]])  # three relevant weights of ten


def seeded(*shape, seed=0, dtype=torch.float64):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def theta_of(rows, seed=1):
    """(R, M) = (2, 40) in each row, logits on both sides of zero."""
    return [row.requires_grad_() for row in seeded(rows, 2, 40, seed=seed) * 1.5]


def descended(posterior, prior, pull, steps=4000, n=100, noise=None):
    """Adam by hand on noisy weights, with a rate that falls to zero; `pull` is dL/dW, of the mean over n rows."""
    optimizer, size = Adam(list(posterior.theta)), posterior.mean.shape[1]
    for step in range(steps):
        eps = noise(step) if noise else seeded(1, posterior.draws * size, seed=step, dtype=torch.float32)
        grads = posterior.gradient(pull(posterior.sample(eps)), eps, prior, 1 / n)
        rates = optimizer.numbers(0.02 * (1 - step / steps), step)
        for row, grad, state in zip(posterior.theta, grads, optimizer.states, strict=True):
            optimizer.apply(row, grad, state, rates)
    return posterior


def test_log_uniform_gradient_is_autograds():
    prior, mean, sigma = LogUniformPrior(), MEAN.clone().requires_grad_(), SIGMA.clone().requires_grad_()
    expected = torch.autograd.grad(prior.penalty(mean, sigma).sum(), [mean, sigma])
    inside = log_alpha(MEAN, SIGMA).abs() < 8
    assert 0 < (~inside).sum() < len(MEAN) / 2
    for ours, theirs in zip(prior.gradient(MEAN, SIGMA, MEAN), expected, strict=True):
        torch.testing.assert_close(ours, theirs.nan_to_num())  # autograd's is 0/0 where the mean is zero
        assert (ours[~inside] == 0).all()
        assert (ours[inside] != 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_uniform_is_finite_around_zero(dtype):
    mean = torch.tensor([0.0, 1e-30, -1e-30, 1e-4, 1e6], dtype=dtype)
    for sigma in (1e-6, 1e-2, 1.0):
        spread = torch.full_like(mean, sigma)
        assert torch.stack(LogUniformPrior().gradient(mean, spread, mean)).isfinite().all()
        assert LogUniformPrior().penalty(mean, spread).isfinite().all()


def test_log_uniform_penalty_is_the_divergence():
    """KL = E log|z| - log(alpha) / 2 + const with z ~ N(1, alpha), by quadrature; as alpha grows it goes to zero."""
    eps = torch.linspace(-12, 12, 1_000_002, dtype=torch.float64)
    density = torch.exp(-eps.square() / 2) / math.sqrt(2 * math.pi) * (eps[1] - eps[0])
    constant = (0.5772156649015329 + math.log(2)) / 2
    one = torch.ones((), dtype=torch.float64)
    for log_a in torch.linspace(-7.5, 7.5, 16, dtype=torch.float64):
        sd = (log_a / 2).exp()
        exact = (density * (1 + sd * eps).abs().log()).sum() - log_a / 2 + constant
        assert abs(LogUniformPrior().penalty(one, sd) - exact) < 0.01


def test_log_uniform_has_no_numbers_and_no_point_estimate():
    prior, row = LogUniformPrior(), torch.arange(5.0)
    read = Numbers.read(Rule(LogUniformPrior, Adam.apply, False, False), row)
    assert prior.numbers() == ()
    assert isinstance(read.prior, LogUniformPrior)
    assert read.penalty_weight == 0
    assert read.rates == (3, 4)
    for ask in (Deterministic(MEAN[None]).penalty, lambda prior: prior.precision(MEAN), lambda p: p.inclusion(MEAN)):
        with pytest.raises(TypeError):
            ask(prior)


def test_log_alpha_finds_the_relevant_weights():
    """Noise is made orthogonal to the inputs: of chance correlations the prior keeps all beyond 1.1 standard errors."""
    streams, layout = Streams([0, 1]), Layout(mlp(10, []))
    x, noise = seeded(300, 10, dtype=torch.float32), seeded(300, 1, seed=1, dtype=torch.float32)
    y = x @ TRUTH.T + 0.3 * (noise - x @ torch.linalg.lstsq(x, noise).solution)
    posterior = MeanField.around(initial_means(layout, streams, 1.0, torch.float32), 0.01)
    fit = Fit(layout, posterior, LogUniformPrior(), Gaussian(torch.full((2,), -1.0), learned=True))
    keys = {"epochs": 1500, "batch": 300, "lr": 0.03, "schedule": "cosine", "warmup": 0.2, "compile": "never"}
    train(fit, ReplicaData.of(x, y, 2), streams, Training(**keys))
    mean, kept = posterior.mean, log_alpha(posterior.mean, posterior.sigma) < PRUNED
    truth = TRUTH.expand(2, -1)
    assert torch.equal(kept[:, ~layout.is_bias], truth != 0)
    torch.testing.assert_close((mean * kept)[:, ~layout.is_bias], truth, rtol=0, atol=0.03)


@pytest.mark.parametrize(("t", "mean", "log_a"), [(1.6, 0.73, 0.18), (3.0, 2.48, -1.56)])
def test_log_uniform_shrinks_a_weight_as_its_objective_says(t, mean, log_a):
    """A weight t standard errors from zero: the minimum of ((m - t)^2 + sigma^2) / 2 + KL over a grid."""
    start = MeanField.around(torch.full((1, 1), 0.5), 0.5)
    both_sides = lambda step: torch.full((1, 1), (-1.0) ** step)  # noqa: E731
    posterior = descended(start, LogUniformPrior(), lambda w: w - t, 1000, n=1, noise=both_sides)
    assert posterior.mean.item() == pytest.approx(mean, abs=0.02)
    assert log_alpha(posterior.mean, posterior.sigma).item() == pytest.approx(log_a, abs=0.05)


def test_logistic_noise_is_of_the_normals_own_quantile():
    eps = torch.linspace(-FAR, FAR, 10_001, dtype=torch.float64)
    exact = torch.special.log_ndtr(eps) - torch.special.log_ndtr(-eps)
    torch.testing.assert_close(logistic(eps), exact, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(logistic(eps.float()).double(), exact, rtol=2e-5, atol=2e-5)
    assert logistic(torch.tensor([7.0, -7.0])).tolist() == pytest.approx([15.0650, -15.0650], abs=1e-3)


def test_gates_open_as_often_as_they_should():
    logits = torch.tensor([-3.0, -0.5, 0.0, 2.0]).repeat_interleave(50_000)[None]
    one, n = torch.ones_like(logits), 50_000
    eps = seeded(1, 400_000, dtype=torch.float32)
    draws = {
        Gated(one, one, logits): eps,
        HardConcrete(one, logits): eps[:, :200_000],
    }
    for posterior, noise in draws.items():
        opened = (posterior.sample(noise) != 0).view(4, n).double().mean(1)
        p = posterior.inclusion.view(4, n)[:, 0].double()
        assert ((opened - p).abs() < 4 * (p * (1 - p) / n).sqrt()).all()


def test_point_mass_divergence_is_the_mixtures():
    """By quadrature over the slab, and the sum over the two states of the gate."""
    mean, sigma, gate = (torch.tensor(v, dtype=torch.float64) for v in (0.7, 0.2, 0.4))
    eps = torch.linspace(-10, 10, 20_001, dtype=torch.float64)
    q = torch.distributions.Normal(mean, sigma)
    w, phi = mean + sigma * eps, gate.sigmoid()
    slab = torch.distributions.Normal(0.0, math.exp(POINT_MASS.log_tau1)).log_prob(w) + math.log(POINT_MASS.pi)
    inside = (torch.exp(q.log_prob(w)) * sigma * (eps[1] - eps[0]) * (phi.log() + q.log_prob(w) - slab)).sum()
    expected = phi * inside + (1 - phi) * ((1 - phi) / (1 - POINT_MASS.pi)).log()
    torch.testing.assert_close(POINT_MASS.divergence(mean, sigma, gate), expected)
    at_prior = POINT_MASS.divergence(0 * mean, torch.tensor(math.exp(0.3)).double(), torch.tensor(0.2).double().logit())
    assert abs(at_prior) < 1e-12


def test_gated_gradient_is_autograds_straight_through():
    m, rho, gate = theta_of(3)
    posterior, eps, pull = Gated(m, rho, gate), seeded(2, 80), seeded(2, 40, seed=3)
    y = ((gate + logistic(eps[:, 40:])) / gated.TEMPERATURE).sigmoid()
    z = (y > 0.5) + y - y.detach()
    weights = z * (m + torch.nn.functional.softplus(rho) * eps[:, :40])
    torch.testing.assert_close(posterior.sample(eps), weights)
    objective = (pull * weights).sum() + WEIGHT * posterior.penalty(POINT_MASS).sum()
    expected = torch.autograd.grad(objective, posterior.theta)
    ours = posterior.gradient(pull, eps, POINT_MASS, WEIGHT)
    torch.testing.assert_close(ours, list(expected))
    read = PointMassPrior.of_numbers(*(torch.tensor(number).double() for number in POINT_MASS.numbers()))
    torch.testing.assert_close(posterior.gradient(pull, eps, read, WEIGHT), ours)


def test_gates_follow_finite_differences_of_the_relaxed_objective():
    """Of sum g y w for the straight-through gate, of sum g z v and the count for the hard concrete one."""
    step, eps, pull = 1e-6, seeded(2, 80), seeded(2, 40, seed=3)
    with torch.no_grad():
        m, rho, gate = theta_of(3)
        slab = m + torch.nn.functional.softplus(rho) * eps[:, :40]

        def relaxed(gate):
            y = ((gate + logistic(eps[:, 40:])) / gated.TEMPERATURE).sigmoid()
            return pull * slab * y + WEIGHT * POINT_MASS.divergence(m, torch.nn.functional.softplus(rho), gate)

        def hard(gate):
            posterior = HardConcrete(m, gate)
            return pull * posterior.sample(eps[:, :40]) + WEIGHT * posterior.inclusion * COUNT.energy(m**2)

        for objective, ours in (
            (relaxed, Gated(m, rho, gate).gradient(pull, eps, POINT_MASS, WEIGHT)[2]),
            (hard, HardConcrete(m, gate).gradient(pull, eps[:, :40], COUNT, WEIGHT)[1]),
        ):
            slope = (objective(gate + step) - objective(gate - step)) / (2 * step)
            torch.testing.assert_close(ours, slope, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("prior", [COUNT, None])
def test_hard_concrete_gradient_is_autograds(prior):
    v, gate = theta_of(2)
    posterior, eps, pull = HardConcrete(v, gate), seeded(2, 40), seeded(2, 40, seed=3)
    weights = posterior.sample(eps)
    assert (weights == 0).any()
    assert (weights == v).any()
    objective = (pull * weights).sum() + WEIGHT * posterior.penalty(prior).sum()
    expected = list(torch.autograd.grad(objective, posterior.theta))
    torch.testing.assert_close(posterior.gradient(pull, eps, prior, WEIGHT), expected)


def test_hard_concrete_gates_stay_within_reach():
    """Far out, a gradient that leads farther counts as zero."""
    gate = torch.tensor([[5.0, 5.0, -5.0, -5.0]], dtype=torch.float64)
    eps = -logistic_inverse(gate)  # each gate halfway
    pull = torch.tensor([[1.0, -1.0, 1.0, -1.0]], dtype=torch.float64)
    moved = HardConcrete(torch.ones_like(gate), gate).gradient(pull, eps, None, WEIGHT)[1]
    assert (moved != 0).tolist() == [[True, False, False, True]]


def logistic_inverse(noise):
    return torch.special.ndtri(noise.sigmoid())


def test_hard_concrete_gates_as_published():
    """P(z > 0) = S(gate + 1.5986); the gate to test with is zero up to -2.398 and one from 2.398 on."""
    gate = torch.tensor([[-2.3980, -2.3978, 2.3978, 2.3980]], dtype=torch.float64)
    deployed = HardConcrete(torch.ones_like(gate), gate).deployed[0]
    assert deployed[0] == 0 < deployed[1] < deployed[2] < deployed[3] == 1
    assert abs(hard_concrete.SHIFT - 1.5986) < 1e-4


def test_gated_finds_what_the_exact_posterior_includes():
    """n = 100 rows of an orthonormal design: the posterior is such a mixture itself, weight by weight.

    The straight-through gradient is biased, so that inclusion is compared by its side of 1/2 only.
    """
    n, noise, prior = 100, 0.3, PointMassPrior(0.0, 0.2)
    estimate = TRUTH + noise / n**0.5 * seeded(1, 10, dtype=torch.float32)  # least squares
    variance, precision = noise**2 / n, 1 + n / noise**2
    evidence = 0.5 * (estimate**2 / variance - estimate**2 / (1 + variance) - math.log((1 + variance) / variance))
    exact = (evidence + math.log(0.2 / 0.8)).sigmoid()
    assert ((exact - 0.5).abs() > 0.2).all()

    start = Gated.begun([0.3 * seeded(1, 10, seed=9, dtype=torch.float32)], 0.05)
    found = descended(start, prior, lambda w: (w - estimate) / noise**2)
    assert torch.equal(found.inclusion > 0.5, exact > 0.5)
    assert torch.equal(exact > 0.5, TRUTH != 0)
    kept = exact > 0.5
    torch.testing.assert_close(found.mean[kept], (estimate * n / noise**2 / precision)[kept], rtol=0.03, atol=0.01)
    torch.testing.assert_close(found.sigma[kept], torch.full((3,), precision**-0.5), rtol=0.3, atol=0)
    torch.testing.assert_close(found.deployed, estimate * kept, rtol=0.05, atol=0.03)


def test_hard_concrete_keeps_what_is_worth_its_price():
    """Keeping weight i lowers n L by n b^2 / (2 v): more than the cost for the three, less for the others."""
    n, noise = 100, 0.3
    estimate = TRUTH + noise / n**0.5 * seeded(1, 10, dtype=torch.float32)
    worth = n * estimate**2 / (2 * noise**2)
    assert torch.equal(worth > 10, TRUTH != 0)
    start = HardConcrete.begun([0.3 * seeded(1, 10, seed=9, dtype=torch.float32)], 0.05)
    found = descended(start, CountPrior(10.0), lambda w: (w - estimate) / noise**2)
    assert torch.equal(found.deployed != 0, TRUTH != 0)
    torch.testing.assert_close(found.deployed, estimate * (TRUTH != 0), rtol=0.03, atol=0.01)


def test_posteriors_begin_from_means_or_from_their_own():
    means = seeded(2, 5)
    fresh = Gated.begun([means], 0.05)
    torch.testing.assert_close(fresh.sigma, torch.full_like(means, 0.05))
    torch.testing.assert_close(fresh.inclusion, torch.full_like(means, 0.99))
    torch.testing.assert_close(HardConcrete.begun([means], 0.05).theta[1], torch.full_like(means, 2.1972246))
    for posterior in (fresh, HardConcrete.begun([means], 0.05)):
        again = type(posterior).begun(posterior.theta, 1.0)
        for row, copy in zip(posterior.theta, again.theta, strict=True):
            assert torch.equal(row, copy)
            assert row is not copy


@pytest.mark.parametrize("kind", ["log uniform", "gated", "hard concrete"])
def test_written_out_for_the_compiler_they_are_the_same(kind, monkeypatch):
    m, rho, gate = (row.detach().float() for row in theta_of(3))
    eps, pull = seeded(2, 80, dtype=torch.float32), seeded(2, 40, seed=3, dtype=torch.float32)
    posterior, prior, noise = {
        "log uniform": (MeanField(m, rho), LogUniformPrior(), eps[:, :40]),
        "gated": (Gated(m, rho, gate), POINT_MASS, eps),
        "hard concrete": (HardConcrete(m, gate), COUNT, eps[:, :40]),
    }[kind]
    plain = [posterior.sample(noise), *posterior.gradient(pull, noise, prior, WEIGHT)]
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    written = [posterior.sample(noise), *posterior.gradient(pull, noise, prior, WEIGHT)]
    torch.testing.assert_close(written, plain, rtol=2e-5, atol=2e-6)
