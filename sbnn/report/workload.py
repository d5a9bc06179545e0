"""What a run trains, by its settings alone: the steps of every fit, and what its networks multiply."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from sbnn.data.image_formats import COLLECTIONS
from sbnn.data.uci import DATASETS
from sbnn.model.methods import BNN, BNN_VS, BNN_VS_CV, METHODS, NN, NN_DR, NN_DR_IN, SBNN, Method
from sbnn.networks import LENETS, mlp, vgg_like
from sbnn.runs.settings import RECIPES, ImageRun, RunSettings, SimulatedRun, UciRun
from sbnn.training.schedule import Plan

TUNED, GRADUAL, STATED = RECIPES[:3]
FINETUNE = "finetune"  # what is left after pruning, trained on


@dataclass(frozen=True)
class Fits:
    """So many fits of replicas of one network, all as long."""

    network: nn.Module
    shape: tuple[int, ...]  # of an example
    plan: Plan
    replicas: int = 1
    chunk: int = 1  # replicas trained at once
    count: int = 1

    @property
    def steps(self) -> int:
        """One after the other."""
        return self.count * math.ceil(self.replicas / self.chunk) * self.plan.steps

    @property
    def flops(self) -> int:
        """Of all replicas; a backward pass multiplies twice as much as the forward pass."""
        examples = self.plan.steps * self.plan.training.batch * self.plan.training.samples
        return 3 * forward_flops(self.network, self.shape) * examples * self.replicas * self.count


def forward_flops(network: nn.Module, shape: tuple[int, ...]) -> int:
    """Of one example: two for every product of a matrix or a convolution."""
    with FlopCounterMode(display=False) as counter:
        network.to("meta").eval()(torch.empty(1, *shape, device="meta"))
    return counter.get_total_flops()


def workload(settings: RunSettings) -> list[Fits]:
    """What an experiment of the paper's trains."""
    return list(KINDS[settings.name](settings))


def fits(method: Method, settings: RunSettings, inputs: int, rows: int, **sizes: int) -> Fits:
    """Of a perceptron with one output."""
    plan = Plan(settings.trainer, method.prior(settings.prior), rows)
    return Fits(mlp(inputs, settings.network.hidden), (inputs,), plan, chunk=settings.chunk, **sizes)


def recipes(settings: RunSettings) -> Iterator[tuple[Method, RunSettings, int, int]]:
    """Method and settings of all there is to train; how many networks are pruned at the end, and how many meanwhile."""
    names = [name for name in RECIPES if name == TUNED or name in settings.recipes]
    chosen = [(SBNN, name) for name in names if settings.recipe in ("all", name)]
    chosen += [(METHODS[rival], rival) for rival in dict.fromkeys(settings.rivals)]
    for method, name in chosen:
        changes = settings.recipes.get(name) or {}
        own, only = settings.changed(changes), name == GRADUAL or method.comeback is not None
        meanwhile = only or "prune_gradually" in changes
        yield method, own, int(not only), len(own.prune_gradually) if meanwhile else 0


def relevance(settings: SimulatedRun) -> Iterator[Fits]:
    replicas = len(settings.vary.alpha) * settings.data.replicates
    yield fits(SBNN, settings, 2, settings.data.observations, replicas=replicas)


def correlation(settings: SimulatedRun) -> Iterator[Fits]:
    data, vary = settings.data, settings.vary
    replicas = len(vary.function) * len(vary.alpha) * data.replicates
    yield fits(SBNN, settings, data.features, data.observations, replicas=replicas, count=len(vary.target))


def simulated(settings: SimulatedRun) -> Iterator[Fits]:
    """Experiment 4: every recipe and rival, then the grid of the recipe as stated."""
    data, vary = settings.data, settings.vary
    for method, own, count, _ in recipes(settings):
        replicas = len(vary.active_share) * data.replicates
        yield fits(method, own, data.features, data.train_rows, replicas=replicas, count=count)
    cells, stated = len(vary.mean_scale) * len(vary.log_tau0), settings.changed(settings.recipes.get(STATED) or {})
    yield fits(SBNN, stated, data.features, data.train_rows, replicas=data.replicates, count=cells)


