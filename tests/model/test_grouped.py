"""Rivals whose groups of weights share a scale: closed forms, ties, and what a group that matters is worth."""

import math

import pytest
import torch
from scipy import integrate
from torch import nn

from sbnn.data.replicas import ReplicaData
from sbnn.model.flat import Layout
from sbnn.model.groups import by_input, by_layer, by_output
from sbnn.model.methods import SBNN, Method
from sbnn.model.posteriors.grouped import GaussianScaled, LogNormalScaled
from sbnn.model.priors.grouped import (
    Gamma,
    GroupHorseshoePrior,
    HalfCauchy,
    HorseshoePrior,
    InverseGamma,
    NormalJeffreysPrior,
)
from sbnn.model.settings import InitSettings, ModelSettings
from sbnn.training.fitting import Start, fit
from sbnn.training.session import Session
from sbnn.training.settings import Training

NETWORK = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
LAYOUT = Layout(NETWORK)
KINDS = {
    "BC-GNJ": (GaussianScaled.over(by_input(LAYOUT)), NormalJeffreysPrior()),
    "BC-GHS": (
        LogNormalScaled.over(*[by_layer(LAYOUT, biases=False)] * 2, *[by_input(LAYOUT)] * 2),
        GroupHorseshoePrior(0.3),
    ),
    "HS-BNN": (LogNormalScaled.over(by_output(LAYOUT), by_layer(LAYOUT, biases=True)), HorseshoePrior(0.7, 0.4)),
}


def posterior_of(kind, replicas=2, seed=0):
    """With every number at random, alike within a group."""
    generator = torch.Generator().manual_seed(seed)
    means = torch.randn(replicas, LAYOUT.size, generator=generator, dtype=torch.float64)
    posterior = kind.begun([means], 0.3)
    for number, groups in enumerate(posterior.groups):
        for row in posterior.theta[2 + 2 * number : 4 + 2 * number]:
            row.add_(0.3 * groups.shared(torch.randn(row.shape, generator=generator, dtype=torch.float64)))
    return posterior


