"""METHOD's invariants of the prior, in float64, each against a second derivation."""

import math

import numpy as np
import pytest
import torch

from sbnn.model.priors.gaussian import GaussianPrior
from sbnn.model.priors.scale_mixture import ScaleMixturePrior
from sbnn.model.priors.spike_slab import SpikeSlabPrior

PRIORS = [SpikeSlabPrior(0.0, -2.0, 0.5), SpikeSlabPrior(1.0, -6.0, 0.3), SpikeSlabPrior(-1.0, -3.0, 0.9)]
MEAN = torch.linspace(-1.5, 1.5, 31, dtype=torch.float64).repeat(3)
SIGMA = torch.tensor([0.01, 0.1, 0.7], dtype=torch.float64).repeat_interleave(31)


def second_moment(mean, sigma):
    return mean**2 + sigma**2


def near_the_switch(prior):
    """Means and sigmas a few spike widths wide, where p is neither 0 nor 1 to rounding."""
    width = 2 * math.exp(prior.log_tau0)
    return MEAN * width, SIGMA * width


@pytest.mark.parametrize("prior", PRIORS)
def test_inclusion_minimises_the_penalty_over_a_grid(prior):
    mean, sigma = torch.tensor(0.05, dtype=torch.float64), torch.tensor(0.08, dtype=torch.float64)
    grid = torch.linspace(1e-6, 1 - 1e-6, 200_001, dtype=torch.float64)
    best = grid[prior.joint_penalty(mean, sigma, grid).argmin()]
    assert prior.inclusion(second_moment(mean, sigma)).item() == pytest.approx(best.item(), abs=1e-5)


@pytest.mark.parametrize("prior", PRIORS)
def test_collapsed_penalty_is_the_joint_one_at_its_minimum(prior):
    mean, sigma = near_the_switch(prior)
    p = prior.inclusion(second_moment(mean, sigma))
    torch.testing.assert_close(prior.penalty(mean, sigma), prior.joint_penalty(mean, sigma, p))


@pytest.mark.parametrize("prior", PRIORS)
def test_collapsed_penalty_is_minus_log_of_the_mixture(prior):
    s = second_moment(MEAN, SIGMA)
    slab = math.log(prior.pi) - prior.log_tau1 - s / 2 * math.exp(-2 * prior.log_tau1)
    spike = math.log(1 - prior.pi) - prior.log_tau0 - s / 2 * math.exp(-2 * prior.log_tau0)
    expected = -torch.logaddexp(slab, spike) - SIGMA.log()
    torch.testing.assert_close(prior.penalty(MEAN, SIGMA), expected)


@pytest.mark.parametrize("prior", [*PRIORS, GaussianPrior(-0.5)])
def test_closed_form_gradient_is_autograds_through_the_collapsed_penalty(prior):
    """The envelope theorem: at p = p* the gradient at fixed p is the gradient of the collapsed penalty."""
    mean, sigma = MEAN.clone().requires_grad_(), SIGMA.clone().requires_grad_()
    expected = torch.autograd.grad(prior.penalty(mean, sigma).sum(), [mean, sigma])
    torch.testing.assert_close(prior.gradient(MEAN, SIGMA, None), expected)


@pytest.mark.parametrize("prior", PRIORS)
def test_gradient_at_fixed_inclusion(prior):
    mean, sigma = (t.requires_grad_() for t in near_the_switch(prior))
    p = prior.inclusion(second_moment(mean, sigma)).detach()
    expected = torch.autograd.grad(prior.joint_penalty(mean, sigma, p).sum(), [mean, sigma])
    torch.testing.assert_close(prior.gradient(mean.detach(), sigma.detach(), None), expected)


def test_bayes_by_backprop_gradients_average_to_their_exact_ones():
    """Gauss-Hermite quadrature over eps against autograd of E[log q(W) - log pi(W)] by the same quadrature."""
    prior = ScaleMixturePrior(0.0, -1.0, 0.5)
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    eps, weights = torch.tensor(nodes), torch.tensor(weights / weights.sum())
    mean = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    sigma = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)

    def log_normal(w, tau):
        return -math.log(tau) - w**2 / (2 * tau**2)

    w = mean + sigma * eps
    log_prior = torch.logaddexp(math.log(0.5) + log_normal(w, 1.0), math.log(0.5) + log_normal(w, math.exp(-1.0)))
    objective = (weights * (-sigma.log() - eps**2 / 2 - log_prior)).sum()
    expected = torch.autograd.grad(objective, [mean, sigma])

    sampled = prior.gradient(mean.detach(), sigma.detach(), eps)
    for draws, exact in zip(sampled, expected, strict=True):
        torch.testing.assert_close((weights * draws).sum(), exact)


def test_bayes_by_backprop_variance_gradient_is_the_papers():
    """d/d sigma^2 = 0.5 (m eps / sigma + eps^2) a - 1 / (2 sigma^2), a the posterior-weighted precision at W."""
    prior = ScaleMixturePrior(0.0, -2.0, 0.3)
    eps = torch.linspace(-2, 2, 93, dtype=torch.float64)
    a = prior.precision((MEAN + SIGMA * eps) ** 2)
    expected = 0.5 * (MEAN * eps / SIGMA + eps**2) * a - 1 / (2 * SIGMA**2)
    torch.testing.assert_close(prior.gradient(MEAN, SIGMA, eps)[1] / (2 * SIGMA), expected)


def test_inclusion_is_increasing_in_the_second_moment():
    s = torch.linspace(0, 0.5, 1000, dtype=torch.float64)
    assert (PRIORS[0].inclusion(s).diff() > 0).all()


def test_inclusion_floor():
    zero = torch.zeros((), dtype=torch.float64)
    assert SpikeSlabPrior(0.0, -5.0, 0.5).inclusion(zero).item() == pytest.approx(0.0067, abs=5e-5)
    assert SpikeSlabPrior(-1.0, -3.0, 0.5).inclusion(zero).item() == pytest.approx(0.12, abs=1e-3)


def test_limits_of_the_remarks():
    s = torch.tensor(0.3, dtype=torch.float64)
    alike = SpikeSlabPrior(-1.0, -1.0 - 1e-9, 0.3).inclusion(s)
    assert alike.item() == pytest.approx(0.3, abs=1e-6)  # tau1 -> tau0: the posterior is the prior
    assert SpikeSlabPrior(60.0, -2.0, 0.5).inclusion(s).item() < 1e-9  # tau1 -> inf: Lindley's paradox
    assert SpikeSlabPrior(0.0, -30.0, 0.5).inclusion(s).item() == 1.0  # tau0 -> 0


def test_penalty_stays_finite_in_float32_where_the_printed_form_does_not():
    prior = SpikeSlabPrior(1.0, -6.0, 0.5)
    mean, sigma = torch.tensor([2.0]), torch.tensor([0.01])
    p = prior.inclusion(second_moment(mean, sigma))
    assert p.item() == 1.0
    assert prior.joint_penalty(mean, sigma, p).isnan()
    assert prior.penalty(mean, sigma).isfinite()


def test_each_replica_can_have_its_own_spike():
    spikes = torch.tensor([[-2.0], [-4.0]], dtype=torch.float64)
    both = SpikeSlabPrior(0.0, spikes, 0.5).inclusion(torch.full((2, 3), 0.01, dtype=torch.float64))
    for row, spike in zip(both, (-2.0, -4.0), strict=True):
        torch.testing.assert_close(row, SpikeSlabPrior(0.0, spike, 0.5).inclusion(torch.full((3,), 0.01).double()))
