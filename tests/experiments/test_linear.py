"""Least squares, against scikit-learn and against an F test of the same coefficients."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LinearRegression

from sbnn.data.replicas import ReplicaData
from sbnn.experiments.linear import squared_errors, wald


@pytest.fixture
def data():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(80, 3, generator=generator, dtype=torch.float64)
    y = x[:, :1] + 0.5 * x[:, 1:2].abs() + 0.3 * torch.randn(80, 1, generator=generator, dtype=torch.float64)
    return ReplicaData.of(x, y, replicas=2)


def test_squared_errors_are_scikit_learns(data):
    train, test = data.at(data.rows[:, :60]), data.at(data.rows[:, 60:])
    x, y = (t[0].numpy() for t in train.all())
    model = LinearRegression().fit(x, y)
    expected = [((model.predict(a[0].numpy()) - b[0].numpy()) ** 2).mean() for a, b in (train.all(), test.all())]
    found = squared_errors(train, train, test)
    assert [errors.tolist() for errors in found] == [pytest.approx([value] * 2) for value in expected]


def test_walds_statistic_is_what_leaving_a_feature_out_costs(data):
    x, y = (t[0].numpy() for t in data.all())

    def left(columns):
        z = np.column_stack([np.ones(len(x)), x[:, columns], np.abs(x[:, columns])])
        return ((y - z @ np.linalg.lstsq(z, y, rcond=None)[0]) ** 2).sum()

    noise = left([0, 1, 2]) / (80 - 7)
    expected = [(left([k for k in range(3) if k != j]) - left([0, 1, 2])) / noise for j in range(3)]
    assert wald(data)[1].tolist() == pytest.approx(expected)
    assert wald(data)[0].argsort(descending=True).tolist() == [0, 1, 2]
