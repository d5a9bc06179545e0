"""How small and how fast is a pruned network, as a file and on one CPU thread, against the dense one?

python scripts/deployment.py [--folder results/deployment] [--rounds 15] [--only LeNet-5 ...]

Networks are trained for a few epochs by the recipes of the experiments, and pruned while they are: fewer epochs change
errors, not sizes and times. Each is then exported, as it is and shrunk, loaded again from the file, and measured next
to the dense network, whose zeros are multiplied like any weight. They take turns, round after round; a ratio is the
median over the rounds of the ratio within a round. Times are CPU times of the process. All takes 17 minutes on one
thread.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import pandas as pd
import torch
import yaml
from safetensors.torch import save_file
from torch import Tensor, nn

from sbnn.compression.batch_norm import restated
from sbnn.compression.export import export, load_sparse
from sbnn.compression.packing import PRECISIONS
from sbnn.compression.shrink import shrink
from sbnn.data.images import ImageData
from sbnn.experiments.images import Job, data_of, images_of
from sbnn.experiments.recipes import GRADUAL, changed, pruned_to
from sbnn.files import write_text
from sbnn.model.fit import Fit
from sbnn.model.methods import NN, SBNN
from sbnn.networks import lenet_5, lenet_300_100, mlp, vgg_like
from sbnn.report import deployment as report
from sbnn.report.publish import gather
from sbnn.runs.composition import default_settings
from sbnn.runs.context import Context, device_named
from sbnn.runs.identity import code_commit
from sbnn.runs.machine import machine
from sbnn.runs.settings import ImageRun
from sbnn.streams import Streams, seed_of

DENSE, PRUNED, SHRUNK = report.DENSE, report.PRUNED, report.SHRUNK
BATCHES = (1, 256)
ROUND = 0.02  # seconds that a contender's turn takes at least


@dataclass(frozen=True)
class Case:
    """A network, and how it is trained: as an experiment's yaml says at the laptop's budget, in other epochs."""

    name: str
    build: Callable[[], nn.Module]
    experiment: str
    droprate: float
    epochs: int
    plain_epochs: int  # of the network that is not pruned
    network: str | None = None  # its line in the experiment's `by_network`
    starts_plain: bool = False  # posteriors start at the plain network's weights
    changes: Mapping[str, object] = field(default_factory=dict)  # of the pruned network's settings

    def settings(self) -> tuple[ImageRun, ImageRun]:
        """Those of the plain network, and those of the pruned one."""
        own = default_settings(self.experiment, "laptop").changed({"data": {"test_images": None}})
        own = own if self.network is None else changed(own, self.network, "by_network")
        plain = changed(own, NN.name).changed({"trainer": {"epochs": self.plain_epochs}})
        gradual = pruned_to(self.droprate, SBNN, changed(own, GRADUAL)).changed({"trainer": {"epochs": self.epochs}})
        return plain, gradual.changed(self.changes)


# As LeNet-300-100 is pruned. On held-back images 1.8 % are wrong, by the experiment's own recipe 2.3 %.
STEEPER = {"trainer": {"lr": 0.1, "gradual": {"biases": False}}}
CASES = [
    Case("784-1200-1200-10", lambda: mlp(784, (1200, 1200), 10), "mnist_pruning", 0.98, 10, 10, changes=STEEPER),
    Case("LeNet-300-100", lenet_300_100, "lenet_pruning", 0.985, 20, 20, "lenet_300_100"),
    Case("LeNet-5", lenet_5, "lenet_pruning", 0.99, 6, 6, "lenet_5"),
    Case("VGG, width 0.25", partial(vgg_like, 0.25), "vgg_pruning", 0.985, 4, 3, starts_plain=True),
]


def trained(case: Case, context: Context) -> tuple[Fit, Fit, ImageData]:
    """The plain network, the pruned one with the statistics of batch norm taken again, and the images to measure on."""
    (plain_settings, settings), of = case.settings(), {"network": case.name}
    images, (augmentation, *_) = images_of(settings, context), settings.vary.augmentation
    train, test = data_of(settings, images, augmentation, context, flat=isinstance(case.build()[0], nn.Linear))
    plain = Job(NN, NN.name, plain_settings, case.build, of).train(context, train)
    job = Job(SBNN, GRADUAL, settings, case.build, of, plain if case.starts_plain else None)
    model = job.train(context, train)
    streams = Streams([seed_of("statistics", job.seed)], context.device)
    batches = replace(train, rows=train.rows[:, : settings.predictive.statistics]).batches(streams)
    auxiliary = restated(model.layout, model.posterior.deployed, (x for x, _ in batches), model.auxiliary)
    return plain, replace(model, auxiliary=auxiliary), test


def measured(case: Case, context: Context, rounds: int) -> Iterator[dict[str, object]]:
    """A row for the dense network, and one for every file."""
    plain, model, test = trained(case, context)
    (x, y) = (held[0].cpu() for held in test.all())
    whole = deepcopy(model.module()).cpu().eval()
    sigmas = {name: sigma.cpu() for name, sigma in model.layout.unflatten(model.posterior.sigma[0]).items()}
    fixed = {"network": case.name, "weights": model.layout.size, "droprate": case.droprate, "epochs": case.epochs}
    fixed |= {"plain_epochs": case.plain_epochs, "plain_error": float(plain.errors(test)[0]), "images": len(y)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.safetensors"
        save_file({name: value.contiguous() for name, value in whole.state_dict().items()}, path)
        size, outputs = path.stat().st_size, outputs_of(whole, x)
        rows, contenders = [{"form": DENSE, "values": "float32", "bytes": size}], {DENSE: whole}
        for form, network in ((PRUNED, whole), (SHRUNK, shrink(whole, x[:8]))):
            for values in PRECISIONS:
                export(network, path, values, sigmas if values == "int8" and form == PRUNED else None)
                loaded = load_sparse(path, case.build())
                rows.append({"form": form, "values": values, "bytes": path.stat().st_size})
                rows[-1] |= accuracy(outputs_of(loaded, x), outputs, y)
                contenders.setdefault(form, loaded)  # values are all float32 again
    rows[0] |= accuracy(outputs, outputs, y)
    times = {batch: timed(contenders, x[:batch], rounds) for batch in BATCHES}
    for row in rows:
        yield (
            fixed | row | {"rounds": rounds} | {k: v for batch in BATCHES for k, v in times[batch][row["form"]].items()}
        )


@torch.inference_mode()
def outputs_of(network: nn.Module, x: Tensor) -> Tensor:
    return torch.cat([network(part) for part in x.split(BATCHES[-1])])


def accuracy(outputs: Tensor, dense: Tensor, y: Tensor) -> dict[str, float]:
    """The share of wrong labels, and how far the outputs are from the dense network's, relative to their largest."""
    difference = (outputs - dense).abs().max() / dense.abs().max()
    return {"error": float((outputs.argmax(1) != y).double().mean()), "difference": float(difference)}


