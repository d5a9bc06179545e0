"""Every score against a second derivation, in float64."""

import math

import pytest
import torch
from torch.distributions import Categorical, MixtureSameFamily, Normal

from sbnn.compression.operating_points import OPERATING_POINTS, largest_within
from sbnn.compression.paths import flow
from sbnn.compression.scores import SCORES, score
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Gaussian
from sbnn.model.methods import POINT
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.posteriors.point import Deterministic
from sbnn.model.priors.gaussian import GaussianPrior
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.networks import mlp

PRIORS = [SpikeSlabPrior(0.0, -2.0, 0.5), SpikeSlabPrior(1.0, -6.0, 0.3), SpikeSlabPrior(-1.0, -3.0, 0.5)]


def fitted(mean, sigma=None, prior=None, network=None, dtype=torch.float64):
    """A fit with these means and standard deviations, (M,) each."""
    mean = torch.as_tensor(mean, dtype=dtype).reshape(1, -1)
    layout = Layout((network or mlp(mean.shape[1] - 1, [])).to(dtype))
    posterior = Deterministic(mean)
    if sigma is not None:
        posterior = MeanField(mean, torch.as_tensor(sigma, dtype=dtype).expand_as(mean).expm1().log())
    return Fit(layout, posterior, prior, Gaussian(torch.zeros(1, dtype=dtype), learned=False))


def test_scores_of_one_weight_alone():
    fit = fitted([3.0, -4.0], 0.5)
    assert score(fit, "inclusion").tolist() == [pytest.approx([9.25, 16.25])]
    assert score(fit, "snr").tolist() == [pytest.approx([6.0, 8.0])]
    assert score(fit, "magnitude").tolist() == [[3.0, 4.0]]
    assert score(fitted([1.0, 1.0]), "magnitude").tolist() == [[1.0, 1.0]]


def test_ranking_by_second_moment_is_ranking_by_inclusion_without_ties():
    fit = fitted(torch.randn(100, generator=torch.Generator().manual_seed(0)) * 0.1, 0.02, SpikeSlabPrior())
    assert (score(fit, "inclusion").argsort() == fit.inclusion().argsort()).all()
    saturated = SpikeSlabPrior(1.0, -6.0, 0.5).inclusion(fit.posterior.second_moment.float())
    assert len(saturated.unique()) < 100
    assert len(score(fit, "inclusion").unique()) == 100


@pytest.mark.parametrize("prior", [*PRIORS, GaussianPrior(-1.0)])
def test_saliency_is_the_rise_of_a_quadratic_loss_where_sigma_is_at_its_optimum(prior):
    """Loss H (w - m)^2 / 2: sigma by bisection on d(H sigma^2/2 + R)/dsigma, from autograd."""
    mean, curvature = torch.tensor([0.3, -0.02, 1.5]).double(), torch.tensor([400.0, 30.0, 2.0]).double()
    low, high = torch.full_like(mean, 1e-4), torch.full_like(mean, 10.0)
    for _ in range(100):
        sigma = ((low + high) / 2).requires_grad_()
        objective = curvature * sigma.square() / 2 + prior.penalty(mean, sigma)
        (slope,) = torch.autograd.grad(objective.sum(), sigma)
        low, high = torch.where(slope < 0, sigma, low).detach(), torch.where(slope < 0, high, sigma).detach()
    found = score(fitted(mean, low, prior), "saliency")
    torch.testing.assert_close(found[0], curvature * mean.square() / 2, rtol=1e-6, atol=1e-9)


def test_a_weight_without_curvature_ranks_below_all_others_by_snr():
    """Back at its slab it has a large second moment, and the data do not notice it."""
    slab = math.exp(1.0)
    fit = fitted([0.5, 2.0, 1.0, 0.0], torch.tensor([slab * 1.01, slab * 1.01, 0.5, slab * 1.01]), PRIORS[1])
    assert score(fit, "saliency").argsort().tolist() == [[3, 0, 1, 2]]
    assert (score(fit, "saliency")[0, [0, 1, 3]] <= 0).all()
    assert score(fit, "inclusion").argmin() == 2


@pytest.mark.parametrize("prior", [*PRIORS, GaussianPrior(0.7)])
def test_evidence_is_the_ratio_of_normalised_densities_at_zero(prior):
    mean, sigma = torch.tensor([0.0, 0.1, -1.0]).double(), torch.tensor([0.2, 0.1, 0.3]).double()
    if isinstance(prior, GaussianPrior):
        density = Normal(torch.zeros(()).double(), math.exp(prior.log_tau))
    else:
        spread = torch.tensor([prior.log_tau1, prior.log_tau0]).double().exp()
        shares = Categorical(torch.tensor([prior.pi, 1 - prior.pi]).double())
        density = MixtureSameFamily(shares, Normal(torch.zeros(2).double(), spread))
    zero = torch.zeros(()).double()
    expected = density.log_prob(zero) - Normal(mean, sigma).log_prob(zero)
    torch.testing.assert_close(score(fitted(mean, sigma, prior), "evidence")[0], expected)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("sigma", [1e-3, 0.02, 0.3, 2.7])
