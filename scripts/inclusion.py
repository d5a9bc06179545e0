"""Why does the inclusion probability rank worse the longer one trains? Two UCI networks, looked at while they train.

python scripts/inclusion.py [--folder results/inclusion] [--steps 20000]

Kin8nm and power by Experiment 5's recipe `paper`, its first five splits at once. At some steps: the error with half of
the weights by inclusion and by snr, and how |m|, sigma and p are spread. It takes four minutes on one thread.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pandas as pd
import torch
import yaml
from torch import Tensor

from sbnn.compression.pruning import prune_mask
from sbnn.compression.scores import score
from sbnn.data.replicas import ReplicaData
from sbnn.experiments import uci_pruning
from sbnn.experiments.recipes import changed
from sbnn.files import write_text
from sbnn.model.fit import Fit
from sbnn.model.methods import SBNN
from sbnn.networks import mlp
from sbnn.report import inclusion as report
from sbnn.report.publish import gather
from sbnn.runs.composition import default_settings
from sbnn.runs.context import Context, device_named
from sbnn.runs.identity import code_commit
from sbnn.runs.settings import UciRun
from sbnn.streams import seed_of
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.fitting import Start

DATASETS = ("kin8nm", "power")
SPLITS, MOMENTS = 5, 12
BINS = {"mean": np.linspace(-4, 1.5, 56), "sigma": np.linspace(-4, 1.5, 56), "p": np.linspace(0, 1, 41)}


class Snapshots(Checkpoint):
    """Keeps what moves, at some steps, in memory instead of on disk."""

    def __init__(self, steps: Sequence[int]):
        super().__init__()
        self.steps, self.made, self.seen = set(steps), 0, {}  # type: ignore[var-annotated]

    def is_due(self) -> bool:
        self.made += 1
        return self.made in self.steps

    def save(self, state: dict) -> None:
        self.seen[state["step"]] = [row.clone() for row in state["movable"]]


@dataclass(frozen=True)
class Watched(Context):
    snapshots: Snapshots = field(default_factory=lambda: Snapshots([]))

    def checkpoint(self, name: str, fingerprint: str = "") -> Snapshots:
        return self.snapshots


def moments(steps: int) -> list[int]:
    """Evenly spaced on a logarithmic scale; the end, which is seen too, is not among them."""
    return sorted({round(steps * 10 ** (-2 * n / MOMENTS)) for n in range(1, MOMENTS + 1)})


def watched(name: str, settings: UciRun) -> Iterator[tuple[int, Fit, ReplicaData]]:
    """A network on several splits at once, as it was at each of the moments."""
    table = uci_pruning.available(settings)[name]
    own = uci_pruning.enlarged(settings, name)
    snapshots = Snapshots(moments(own.trainer.steps))
    context = Watched(device=device_named("auto"), snapshots=snapshots)
    train, test = uci_pruning.replicas(name, table, own, context)
    start = Start(SBNN, mlp(table.x.shape[1], own.network.hidden), own.model)
    seeds = [seed_of(own.seed, SBNN.name, name, number) for number in range(len(train))]
    model = context.fit(start, train, own, seeds, name)
    rows = len(model.posterior.theta)
    for step, moved in sorted(snapshots.seen.items()):
        yield step, replace(model, posterior=type(model.posterior)(*moved[:rows])), test


def measured(model: Fit, test: ReplicaData) -> Iterator[tuple[str, Tensor]]:
    """Of every split: errors in the target's units, and what half of the weights by inclusion consists of."""
    scale = test.y_scale.flatten()
    masks = {name: prune_mask(score(model, name), model.layout, 0.5) for name in ("inclusion", "snr")}
    yield "rmse", model.errors(test) * scale
    for name, keep in masks.items():
        yield f"rmse, half by {name}", model.errors(test, model.posterior.mean * keep) * scale
    noisy = model.posterior.mean.abs() < model.posterior.sigma  # hard to tell from zero
    yield "share with p > 1/2", (model.inclusion() > 0.5).double().mean(1)
    for name, keep in masks.items():
        yield f"share of half by {name} with |m| < sigma", (noisy & keep).sum(1) / keep.sum(1)


def spread(model: Fit) -> Iterator[tuple[str, float, float]]:
    """How many weights of all splits lie in each bin: of log10 |m|, of log10 sigma, and of p."""
    posterior = model.posterior
    values = {"mean": posterior.mean.abs().log10(), "sigma": posterior.sigma.log10(), "p": model.inclusion()}
    for name, found in values.items():
        inside = found.flatten().clamp(BINS[name][0], BINS[name][-1]).cpu().numpy()
        counts, edges = np.histogram(inside, BINS[name])
        yield from ((name, float(left), float(count)) for left, count in zip(edges, counts, strict=False))


def main(arguments: Sequence[str] | None = None, datasets: Sequence[str] = DATASETS) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--steps", type=int, default=10000, help="times what the experiment gives larger data sets")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    settings = changed(default_settings("uci_pruning", "laptop"), "paper")
    settings = settings.changed({"trainer": {"steps": options.steps}, "data": {"datasets": datasets, "splits": SPLITS}})
    rows: list[dict[str, object]] = []
    for name in datasets:
        for step, model, test in watched(name, settings):
            where = {"dataset": name, "step": step}
            for metric, values in measured(model, test):
                found = enumerate(values.tolist())
                rows += [where | {"metric": metric, "replicate": split, "value": value} for split, value in found]
            rows += [
                where | {"metric": f"bin of {what}", "bin": at, "value": count} for what, at, count in spread(model)
            ]
            print(name, step, flush=True)
    facts = {"torch": torch.__version__, "commit": code_commit()}
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", pd.DataFrame(rows).assign(**facts).to_csv(index=False, float_format="%.5g"))
    kept = {key: settings.plain()[key] for key in ("seed", "network", "init", "prior", "likelihood", "trainer", "data")}
    write_text(options.folder / "config.yaml", yaml.safe_dump(kept, sort_keys=False))
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
