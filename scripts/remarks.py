"""The paper's three remarks on the inclusion probability, as curves of p by the second moment of a weight.

python scripts/remarks.py [--folder results/remarks]

Nothing is trained: p is Eq. 10 at a grid of second moments, for priors that go to each remark's limit.
"""

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd
import torch
import yaml

from sbnn.files import write_text
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.report import remarks as report
from sbnn.report.publish import gather
from sbnn.runs.identity import code_commit

PI = 0.5
# By remark, log tau1 and log tau0 of every curve; the first remark's are those of the paper's experiments.
PRIORS = {
    report.RISES: ((1.0, -6.0), (0.0, -5.0), (-1.0, -3.0)),
    report.ALIKE: ((-1.0, -3.0), (-2.0, -3.0), (-2.5, -3.0), (-2.9, -3.0)),
    report.WIDE: ((-1.0, -3.0), (1.0, -3.0), (3.0, -3.0), (10.0, -3.0)),
    report.NARROW: ((-1.0, -3.0), (-1.0, -5.0), (-1.0, -7.0), (-1.0, -9.0)),
}
ROOTS = torch.logspace(-5, 1, 61, dtype=torch.float64)  # sqrt(m^2 + sigma^2)


def curves() -> Iterator[pd.DataFrame]:
    for remark, priors in PRIORS.items():
        for log_tau1, log_tau0 in priors:
            p = SpikeSlabPrior(log_tau1, log_tau0, PI).inclusion(ROOTS.square())
            where = {"remark": remark, "log_tau1": log_tau1, "log_tau0": log_tau0}
            yield pd.DataFrame({"root": ROOTS.tolist(), "p": p.tolist()}).assign(**where)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    options = parser.parse_args(arguments)
    rows = pd.concat(curves()).assign(commit=code_commit())
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", rows.to_csv(index=False, float_format="%.6g"))
    config = {"pi": PI, "priors": {remark: [list(widths) for widths in priors] for remark, priors in PRIORS.items()}}
    write_text(options.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