def test_exact_inclusion_is_the_integral_of_p_over_the_posterior(prior, sigma):
    """By the trapezium rule, on a grid fine enough for spike and posterior alike."""
    mean = torch.tensor([0.0, 0.005, -0.02, 0.1, 1.0]).double()
    spike = math.exp(prior.log_tau0)
    near = torch.linspace(-14 * spike, 14 * spike, 40_001, dtype=torch.float64)
    around = mean.view(-1, 1) + sigma * torch.linspace(-9, 9, 40_001, dtype=torch.float64)
    grid = torch.cat([near.expand(5, -1), around], 1).sort(1).values  # (5, points)
    excluded = torch.sigmoid(-prior.logit(grid.square())) * Normal(mean.view(-1, 1), sigma).log_prob(grid).exp()
    expected = 1 - torch.trapezoid(excluded, grid)
    found = score(fitted(mean, sigma, prior), "exact_inclusion")[0]
    torch.testing.assert_close(found.sigmoid(), expected, rtol=1e-6, atol=1e-6)
    low = score(fitted(mean, sigma, prior, dtype=torch.float32), "exact_inclusion")[0]
    torch.testing.assert_close(low.double(), found, rtol=1e-3, atol=1e-3)


def test_exact_inclusion_has_no_ties_where_p_is_one():
    fit = fitted(torch.linspace(0.5, 2.0, 50), 0.01, PRIORS[1], dtype=torch.float32)
    assert (fit.inclusion() == 1).all()
    assert (score(fit, "exact_inclusion").diff() > 0).all()


def test_path_is_snr_times_the_root_of_the_flow_and_never_underflows():
    torch.manual_seed(0)
    network = mlp(3, [4] * 14)  # as many layers as VGG
    size = Layout(network).size
    mean, sigma = 1e-5 * torch.randn(size).double(), torch.rand(size).double() + 0.1
    fit = fitted(mean, sigma, network=network)
    expected = score(fit, "snr") * flow(fit, fit.posterior.mean.abs()).sqrt()
    torch.testing.assert_close(score(fit, "path").exp(), expected)
    single = fitted(mean, sigma, network=network, dtype=torch.float32)
    assert score(single, "path").isfinite().all()
    torch.testing.assert_close(score(single, "path"), expected.log(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in SCORES if name not in POINT])
def test_a_point_estimate_has_only_magnitudes(name):
    with pytest.raises(TypeError, match=r"Deterministic has no (spread|gates)"):
        score(fitted([1.0, 2.0], prior=SpikeSlabPrior()), name)


def test_a_score_that_the_prior_cannot_offer_is_refused():
    for name in ("saliency", "evidence"):
        with pytest.raises(TypeError, match=f"without a prior has no {name}"):
            score(fitted([1.0, 2.0], 0.1), name)
    with pytest.raises(TypeError, match="Only a spike-and-slab prior"):
        score(fitted([1.0, 2.0], 0.1, GaussianPrior(0.0)), "exact_inclusion")
    with pytest.raises(ValueError, match="nonsense"):
        score(fitted([1.0, 2.0], 0.1), "nonsense")


def test_operating_points_by_hand():
    """Prior N(0, 1), sigma 0.1: log prior(0)/q(0) = log 0.1 + m^2/0.02, zero at |m| = 0.2146; alpha = e^3 at 0.0223."""
    fit = fitted([0.214, -0.215, 0.022, -0.023], 0.1, GaussianPrior(0.0))
    assert OPERATING_POINTS["evidence"](fit).tolist() == [[False, True, False, False]]
    assert OPERATING_POINTS["snr"](fit).tolist() == [[True, True, False, True]]
    prior = SpikeSlabPrior(0.0, -2.0, 0.5)
    switch = math.sqrt(2 * 2 / (math.exp(4) - 1) - 1e-6)  # p = 1/2, less sigma^2
    sharp = fitted([0.999 * switch, 1.001 * switch], 1e-3, prior)
    assert OPERATING_POINTS["inclusion"](sharp).tolist() == [[False, True]]


def test_largest_within_stops_at_the_first_droprate_that_costs_too_much(small_data):
    """One weight carries the target: it goes last. Errors of a fit that only looks at what is left of it."""
    mean = torch.tensor([[5.0, 4, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6], [0, 0, 0, 0, 0, 1]]).double()

    class Look(Fit):
        def errors(self, data, weights=None):
            left = self.posterior.mean if weights is None else weights
            return 1.0 + 0.1 * (left == 0).sum(1) * torch.tensor([0, 1, 1]).double()

    likelihood = Gaussian(torch.zeros(3).double(), learned=False)
    fit = Look(Layout(mlp(5, []).double()), Deterministic(mean), None, likelihood)
    found = largest_within(fit, small_data, [0.0, 1 / 6, 0.5, 5 / 6], "magnitude", 0.31)
    assert found.tolist() == pytest.approx([5 / 6, 0.5, 5 / 6])
    assert largest_within(fit, small_data, [0.5], "magnitude", 0.1).tolist() == [0.5, 0.0, 0.5]


def test_relative_magnitude_is_over_the_deviation_of_what_a_layer_has_left():
    """Layers of scale 1 and 100 rank alike; a weight that has left does not count."""
    layout = Layout(mlp(2, [2]).double())  # 4 weights and 2 biases, then 2 weights and 1 bias
    mean = torch.tensor([[1.0, -1, 2, 0, 0, 0, 100, -100, 200]]).double()
    fit = Fit(layout, Deterministic(mean), None, Gaussian(torch.zeros(1).double(), learned=False))
    deviation = math.sqrt(6 / 3)  # of 1, -1, 2
    expected = torch.tensor([[1, 1, 2, 0, 0, 0, 1, 1, 2]]).double() / deviation
    torch.testing.assert_close(score(fit, "relative"), expected)