@torch.inference_mode()
def timed(contenders: dict[str, nn.Module], x: Tensor, rounds: int) -> dict[str, dict[str, float]]:
    """Milliseconds a call, and how many times faster than the first, with quartiles; columns end in the batch size."""
    calls = {name: max(1, round(ROUND / seconds(network, x, 3))) for name, network in contenders.items()}
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, network in contenders.items():
            times[name].append(seconds(network, x, calls[name]))
    first, found = next(iter(times.values())), {}
    for name, own in times.items():
        ratios = [other / one for one, other in zip(own, first, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4) if rounds > 1 else ratios * 3
        numbers = {"ms": statistics.median(own) * 1e3, "faster": middle, "low": low, "high": high}
        found[name] = {f"{kind}_{len(x)}": value for kind, value in numbers.items()}
    return found


def seconds(network: nn.Module, x: Tensor, calls: int) -> float:
    """A call's share, after one that touches memory."""
    network(x)
    started = time.process_time()
    for _ in range(calls):
        network(x)
    return (time.process_time() - started) / calls


def configuration(cases: Sequence[Case]) -> dict[str, dict[str, object]]:
    """What each network was trained by: its settings, without those that nothing here reads."""
    read = ("seed", "init", "prior", "trainer", "data", "predictive")
    found: dict[str, dict[str, object]] = {}
    for case in cases:
        plain, pruned = ({key: own.plain()[key] for key in read} for own in case.settings())
        found[case.name] = {"experiment": case.experiment, "not pruned": plain, "pruned": pruned}
    return found


def main(arguments: Sequence[str] | None = None, cases: Sequence[Case] = CASES) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results/deployment"))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", nargs="+", choices=[case.name for case in cases])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    context, rows = Context(device=device_named("auto")), []
    chosen = [case for case in cases if options.only is None or case.name in options.only]
    for case in chosen:
        started = time.perf_counter()
        for row in measured(case, context, options.rounds):
            rows.append(row)
            print(f"{case.name:18s} {row['form']:8s} {row['values']:8s} {row['bytes']:>9,} bytes", end="")
            print(f"  error {row['error']:.4f}  {row['faster_1']:.1f} x, {row['faster_256']:.1f} x", flush=True)
        print(f"{case.name}: {time.perf_counter() - started:.0f} s", flush=True)
    facts = {"threads": 1, "torch": torch.__version__, "commit": code_commit(), **machine()}
    options.folder.mkdir(parents=True, exist_ok=True)
    write_text(options.folder / "rows.csv", pd.DataFrame(rows).assign(**facts).to_csv(index=False, float_format="%.5g"))
    write_text(options.folder / "config.yaml", yaml.safe_dump(configuration(chosen), sort_keys=False))
    report.draw(options.folder)
    gather(options.folder.parent)


if __name__ == "__main__":
    main()