def selection(settings: SimulatedRun) -> Iterator[Fits]:
    """Experiment 3: three sweeps through one point, which is trained once; the first is also cross-validated."""
    data, vary, rows = settings.data, settings.vary, settings.data.train_rows
    base = (data.features, data.alpha, data.active_share)
    shares = {(data.features, data.alpha, share) for share in vary.active_share}
    alphas = {(data.features, alpha, data.active_share) for alpha in vary.alpha} - shares
    widths = {(features, *base[1:]) for features in vary.features} - shares - alphas
    groups = [(data.features, len(shares)), (data.features, len(alphas)), *((cell[0], 1) for cell in widths)]
    for features, cells in groups:
        replicas, rates = cells * data.replicates, len(settings.dropout.rates)
        for method in (SBNN, BNN_VS, NN, BNN, NN_DR, NN_DR_IN):
            yield fits(method, settings, features, rows, replicas=replicas)
        kept = rows - max(1, round(rows * settings.dropout.validation_share))
        yield fits(NN_DR, settings, features, kept, replicas=replicas * rates, count=2)
    choice, replicas = settings.selection, len(shares) * data.replicates
    yield fits(BNN_VS_CV, settings, data.features, rows, replicas=replicas)
    folds, kept = replicas * choice.folds, rows - rows // choice.folds
    yield fits(SBNN, settings, data.features, kept, replicas=folds)
    again = settings.changed({"trainer": choice.refit})
    yield fits(SBNN, again, data.features, kept, replicas=folds * len(choice.thresholds))


def uci(settings: UciRun) -> Iterator[Fits]:
    for name in settings.data.datasets:
        splits, rows = DATASETS[name].split()[0][: settings.data.splits].shape
        times, inputs = settings.data.enlarge.get(name), DATASETS[name].features
        for hidden in settings.data.hidden.get(name, settings.network.hidden):
            for method, own, at_the_end, meanwhile in recipes(settings):
                trainer = own.trainer.model_dump()
                if times is not None:
                    trainer["batch"] *= times.batch
                    trainer["steps"] = trainer["steps"] and trainer["steps"] * times.steps
                wide = own.changed({"network": {"hidden": [hidden]}, "trainer": trainer})
                yield fits(method, wide, inputs, rows, replicas=splits, count=at_the_end + meanwhile)


def on_images(network: nn.Module, settings: ImageRun, flat: bool = False, rivals: bool = True) -> Iterator[Fits]:
    """A network by all recipes; and what pruning has left of it, trained on."""
    collection = COLLECTIONS[settings.data.collection]
    shape = (math.prod(collection.shape),) if flat else collection.shape
    rows = min(collection.train, settings.data.train_images or collection.train)
    for method, own, at_the_end, meanwhile in recipes(settings):
        if method is SBNN or rivals:
            plan, seeds = Plan(own.trainer, method.prior(own.prior), rows), own.data.seeds
            yield Fits(network, shape, plan, count=seeds * (at_the_end + meanwhile))
            if at_the_end and own.finetune:
                again = own.changed(own.recipes.get(FINETUNE) or {})
                yield Fits(network, shape, Plan(again.trainer, None, rows), count=seeds * len(own.finetune))


def perceptrons(settings: ImageRun) -> Iterator[Fits]:
    """Rivals are trained at the largest width only."""
    vary, inputs = settings.vary, math.prod(COLLECTIONS[settings.data.collection].shape)
    for width in vary.width:
        network = mlp(inputs, [width] * len(settings.network.hidden), outputs=10)
        for _ in vary.augmentation:
            yield from on_images(network, settings, flat=True, rivals=width == vary.width[-1])


def lenets(settings: ImageRun) -> Iterator[Fits]:
    for name in settings.vary.network:
        yield from on_images(LENETS[name](), settings.changed(settings.by_network.get(name) or {}))


def vgg(settings: ImageRun) -> Iterator[Fits]:
    yield from on_images(vgg_like(settings.network.width), settings)


KINDS: dict[str, Callable[..., Iterator[Fits]]] = {
    "simulated_relevance": relevance,
    "simulated_correlation": correlation,
    "simulated_selection": selection,
    "simulated_pruning": simulated,
    "uci_pruning": uci,
    "mnist_pruning": perceptrons,
    "cifar_pruning": perceptrons,
    "lenet_pruning": lenets,
    "vgg_pruning": vgg,
}
