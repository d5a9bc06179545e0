"""Experiment 5: regression on ten UCI datasets, the error as weights are pruned, and rivals on the same splits."""

import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf

from sbnn.compression.evaluation import Predictive
from sbnn.compression.pruning import Pruning, prune_masks
from sbnn.data.download import Sources, Unavailable, data_directory
from sbnn.data.replicas import ReplicaData
from sbnn.data.uci import DATASETS, Table, load
from sbnn.errors import ConfigError
from sbnn.experiments.recipes import check_recipes, recipes
from sbnn.model.methods import SCORES, fit
from sbnn.networks import mlp
from sbnn.runs import settings as config
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows
from sbnn.streams import seed_of


def check(cfg: DictConfig) -> None:
    check_by_dataset(cfg)
    if cfg.data.dir is not None and not isinstance(cfg.data.dir, str):
        raise ConfigError(f"data.dir={cfg.data.dir} must be the path of a folder.")
    if len(cfg.network.hidden) > 1:
        raise ConfigError(f"network.hidden={list(cfg.network.hidden)} must be one layer in this experiment.")
    check_rows(cfg)
    check_recipes(cfg, check_recipe)


def check_recipe(method: str, cfg: DictConfig) -> None:
    check_rows(cfg)
    if method == "NN_Dr" and len(cfg.dropout.rates) > 1:
        raise ConfigError(f"dropout.rates={list(cfg.dropout.rates)} must hold one rate in this experiment.")


def check_by_dataset(cfg: DictConfig) -> None:
    """The two settings that datasets have of their own."""

    def counts(values: Iterable[object]) -> bool:
        return all(type(value) is int and value > 0 for value in values)

    hidden, enlarge = config.table(cfg, "data.hidden"), config.table(cfg, "data.enlarge")
    for name in (*hidden, *enlarge):
        if name not in DATASETS:
            raise ConfigError(f"data.hidden or data.enlarge names {name}; choose one of {', '.join(DATASETS)}.")
    for name, units in hidden.items():
        if not OmegaConf.is_list(units) or not units or not counts(units):
            raise ConfigError(f"data.hidden.{name}={units} must be a list of whole numbers in [1, inf).")
    for name, times in enlarge.items():
        if not OmegaConf.is_dict(times) or not set(times) <= {"steps", "batch"} or not counts(times.values()):
            raise ConfigError(f"data.enlarge.{name}={times} must multiply steps or batch by a whole number.")


def check_rows(cfg: DictConfig) -> None:
    """A batch must fit into the training rows of every dataset."""
    for name in cfg.data.datasets:
        rows, batch = split(name, cfg)[0].shape[1], enlarged(cfg, name).trainer.batch
        if batch > rows:
            raise ConfigError(
                f"trainer.batch={cfg.trainer.batch}, on {name} {batch}, is larger than its {rows} training rows."
            )


def enlarged(cfg: DictConfig, name: str) -> DictConfig:
    """The configuration with the longer, larger training of a large dataset."""
    times = cfg.data.enlarge.get(name, {})
    trainer = {key: cfg.trainer[key] * by for key, by in times.items() if cfg.trainer[key] is not None}
    return OmegaConf.merge(cfg, {"trainer": trainer})


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    rows = Rows(cfg.name)
    for name, table in available(cfg).items():
        for hidden in widths(name, cfg):
            for method, recipe, own in recipes(cfg):
                columns = {"dataset": name, "method": method, "hidden": hidden, "source": table.origin}
                columns["recipe"] = recipe if method == "sBNN" else "ours"
                label = f"{name}-{hidden}-{recipe}"
                fit_and_measure(rows, run, method, table, enlarged(own, name), label, columns)
    return rows.table()


def fit_and_measure(
    rows: Rows, run: Run, method: str, table: Table, cfg: DictConfig, label: str, columns: dict[str, object]
) -> None:
    """Train a method on all splits of a dataset at once, and measure it at every droprate, under every score it has."""
    name, hidden, dropped = columns["dataset"], columns["hidden"], method == "NN_Dr"
    train, test = replicas(name, table, cfg, run)
    splits = [{"replicate": number} for number in range(len(train))]
    seeds = [seed_of(run.seed, method, name, hidden, s["replicate"]) for s in splits]
    network = mlp(table.x.shape[1], [hidden], dropout=dropped)
    rates = torch.full((len(train),), cfg.dropout.rates[0], device=run.device, dtype=run.dtype)
    model = fit(run, method, network, train, cfg, seeds, label, dropout=rates if dropped else None)
    predictive = Predictive(model, test, cfg.predictive.samples, [seed_of("test", seed) for seed in seeds])
    for score in SCORES[method]:
        masks = prune_masks(model, list(cfg.droprates), score, Pruning(**cfg.pruning))
        for droprate, keep in zip(cfg.droprates, masks, strict=True):
            for metric, values in predictive.measure(keep).items():
                rows.add(splits, metric, values, score=score, droprate=droprate, **columns)


def available(cfg: DictConfig) -> dict[str, Table]:
    """The datasets that can be had; of each other one, why not, once."""
    sources, tables = Sources(data_directory(cfg.data.dir), progress=cfg.progress), {}
    for name in dict.fromkeys(cfg.data.datasets):
        try:
            tables[name] = load(name, sources)
        except Unavailable as error:
            print(f"sbnn: {error}", file=sys.stderr)
    if not tables:
        raise Unavailable(f"None of data.datasets={list(cfg.data.datasets)} can be had; there is nothing to train on.")
    return tables


def widths(name: str, cfg: DictConfig) -> list[int]:
    """Hidden units of each network trained on a dataset."""
    return list(dict.fromkeys(cfg.data.hidden.get(name, cfg.network.hidden)))


def split(name: str, cfg: DictConfig) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to measure on, (S, m) and (S, k)."""
    train, test = (rows[: cfg.data.splits] for rows in DATASETS[name].split())
    if cfg.data.evaluate_on == "validation":
        held = round(train.shape[1] * 0.1)
        train, test = train[:, :-held], train[:, -held:]
    return train, test


def replicas(name: str, table: Table, cfg: DictConfig, run: Run) -> tuple[ReplicaData, ReplicaData]:
    """One replica per split, inputs and target standardised on its training rows."""
    train, test = (torch.as_tensor(rows, device=run.device) for rows in split(name, cfg))
    x, y = (torch.as_tensor(values, dtype=run.dtype, device=run.device)[None] for values in (table.x, table.y))
    source = torch.zeros(len(train), dtype=torch.long, device=run.device)
    data = ReplicaData(x, y, source, train).standardised(inputs=True, target=True)
    return data, data.at(test)
