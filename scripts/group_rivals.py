"""Rivals whose groups of weights share a scale: BC-GNJ and BC-GHS on the LeNets, HS-BNN on the UCI regressions.

python scripts/group_rivals.py [--only lenet_300_100 yacht ...] [--rivals BC-GNJ ...] [--seeds 3] [--folder ...]

They go through the one training loop with the data, epochs, steps and batches of Experiments 8 and 5, and are measured
by the same code. They are not in the table of methods yet: all committed results were made by that table, and would be
results of other code. What stands in rows.csv is kept, and what is named is run again.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import torch
import yaml

from sbnn.compression.evaluation import Classified
from sbnn.compression.paths import active_share
from sbnn.compression.pruning import kept_units
from sbnn.compression.units import widths
from sbnn.data.uci import DATASETS
from sbnn.experiments import uci_pruning
from sbnn.experiments.images import Job, data_of, images_of
from sbnn.experiments.recipes import OURS, changed
from sbnn.files import write_text
from sbnn.model.flat import Layout
from sbnn.model.groups import by_input, by_layer, by_output
from sbnn.model.methods import Method
from sbnn.model.posteriors.grouped import GaussianScaled, Grouped, LogNormalScaled
from sbnn.model.priors.grouped import GroupHorseshoePrior, GroupPrior, HorseshoePrior, NormalJeffreysPrior
from sbnn.networks import LENETS, mlp
from sbnn.report import group_rivals as report
from sbnn.report.publish import gather
from sbnn.runs.composition import default_settings
from sbnn.runs.context import Context
from sbnn.runs.identity import code_commit
from sbnn.runs.machine import machine
from sbnn.runs.rows import Rows
from sbnn.runs.settings import ImageRun, UciRun

SHARES = (0.0, 0.5, 0.8, 0.82, 0.84, 0.86, 0.88, 0.9, 0.92, 0.95)  # of the weights, which leave with their units
LEFT_OUT, WIDER = ("year",), {"protein": 100}  # as for PBP: half a million rows, and the benchmark's width


@dataclass(frozen=True)
class Rival:
    name: str
    prior: GroupPrior
    over: Callable[[Layout], type[Grouped]]  # the posterior over a network
    changes: dict[str, dict] = field(default_factory=dict)  # of the experiment's settings

    def method(self, layout: Layout) -> Method:
        return Method(self.name, self.name, lambda settings: self.prior, self.over(layout), ("snr", "magnitude"))


def _by_input(layout: Layout) -> type[Grouped]:
    return GaussianScaled.over(by_input(layout))


def _by_layer_and_input(layout: Layout) -> type[Grouped]:
    return LogNormalScaled.over(*[by_layer(layout, biases=False)] * 2, *[by_input(layout)] * 2)


def _by_output_and_layer(layout: Layout) -> type[Grouped]:
    return LogNormalScaled.over(by_output(layout), by_layer(layout, biases=True))


# The authors' optimiser and start (BC-GNJ's; BC-GHS's code was never released); epochs and batches are ours. Their rate
# is 0.001; of 0.001, 0.003 and 0.01, BC-GNJ did best by 0.003 on held-back images, after five epochs each.
ADAM = {"optimizer": "adam", "lr": 0.003, "temperature": 1.0, "anneal_from": None}
STRUCTURED = {"trainer": ADAM, "init": {"mean_scale": 1.0, "sigma": 0.011}, "finetune": []}
IMAGES = (
    Rival("BC-GNJ", NormalJeffreysPrior(), _by_input, STRUCTURED),
    Rival("BC-GHS", GroupHorseshoePrior(1e-2), _by_layer_and_input, STRUCTURED),
)
# The authors' start and rate, on Experiment 5's steps and batches. Their noise is a Gamma variable; ours is learned.
UCI = Rival(
    "HS-BNN", HorseshoePrior(), _by_output_and_layer,
    {"trainer": {"lr": 0.005, "temperature": 1.0}, "init": {"mean_scale": 1.41, "sigma": 4.5e-5}},
)  # fmt: skip


def compressed(rival: Rival, name: str, settings: ImageRun, seeds: int, context: Context) -> pd.DataFrame:
    """A structured rival on a LeNet: error, weights on a path and units left, as groups leave."""
    own = changed(settings, name, "by_network").changed(rival.changes)
    train, test = data_of(own, images_of(settings, context), "none", context, flat=False)
    method, rows = rival.method(Layout(LENETS[name]())), Rows(report.FOLDER, name)
    for replicate in range(seeds):
        job = Job(method, rival.name, own, LENETS[name], {"network": name}, replicate=replicate)
        model = job.train(context, train)
        where, measured = [{"replicate": replicate}], Classified(model, test, 0, [job.seed])
        columns = {"method": rival.name, "recipe": OURS, "score": report.STRENGTH}
        columns |= {"epochs": own.trainer.epochs, "measured": test.size}
        for droprate in SHARES:
            keep = kept_units(model.posterior.strength, own.pruning.counted(model.layout), droprate)
            values = measured.measure(keep) | {"active": active_share(model, keep)}
            for metric, value in values.items():
                rows.add(where, metric, value, droprate=droprate, **columns)
            for layer, count in enumerate(widths(model, keep).unbind(1)):
                rows.add(where, report.UNITS, count, droprate=droprate, layer=layer, **columns)
        print(f"{job.label}: error {model.errors(test)[0]:.4f}", flush=True)
    return pd.concat(rows.frames)


def regressed(rival: Rival, name: str, settings: UciRun, context: Context) -> pd.DataFrame:
    """A rival on all splits of a data set."""
    table, hidden = uci_pruning.available(settings)[name], WIDER.get(name, settings.network.hidden[0])
    own = uci_pruning.enlarged(settings.changed(rival.changes), name)
    rows, method = Rows(report.FOLDER), rival.method(Layout(mlp(table.x.shape[1], [hidden])))
    columns = {"dataset": name, "method": rival.name, "hidden": hidden, "source": table.origin, "recipe": OURS}
    uci_pruning.fit_and_measure(rows, context, method, table, own, columns, f"{rival.name}-{name}")
    return pd.concat(rows.frames).assign(steps=own.trainer.steps)


def measured(rival: Rival, name: str, seeds: int, folder: Path, changes: dict[str, object]) -> pd.DataFrame:
    on_images = name in LENETS
    experiment, key = ("lenet_pruning", None) if on_images else ("uci_pruning", {"datasets": [name]})
    settings = default_settings(experiment, "overnight").changed({"data": key or {}}).changed(changes)
    context = Context.of(settings.changed({"threads": 1}), folder / name)
    rows = compressed(rival, name, settings, seeds, context) if on_images else regressed(rival, name, settings, context)
    context.forget_checkpoints()
    return rows


def asked(names: Sequence[str] | None, rivals: Sequence[str] | None) -> list[tuple[Rival, str]]:
    """Every rival with each network or data set that it is for, of those that are named."""
    pairs = [(rival, name) for name in LENETS for rival in IMAGES]
    pairs += [(UCI, name) for name in DATASETS if names or name not in LEFT_OUT]
    return [(r, n) for r, n in pairs if (not names or n in names) and (not rivals or r.name in rivals)]


def main(arguments: Sequence[str] | None = None, changes: dict[str, object] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results") / report.FOLDER)
    parser.add_argument("--only", nargs="+", choices=[*LENETS, *DATASETS], help="run these, even if they are done")
    parser.add_argument("--rivals", nargs="+", choices=[rival.name for rival in (*IMAGES, UCI)], help="these alone")
    parser.add_argument("--seeds", type=int, default=3, help="of networks on images")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    path = options.folder / "rows.csv"
    options.folder.mkdir(parents=True, exist_ok=True)
    config = {"seeds": options.seeds, "rivals": {rival.name: rival.changes for rival in (*IMAGES, UCI)}}
    priors = {rival.name: [type(rival.prior).__name__, *rival.prior.numbers()] for rival in (*IMAGES, UCI)}
    config |= {"priors": priors, "changes": changes}
    write_text(options.folder / "config.yaml", yaml.safe_dump(config, sort_keys=False))
    kept = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=["method", "dataset"])
    done = set() if options.only else set(zip(kept.method, kept.dataset, strict=True))
    for rival, name in asked(options.only, options.rivals):
        if (rival.name, name) in done:
            continue
        facts = {"commit": code_commit(), "torch": torch.__version__, **machine()}
        own = measured(rival, name, options.seeds, options.folder, changes or {}).assign(**facts)
        others = pd.read_csv(path).query("dataset != @name or method != @rival.name") if path.exists() else None
        write_text(path, pd.concat([others, own]).to_csv(index=False, float_format="%.6g"))
        print(rival.name, name, flush=True)
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
