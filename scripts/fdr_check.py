"""Does the selector keep the share of false discoveries below its target, and how much does it find?

python scripts/fdr_check.py [--folder results/selection_rates] [--repetitions 15] [--only "no effects" products]

Designs are drawn as often as there are repetitions; one fit of the selector serves all targets. About eleven minutes
on one CPU thread. Next to rows, table and figure, `config.yaml` says what was run.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml

from sbnn.data.simulated import ramp
from sbnn.estimators import SpikeSlabClassifier, SpikeSlabRegressor, SpikeSlabSelector
from sbnn.estimators.inclusion import largest_set
from sbnn.files import write_text
from sbnn.report import selection_rates as report
from sbnn.runs.identity import code_commit
from sbnn.runs.machine import machine
from sbnn.streams import seed_of

TARGETS = (0.05, 0.1, 0.2)
Drawn = tuple[np.ndarray, np.ndarray, np.ndarray]  # inputs, target, and which of the features have an effect
Draw = Callable[[np.random.Generator, int, int], Drawn]


@dataclass(frozen=True)
class Design:
    name: str
    draw: Draw
    rows: int
    features: int


def nothing(rng: np.random.Generator, n: int, features: int) -> Drawn:
    """No feature has an effect: any discovery is a false one."""
    return rng.standard_normal((n, features)), rng.standard_normal(n), np.zeros(features, dtype=bool)


def sparse(
    features_of: Callable[[np.random.Generator, int, int], np.ndarray], effects: int = 10, classes: bool = False
) -> Draw:
    """Effects between 1/2 and 1 standard deviation of the noise; with classes twice that, on their log odds."""

    def draw(rng: np.random.Generator, n: int, features: int) -> Drawn:
        x, active = features_of(rng, n, features), rng.permutation(features) < effects
        signal = x @ (active * rng.uniform(0.5, 1, features) * rng.choice([-1, 1], features))
        if classes:
            return x, (rng.logistic(size=n) < 2 * signal).astype(int), active
        return x, signal + rng.standard_normal(n), active

    return draw


def independent(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    return rng.standard_normal((n, features))


def neighbours(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    """Correlated by 0.6 to the power of their distance."""
    x = rng.standard_normal((n, features))
    for column in range(1, features):
        x[:, column] = 0.6 * x[:, column - 1] + 0.8 * x[:, column]
    return x


def factor(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    """All correlated by 1/2."""
    return (rng.standard_normal((n, features)) + rng.standard_normal((n, 1))) / np.sqrt(2)


def binary(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    """Signs of features that are all correlated by 1/2."""
    return np.sign(factor(rng, n, features))


def bent(rng: np.random.Generator, n: int, features: int) -> np.ndarray:
    """Every second feature is, up to noise, the square of the one before: dependence that no Gaussian has."""
    x = rng.standard_normal((n, features))
    x[:, 1::2] = (x[:, ::2][:, : features // 2] ** 2 - 1) / np.sqrt(2) + 0.5 * x[:, 1::2]
    return x


def friedman(rng: np.random.Generator, n: int, features: int) -> Drawn:
    """Friedman's first: five of the features, two of them in an interaction, one symmetric."""
    x = rng.random((n, features))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + rng.standard_normal(n), np.arange(features) < 5


def products(rng: np.random.Generator, n: int, features: int) -> Drawn:
    """Six features in three products: none has an effect alone."""
    x = rng.standard_normal((n, features))
    y = x[:, 0] * x[:, 1] + x[:, 2] * x[:, 3] + x[:, 4] * x[:, 5]
    return x, y + 0.5 * rng.standard_normal(n), np.arange(features) < 6


def paper(rng: np.random.Generator, n: int, features: int) -> Drawn:
    """Experiment 3: exp|x| - 2x + sin(2 pi x) of a fifth of the features, feature j with the effect j / 2."""
    data = ramp(n, features, 2, "nonlinear", 0.2, int(rng.integers(2**31)))
    return data.x[0].numpy(), data.y[0, :, 0].numpy(), data.active[0].numpy()


DESIGNS = (
    Design("no effects, few rows", nothing, 100, 20),
    Design("no effects", nothing, 300, 50),
    Design("linear, two effects", sparse(independent, effects=2), 150, 30),
    Design("linear, few rows", sparse(independent), 150, 50),
    Design("linear, wide", sparse(independent), 200, 200),
    Design("linear, neighbours correlated", sparse(neighbours), 300, 100),
    Design("linear, one factor", sparse(factor), 300, 50),
    Design("linear, binary features", sparse(binary), 300, 50),
    Design("linear, features bent", sparse(bent), 300, 50),
    Design("two classes", sparse(independent, classes=True), 500, 50),
    Design("Friedman 1, few rows", friedman, 150, 20),
    Design("Friedman 1", friedman, 500, 50),
    Design("products", products, 1000, 20),
    Design("Experiment 3", paper, 500, 50),
)


def measured(designs: Sequence[Design], repetitions: int, like: SpikeSlabRegressor) -> pd.DataFrame:
    """A row for each design, repetition and target; classes by a classifier of the regressor's settings."""
    rows = []
    for design in designs:
        for repetition in range(repetitions):
            rng = np.random.default_rng(seed_of("fdr", design.name, design.rows, design.features, repetition))
            x, y, active = design.draw(rng, design.rows, design.features)
            begun = time.process_time()
            kind = SpikeSlabRegressor if y.dtype.kind == "f" else SpikeSlabClassifier
            selector = SpikeSlabSelector(kind(**like.get_params()), random_state=repetition)
            p = selector.fit(x, y).inclusion_
            fixed = {"design": design.name, "n": design.rows, "features": design.features, "active": active.sum()}
            fixed |= {"repetition": repetition, "seconds": time.process_time() - begun}
            for target in TARGETS:
                chosen = largest_set(p, target)
                false, found = (chosen & ~active).sum(), (chosen & active).sum()
                share = found / active.sum() if active.any() else np.nan
                own = {"selected": chosen.sum(), "false_share": false / max(1, chosen.sum()), "found_share": share}
                rows.append(fixed | {"target": target} | own)
        recent = pd.DataFrame(rows[-repetitions * len(TARGETS) :]).groupby("target")[["false_share", "found_share"]]
        print(design.name, recent.mean().round(3).to_dict("list"), flush=True)
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None, estimator: SpikeSlabRegressor | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--only", nargs="+", choices=[design.name for design in DESIGNS])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    chosen = [design for design in DESIGNS if options.only is None or design.name in options.only]
    estimator = estimator or SpikeSlabRegressor()
    rows = measured(chosen, options.repetitions, estimator)
    facts = {"torch": torch.__version__, "commit": code_commit(), **machine()}
    config = {
        "repetitions": options.repetitions,  # whose numbers are the random states
        "targets": list(TARGETS),
        "estimator": estimator.get_params() | {"hidden": list(estimator.hidden)},
        "designs": [{"name": d.name, "rows": d.rows, "features": d.features} for d in chosen],
    }
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", rows.assign(**facts).to_csv(index=False, float_format="%.4g"))
    write_text(options.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
    report.draw(options.folder)


if __name__ == "__main__":
    main()
