"""The penalty's gradient in closed form, against the one that Bayes by Backprop draws: is its mean the same?

python scripts/gradients.py [--folder results/gradients] [--points 1000001]

The paper's section 3.3, weight by weight: for three priors of its experiments, and weights from well inside the spike
to well inside the slab, the mean and the standard deviation of the sampled derivatives with respect to m and sigma,
next to the closed forms; by the trapezoid rule, since draws would be too few where one in a thousand falls into the
spike. It takes half a minute.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch
import yaml

from sbnn.files import write_text
from sbnn.model.methods import BBB, SBNN
from sbnn.model.settings import PriorSettings
from sbnn.report import gradients as report
from sbnn.report.publish import gather
from sbnn.runs.identity import code_commit

PRIORS = {"Experiment 5": (1.0, -6.0), "LeNet-5, set 1": (0.0, -5.0), "LeNet-5, set 2": (-1.0, -3.0)}
RATIOS = (0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)  # m / sigma
REACH = 9.0  # standard deviations to both sides
WIDTHS = (0.0, 0.25, 0.5, 0.75, 1.0)  # sigma, from the spike's width to the slab's, on a logarithmic scale


def measured(points: int) -> Iterator[dict[str, object]]:
    """A row for each prior, sigma, m / sigma and derivative."""
    eps = torch.linspace(-REACH, REACH, points, dtype=torch.float64)
    chance = torch.softmax(-eps.square() / 2, 0)
    for name, (slab, spike) in PRIORS.items():
        settings = PriorSettings(pi=0.5, log_tau1=slab, log_tau0=spike)
        closed, sampled = SBNN.prior(settings), BBB.prior(settings)
        assert closed is not None
        assert sampled is not None
        for width in WIDTHS:
            sigma = torch.tensor(spike + width * (slab - spike), dtype=torch.float64).exp()
            for ratio in RATIOS:
                exact = closed.gradient(ratio * sigma, sigma, eps[:1])
                drawn = sampled.gradient(ratio * sigma, sigma, eps)
                where = {"prior": name, "log_tau1": slab, "log_tau0": spike, "log_sigma": float(sigma.log())}
                for derivative, one, many in zip(("m", "sigma"), exact, drawn, strict=True):
                    mean = (chance * many).sum()
                    sd = (chance * (many - mean).square()).sum().sqrt()
                    found = {"closed": float(one), "mean": float(mean), "sd": float(sd)}
                    yield where | {"ratio": ratio, "derivative": derivative} | found


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--points", type=int, default=1_000_001)
    options = parser.parse_args(arguments)
    rows = pd.DataFrame(measured(options.points)).assign(torch=torch.__version__, commit=code_commit())
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", rows.to_csv(index=False, float_format="%.6g"))
    config = {"priors": {name: list(widths) for name, widths in PRIORS.items()}, "pi": 0.5, "points": options.points}
    write_text(options.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
