"""Experiment 5: regression on ten UCI datasets, the error as weights are pruned, and rivals on the same splits."""

import sys

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sbnn.checked import plainly
from sbnn.compression.evaluation import Predictive
from sbnn.compression.operating_points import operating_points
from sbnn.compression.paths import active_share
from sbnn.compression.pruning import prune_masks
from sbnn.data.download import Sources, Unavailable, data_directory
from sbnn.data.replicas import ReplicaData
from sbnn.data.uci import DATASETS, Table, load
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import OURS, check_recipes, pruned, recipes
from sbnn.model.methods import SBNN, Method
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.data_settings import Enlargement
from sbnn.runs.rows import Rows
from sbnn.runs.settings import UciRun
from sbnn.streams import seed_of
from sbnn.training.fitting import Start
from sbnn.training.masking import score_by

USES = (
    "network.hidden", "network.leave_out", "prior.log_decay", "prior.cost", "likelihood", "dropout.rates",
    "recipe", "recipes",
    "rivals", "predictive.samples", "droprates", "scores", "prune_gradually",
    "pruning",
)  # fmt: skip
AS_IT_IS = Enlargement()


def check(settings: UciRun) -> None:
    if len(settings.network.hidden) > 1:
        raise ConfigError(f"network.hidden={plainly(settings.network.hidden)} must be one layer in this experiment.")
    check_rows(settings)
    check_recipes(settings, check_recipe)


def check_recipe(method: Method, settings: UciRun) -> None:
    check_rows(settings)
    if method.dropout and len(settings.dropout.rates) > 1:
        raise ConfigError(f"dropout.rates={plainly(settings.dropout.rates)} must hold one rate in this experiment.")


def check_rows(settings: UciRun) -> None:
    """A batch must fit into the training rows of every dataset."""
    for name in settings.data.datasets:
        rows, batch = split(name, settings)[0].shape[1], enlarged(settings, name).trainer.batch
        if batch > rows:
            raise ConfigError(
                f"trainer.batch={settings.trainer.batch}, on {name} {batch}, is larger than its {rows} training rows."
            )


def enlarged(settings: UciRun, name: str) -> UciRun:
    """The settings with the longer, larger training of a large dataset."""
    times, trainer = settings.data.enlarge.get(name, AS_IT_IS), settings.trainer
    changes = {"batch": trainer.batch * times.batch}
    if trainer.steps is not None:
        changes["steps"] = trainer.steps * times.steps
    return settings.model_copy(update={"trainer": trainer.model_copy(update=changes)})


def run(settings: UciRun, context: Context) -> pd.DataFrame:
    rows = Rows(settings.name)
    for name, table in available(settings).items():
        context.data_hashes[name] = table.sha256
        for hidden in widths(name, settings):
            for method, recipe, own in recipes(settings):
                columns = {"dataset": name, "method": method.name, "hidden": hidden, "source": table.origin}
                columns["recipe"] = recipe if method is SBNN else OURS
                label = "-".join([name, str(hidden), recipe, *pruned(own)])
                fit_and_measure(rows, context, method, table, enlarged(own, name), columns, label)
    return rows.table()


def fit_and_measure(
    rows: Rows,
    context: Context,
    method: Method,
    table: Table,
    settings: UciRun,
    columns: dict[str, object],
    label: str,
) -> None:
    """Train a method on all splits of a dataset at once, and measure it at every droprate, under every score it has."""
    name, hidden = columns["dataset"], columns["hidden"]
    train, test = replicas(name, table, settings, context)
    splits = [{"replicate": number} for number in range(len(train))]
    seeds = [seed_of(settings.seed, method.name, name, hidden, s["replicate"]) for s in splits]
    network = mlp(table.x.shape[1], [hidden], dropout=method.dropout)
    rates = torch.full((len(train),), settings.dropout.rates[0], device=context.device, dtype=context.dtype)
    start = Start(method, network, settings.model, dropout=rates if method.dropout else None)
    model = context.fit(start, train, settings, seeds, label)
    predictive = Predictive(model, test, settings.predictive.samples, [seed_of("test", seed) for seed in seeds])

    def add(keep: Tensor, prefix: str = "", **where: object) -> None:
        found = predictive.measure(keep) | {"active": active_share(model, keep)}
        for metric, values in found.items():
            rows.add(splits, prefix + metric, values, **where, **columns)

    if (keep := model.posterior.keep) is not None:
        score, droprate = score_by(model, settings.trainer.gradual), settings.trainer.prune_to
        add(keep, "gradual_", score=score, droprate=droprate)
        return
    for score in method.offered(settings.scores):
        masks = prune_masks(model, settings.droprates, score, settings.pruning)
        for droprate, keep in zip(settings.droprates, masks, strict=True):
            add(keep, score=score, droprate=droprate)
    for score, kept in operating_points(model, method.scores):
        add(kept, "chosen_", score=score)
        rows.add(splits, "chosen_kept", kept.double().mean(1), score=score, **columns)


def available(settings: UciRun) -> dict[str, Table]:
    """The datasets that can be had; of each other one, why not, once."""
    sources, tables = Sources(data_directory(settings.data.dir), progress=settings.progress), {}
    for name in dict.fromkeys(settings.data.datasets):
        try:
            tables[name] = load(name, sources)
        except Unavailable as error:
            print(f"sbnn: {error}", file=sys.stderr)
    if not tables:
        datasets = plainly(settings.data.datasets)
        raise Unavailable(f"None of data.datasets={datasets} can be had; there is nothing to train on.")
    return tables


def widths(name: str, settings: UciRun) -> list[int]:
    """Hidden units of each network trained on a dataset."""
    return list(dict.fromkeys(settings.data.hidden.get(name, settings.network.hidden)))


def split(name: str, settings: UciRun) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to measure on, (S, m) and (S, k)."""
    train, test = (rows[: settings.data.splits] for rows in DATASETS[name].split())
    if settings.data.evaluate_on == "validation":
        held = round(train.shape[1] * 0.1)
        train, test = train[:, :-held], train[:, -held:]
    return train, test


def replicas(name: str, table: Table, settings: UciRun, context: Context) -> tuple[ReplicaData, ReplicaData]:
    """One replica per split, inputs and target standardised on its training rows."""
    train, test = (torch.as_tensor(rows, device=context.device) for rows in split(name, settings))
    x, y = (torch.as_tensor(values, dtype=context.dtype, device=context.device)[None] for values in (table.x, table.y))
    source = torch.zeros(len(train), dtype=torch.long, device=context.device)
    data = ReplicaData(x, y, source, train).standardised(inputs=True, target=True)
    return data, data.at(test)