def test_groups_are_of_inputs_of_units_and_of_layers():
    first = torch.arange(3).repeat(4)
    alone = torch.full((4,), -1)
    assert by_input(LAYOUT).tolist() == [*first, *alone, *range(3, 7), -1]
    assert by_output(LAYOUT).tolist() == [*torch.arange(4).repeat_interleave(3), *range(4), *alone, -1]
    assert by_layer(LAYOUT, biases=True).tolist() == [0] * 16 + [1] * 5
    channels = by_input(Layout(nn.Sequential(nn.Conv2d(2, 3, 2), nn.Flatten(), nn.Linear(3, 2))))
    assert channels[:24].tolist() == torch.arange(3).repeat_interleave(8).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_the_gradient_is_that_of_the_objective(name):
    """By autograd on one number a group, the loss being a sum of squares."""
    kind, prior = KINDS[name]
    posterior = posterior_of(kind)
    eps = torch.randn(2, kind.draws * LAYOUT.size, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    weight, target = 0.7, torch.linspace(-1, 1, LAYOUT.size, dtype=torch.float64)

    leaves = [row.clone().requires_grad_() for row in posterior.theta]
    tied = leaves[:2]
    for number, groups in enumerate(posterior.groups):
        tied += [torch.where(groups.inside, groups.shared(row), row) for row in leaves[2 + 2 * number : 4 + 2 * number]]
    moved = kind(*tied)
    objective = (moved.sample(eps) - target).square().sum() / 2 + weight * moved.penalty(prior).sum()
    expected = torch.autograd.grad(objective, leaves)

    found = posterior.gradient(posterior.sample(eps) - target, eps, prior, weight)
    for row, (own, exact) in enumerate(zip(found, expected, strict=True)):
        if row < 2:
            torch.testing.assert_close(own, exact)
            continue
        groups = posterior.groups[(row - 2) // 2]
        whole = groups.pooled(exact)  # all of it falls on the first weight of the group
        torch.testing.assert_close(own, whole, rtol=2e-3, atol=2e-3)  # Sparse VD's approximation holds to 1e-3


@pytest.mark.parametrize("name", KINDS)
def test_draws_have_the_moments_that_are_said(name):
    kind, _ = KINDS[name]
    posterior = posterior_of(kind).take(torch.zeros(200_000, dtype=torch.long))
    drawn = posterior.sample(
        torch.randn(posterior.empty_noise().shape, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    )
    error = drawn.std(0) / math.sqrt(len(drawn))
    assert ((drawn.mean(0) - posterior.deployed[0]).abs() < 5 * error).all()
    assert torch.allclose(drawn.std(0), posterior.sigma[0], rtol=0.03)


def divergence(log_density, mean, sigma):
    """KL of N(mean, sigma^2) from a density of log x, by quadrature."""

    def integrand(u):
        log_q = -((u - mean) ** 2) / (2 * sigma**2) - math.log(sigma) - math.log(2 * math.pi) / 2
        return math.exp(log_q) * (log_q - log_density(u))

    return integrate.quad(integrand, mean - 9 * sigma, mean + 9 * sigma, limit=200)[0]


@pytest.mark.parametrize(
    ("term", "log_density"),
    [
        (Gamma(0.3), lambda u: u / 2 - math.exp(u) / 0.3),
        (InverseGamma(), lambda u: -u / 2 - math.exp(-u)),
    ],
)
def test_divergences_are_those_of_the_densities(term, log_density):
    """Up to a constant, so differences are compared."""
    places = [(-1.0, 0.2), (0.5, 0.4), (2.0, 0.1)]
    exact = [divergence(log_density, *place) for place in places]
    found = [float(term.penalty(*torch.tensor(place, dtype=torch.float64))) for place in places]
    assert [a - exact[0] for a in exact] == pytest.approx([a - found[0] for a in found], abs=1e-8)


def test_the_half_cauchys_term_is_least_over_its_inner_posterior():
    """E of -log p(t | l) - log p(l) + log q(l) under q(l) = IG(1, b), at its least over b; up to a constant."""
    mean, sigma, width = 0.4, 0.3, 0.6
    expected, b = math.exp(-mean + sigma**2 / 2), torch.linspace(0.05, 60, 400_001, dtype=torch.float64)
    joint = 1.5 * mean + expected / b + b.log() / 2 + 1.5 * b.log() + 1 / b / width**2 - b.log()
    entropy = mean + math.log(sigma)
    other = HalfCauchy(width).penalty(*torch.tensor([mean, sigma], dtype=torch.float64))
    assert float(joint.min()) - 1 - entropy == pytest.approx(float(other), abs=1e-6)


@pytest.mark.parametrize("term", [Gamma(0.3), InverseGamma(), HalfCauchy(0.6)])
def test_terms_have_the_gradients_they_say(term):
    mean, sigma = (torch.tensor([a, b], dtype=torch.float64, requires_grad=True) for a, b in ((-1, 0.5), (0.2, 0.4)))
    exact = torch.autograd.grad(term.penalty(mean, sigma).sum(), (mean, sigma))
    for own, other in zip(term.gradient(mean.detach(), sigma.detach(), mean), exact, strict=True):
        torch.testing.assert_close(own, other)


@pytest.mark.parametrize(("name", "compile"), [*((name, "never") for name in KINDS), ("BC-GHS", "always")])
def test_an_input_that_says_nothing_is_the_weakest(name, compile):
    """Groups stay tied through training, compiled or not; one of three inputs has no effect."""
    generator = torch.Generator().manual_seed(3)
    x = torch.randn(400, 3, generator=generator)
    y = 2 * x[:, :1] - x[:, 1:2] + 0.1 * torch.randn(400, 1, generator=generator)
    data = ReplicaData.of(x, y, replicas=2).standardised(inputs=True, target=True)
    kind, prior = KINDS[name]
    method = Method(name, name, lambda settings: prior, kind, ("snr",))
    training = Training(steps=1500, epochs=1, batch=100, lr=0.02, schedule="constant", compile=compile)
    settings = ModelSettings(init=InitSettings(sigma=0.05))
    model = fit(Start(method, NETWORK, settings), data, training, [0, 1], name, Session(progress=False))
    posterior = model.posterior
    for groups, (mean, spread) in zip(posterior.groups, posterior.scales, strict=True):
        for row in (mean, spread):
            torch.testing.assert_close(row * groups.inside, groups.shared(row) * groups.inside, rtol=1e-3, atol=1e-5)
    assert (model.errors(data) < 0.2).all()
    if name != "HS-BNN":  # whose groups are units
        strength = posterior.strength[:, :3]
        assert (strength[:, 2] < strength[:, :2].min(1).values - 1).all()


def test_what_does_not_fit_is_refused():
    kind, _ = KINDS["BC-GNJ"]
    posterior = posterior_of(kind)
    with pytest.raises(TypeError, match="prior on their scales"):
        posterior.penalty(SBNN.prior(ModelSettings().prior))
    part = posterior.columns(0, 12).groups[0]
    torch.testing.assert_close(part.pooled(torch.ones(1, 12)), torch.full((1, 12), 4.0))
    cut = posterior_of(KINDS["HS-BNN"][0]).columns(0, 12)
    with pytest.raises(TypeError, match="moved apart"):
        cut.sample(cut.empty_noise())


@pytest.mark.parametrize("name", KINDS)
def test_the_penalty_of_all_weights_is_that_of_its_pieces(name):
    """Where each scale's term is paid once."""
    kind, prior = KINDS[name]
    posterior = posterior_of(kind)
    whole = prior.penalty(posterior.mean, torch.nn.functional.softplus(posterior.theta[1])).sum(1)
    for groups, (mean, spread), term in zip(posterior.groups, posterior.scales, prior.terms, strict=True):
        firsts = groups.first[groups.inside].unique()
        whole += term.penalty(mean[:, firsts], spread[:, firsts]).sum(1)
    torch.testing.assert_close(posterior.penalty(prior), whole)
    pieces = [posterior.columns(begin, min(begin + 8, LAYOUT.size)) for begin in range(0, LAYOUT.size, 8)]
    torch.testing.assert_close(torch.stack([piece.penalty(prior) for piece in pieces]).sum(0), whole)
