"""Probabilistic backpropagation: every formula against a second derivation, then the study and what is drawn of it."""

import importlib
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import integrate

from sbnn.data.uci import DATASETS
from sbnn.report import pbp as report
from sbnn.report.cells import NOT_RUN, as_csv
from sbnn.report.page import content
from sbnn.report.uci import Network
from sbnn.report.uci_pruning import comparison

RESULTS = Path(__file__).parents[1] / "results"
SCRIPTS = Path(__file__).parents[1] / "scripts"


@pytest.fixture
def pbp(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    return importlib.import_module("probabilistic_backpropagation")


@pytest.fixture
def study(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    threads = torch.get_num_threads()
    yield importlib.import_module("pbp")
    torch.set_num_threads(threads)


def generators(count, seed=0):
    return [np.random.default_rng(seed + number) for number in range(count)]


def networks_of(pbp, replicas=3, features=4, hidden=5):
    """Of random variances, so that no derivative is the same by symmetry."""
    networks, sites = pbp.start(features, hidden, generators(replicas))
    for variance, generator in zip(networks.variance, generators(2, 9), strict=True):
        variance *= generator.uniform(0.1, 2, variance.shape)
    return networks, sites


@pytest.mark.parametrize("alpha", [-30.5, -20.0, -6.0, -1.0, 0.0, 0.5, 4.0, 12.0])
def test_moments_of_a_rectified_normal(pbp, alpha):
    deviation = 1.7
    upper = deviation * (alpha + 12 if alpha > -1 else 40 / abs(alpha))  # beyond it there is next to nothing
    z = np.linspace(0, upper, 200_001)
    # both relative to the density at 0, which underflows last
    density = np.exp(alpha * z / deviation - (z / deviation) ** 2 / 2) / math.sqrt(2 * math.pi) / deviation
    first, second = (integrate.simpson(z**power * density, x=z) * math.exp(-(alpha**2) / 2) for power in (1, 2))
    mean, variance, positive, at_zero = pbp.relu(np.array(alpha * deviation), np.array(deviation**2))
    assert mean == pytest.approx(first, rel=1e-8)
    assert variance == pytest.approx(second - first**2, rel=1e-6)
    assert positive == pytest.approx(integrate.simpson(density, x=z) * math.exp(-(alpha**2) / 2), rel=1e-8)
    assert at_zero == pytest.approx(density[0] * math.exp(-(alpha**2) / 2), rel=1e-8)


def test_a_rectifier_far_from_zero_lets_all_through_or_nothing(pbp):
    mean, variance, positive, at_zero = pbp.relu(np.array([-1e8, 1e8]), np.ones(2))
    assert mean.tolist() == pytest.approx([0, 1e8])
    assert variance.tolist() == pytest.approx([0, 1])
    assert positive.tolist() == [0, 1]
    assert at_zero.tolist() == [0, 0]


def test_moments_of_the_output_are_those_of_sampled_hidden_units(pbp):
    """Given the means and variances of the units, the last layer's are exact; by draws of weights and units."""
    networks, _ = networks_of(pbp, replicas=1)
    x = pbp.with_bias(np.random.default_rng(1).normal(size=(1, 1, 4)))
    mean, variance, _ = pbp.forward(networks, x)
    random, draws = np.random.default_rng(2), 400_000
    (m1, m2), (v1, v2) = networks.mean, networks.variance
    z = random.normal((x @ m1)[0, 0] / math.sqrt(5), np.sqrt((x**2 @ v1)[0, 0] / 5), (draws, 5))
    units = np.concatenate([np.maximum(z, 0), np.ones((draws, 1))], 1)
    output = (units * random.normal(m2[0], np.sqrt(v2[0]), (draws, 6))).sum(1) / math.sqrt(6)
    assert mean[0, 0] == pytest.approx(output.mean(), abs=5 * output.std() / math.sqrt(draws))
    assert variance[0, 0] == pytest.approx(output.var(), rel=0.02)


def torch_log_z(means, variances, a, b, x, y):
    """The same by other formulas: E = m P + √v φ and Var = (m² + v) P + m √v φ - E²."""
    (m1, m2), (v1, v2) = means, variances
    m = torch.einsum("ri,rih->rh", x, m1) / math.sqrt(m1.shape[1])
    v = torch.einsum("ri,rih->rh", x * x, v1) / m1.shape[1]
    s = v.sqrt()
    positive, phi = torch.special.ndtr(m / s), torch.exp(-((m / s) ** 2) / 2) / math.sqrt(2 * math.pi)
    mean = m * positive + s * phi
    spread = (m * m + v) * positive + m * s * phi - mean * mean
    one = torch.ones_like(mean[:, :1])
    h, spread = torch.cat([mean, one], 1), torch.cat([spread, 0 * one], 1)
    output = (m2 * h).sum(1) / math.sqrt(m2.shape[1])
    variance = (m2 * m2 * spread + v2 * (spread + h * h)).sum(1) / m2.shape[1]
    return torch.stack(
        [torch.distributions.Normal(output, (variance + b / (a + i)).sqrt()).log_prob(y) for i in (-1, 0, 1)]
    )


def test_derivatives_of_log_z_are_those_of_autograd(pbp):
    networks, _ = networks_of(pbp)
    random = np.random.default_rng(3)
    x, y = pbp.with_bias(random.normal(size=(3, 4))), random.normal(size=3)
    log_z, by_layer = pbp.gradients(networks, x, y)
    leaves = [torch.tensor(part, requires_grad=True) for part in (*networks.mean, *networks.variance)]
    a, b, *row = (torch.tensor(values) for values in (networks.a, networks.b, x, y))
    wanted = torch_log_z(leaves[:2], leaves[2:], a, b, *row)
    np.testing.assert_allclose(log_z - math.log(2 * math.pi) / 2, wanted.detach(), rtol=1e-12)
    wanted[0].sum().backward()
    for layer, (by_mean, by_variance) in enumerate(by_layer):
        np.testing.assert_allclose(by_mean, leaves[layer].grad, rtol=1e-9)
        np.testing.assert_allclose(by_variance, leaves[layer + 2].grad, rtol=1e-9)


def test_a_row_gives_the_exact_posterior_of_linear_weights(pbp):
    """Where hidden units are known and active, the last layer is a linear regression under normal noise."""
    networks, _ = networks_of(pbp, replicas=1)
    networks.mean[0][:], networks.variance[0][:] = abs(networks.mean[0]), 1e-40
    x, y = abs(pbp.with_bias(np.random.default_rng(4).normal(size=(1, 4)))), np.array([1.3])
    units = np.append((x @ networks.mean[0])[0, 0] / math.sqrt(5), 1) / math.sqrt(6)
    prior, m = np.diag(1 / networks.variance[1][0]), networks.mean[1][0].copy()
    noise = networks.b[0] / (networks.a[0] - 1)
    covariance = np.linalg.inv(prior + np.outer(units, units) / noise)
    pbp.learn(networks, x, y)
    np.testing.assert_allclose(networks.mean[1][0], covariance @ (prior @ m + units * y / noise), rtol=1e-10)
    np.testing.assert_allclose(networks.variance[1][0], np.diag(covariance), rtol=1e-10)


def test_an_impossible_update_is_undone_weight_by_weight(pbp):
    mean, variance = np.ones((1, 3)), np.full((1, 3), 2.0)
    pbp.update(mean, variance, np.array([[0.1, 0.1, math.nan]]), np.array([[-0.1, -9.0, 0.0]]))
    np.testing.assert_allclose(mean, [[1.2, 1, 1]])
    np.testing.assert_allclose(variance, [[2 - 4 * (0.01 + 0.2), 2, 2]])


def test_the_noise_is_matched_exactly_where_its_posterior_is_a_gamma(pbp):
    """Z is the mean a / b of the precision itself: the posterior is Gamma(a + 1, b)."""
    a, b = np.array([3.0, 40.0]), np.array([2.0, 7.0])
    log_z = np.log([a / b, (a + 1) / b, (a + 2) / b])
    np.testing.assert_allclose(pbp.noise_posterior(log_z, a, b), [a + 1, b])


def test_refining_puts_the_priors_normal_into_the_place_of_its_site(pbp):
    """What the data say of a weight, N(m, v), times N(0, b / (a - 1)); a cavity that is no normal is left alone."""
    m, v, site = np.array([0.7, 0.7]), 0.4, np.array([2.0, 5.0])
    precision = 1 / v + site
    a, b = np.array([6.0, 6.0]), np.array([9.0, 9.0])
    column = np.array([m / v / precision, 1 / precision, site, np.zeros(2), np.zeros(2), np.zeros(2)])
    column[1, 1] = 1 / site[1]  # of which nothing is left without the site
    new, new_a, new_b = pbp.refined(column, a, b)
    exact = 1 / v + 5 / 9
    np.testing.assert_allclose(new[:4, 0], [m[0] / v / exact, 1 / exact, 5 / 9, 0], atol=1e-12)
    np.testing.assert_allclose(a[0] + new[4, 0], new_a[0])
    np.testing.assert_allclose(b[0] + new[5, 0], new_b[0])
    np.testing.assert_array_equal(new[:, 1], column[:, 1])
    assert (new_a[1], new_b[1]) == (6, 9)


def test_refining_goes_through_the_weights_one_after_the_other(pbp):
    networks, sites = networks_of(pbp)
    for layer in range(2):  # all have seen data
        networks.variance[layer][:] = 0.5 / sites.precision[layer]
    a, b = sites.a, sites.b
    for unit, feature in ((0, 0), (0, 1)):
        own = [part[0][:, feature, unit] for part in (networks.mean, networks.variance, sites.precision)]
        column, a, b = pbp.refined(np.stack([*own, *np.zeros((3, 3))]), a, b)
    pbp.refine(networks, sites)
    parts = (networks.mean, networks.variance, sites.precision, sites.shift, sites.shape, sites.rate)
    np.testing.assert_allclose([part[0][:, 1, 0] for part in parts], column)
    assert all((part != 0).all() for part in (*sites.shape, *sites.rate)), "every weight's site is refined"
    assert (sites.a != a).all()


def waves(replicas, n=80):
    random = np.random.default_rng(5)
    x = random.uniform(-2, 2, (replicas, n, 1))
    y = np.sin(2 * x[..., 0]) + 0.05 * random.normal(size=(replicas, n))
    return x, (y - y.mean(1, keepdims=True)) / y.std(1, keepdims=True)


def test_it_fits_a_wave_and_knows_where_it_has_no_data(pbp):
    x, y = waves(2)
    networks = pbp.fit(x, y, hidden=20, epochs=40, generators=generators(2))
    mean, variance = pbp.predict(networks, x)
    assert (np.sqrt(((mean - y) ** 2).mean(1)) < 0.2).all()
    assert (abs(mean - y) <= 2 * np.sqrt(variance)).mean() > 0.85
    assert (pbp.predict(networks, np.full((2, 1, 1), 8.0))[1] > 2 * variance.mean(1, keepdims=True)).all()


def test_networks_know_nothing_of_each_other(pbp):
    x, y = waves(3, n=30)
    together = pbp.fit(x, y, 4, 3, generators(3))
    for number in range(3):
        own = slice(number, number + 1)
        alone = pbp.fit(x[own], y[own], 4, 3, generators(3)[own])
        for one, all_of_them in zip((*alone.mean, *alone.variance), (*together.mean, *together.variance), strict=True):
            np.testing.assert_allclose(one[0], all_of_them[number], rtol=1e-9, atol=1e-12)
        assert alone.a[0] == pytest.approx(together.a[number])


def test_the_study_keeps_what_is_done_and_is_drawn(study, tmp_path):
    folder, smaller = tmp_path / report.FOLDER, {"data": {"splits": 2}}
    for names in (["energy", "boston"], ["energy"]):  # a data set that is named is run again
        study.main(["--folder", str(folder), "--epochs", "1", "--only", *names], smaller)
    rows = pd.read_csv(folder / "rows.csv")
    assert rows.groupby(["dataset", "metric"]).size().eq(2).all()
    assert list(rows.dataset.unique()) == ["boston", "energy"]
    assert set(rows.metric) == set(report.METRICS)
    assert rows[rows.metric == report.RMSE].value.between(0.5, 20).all()
    assert (folder / "table.csv").read_text() == as_csv(report.table(rows))
    text = "\n".join(map(str, content.study(report, tmp_path)))
    assert "make pbp" in text
    assert f"{report.FOLDER}/table.csv" in text


def test_our_own_run_stands_next_to_the_published_one():
    errors = pd.DataFrame({"dataset": "boston", "hidden": 50, "metric": report.RMSE, "value": [3.0, 3.2, 3.1]})
    ours = report.errors(errors)
    rows = pd.DataFrame({"dataset": ["boston", "yacht"], "hidden": [50, 50]})
    lines = comparison(rows, {}, {report.LABEL: ours}).set_index("dataset")
    assert lines.loc["boston", "PBP (ours)"] == ours[Network("boston", 50)]
    assert lines.loc["yacht", "PBP (ours)"] == NOT_RUN
    assert ours[Network("boston", 50)].published == lines.loc["boston", "PBP (published)"]
    columns = list(lines)
    for rival in ("PBP", "SVBNN"):
        after = columns[columns.index(f"{rival} (ours)") + 1]
        assert after.startswith(f"{rival} (published")
    assert len(lines) == len(DATASETS)


def test_the_committed_table_is_of_the_committed_rows():
    path = RESULTS / report.FOLDER / "rows.csv"
    if not path.exists():
        pytest.skip("the study has not been run")
    assert path.with_name("table.csv").read_text() == as_csv(report.table(pd.read_csv(path))), "run make report"
