"""Experiment 5: regression on ten UCI datasets, the error as weights are pruned, and rivals on the same splits."""

import sys

import numpy as np
import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from sbnn import config
from sbnn.data.replicas import ReplicaData
from sbnn.data.sources import Sources, Unavailable, data_directory
from sbnn.data.uci import DATASETS, Table, load
from sbnn.errors import ConfigError
from sbnn.methods import fit
from sbnn.networks import mlp
from sbnn.predictive import Predictive
from sbnn.pruning import Pruning, prune_mask
from sbnn.report.rows import Rows
from sbnn.run import Run
from sbnn.schedule import Plan, Training
from sbnn.streams import seed_of

# Every method with the scores it can be ranked by: its own first.
SCORES = {"sBNN": ("inclusion", "snr", "magnitude"), "BbB": ("snr",), "NN": ("magnitude",), "NN_Dr": ("magnitude",)}


def check(cfg: DictConfig) -> None:
    for name, units in cfg.data.hidden.items():
        if name not in DATASETS:
            raise ConfigError(f"data.hidden.{name} is unknown; choose one of {', '.join(DATASETS)}.")
        if not OmegaConf.is_list(units) or not units or not all(isinstance(u, int) and u > 0 for u in units):
            raise ConfigError(f"data.hidden.{name}={units} must be a list of whole numbers in [1, inf).")
    for _, recipe, own in recipes(cfg):
        try:
            config.check(own)
            for name in cfg.data.datasets:  # a plan refuses a batch larger than its rows
                Plan(Training(**own.trainer), None, split(name, cfg)[0].shape[1])
        except ConfigError as error:
            raise ConfigError(f"{error}" if recipe == "tuned" else f"recipes.{recipe}: {error}") from error


def recipes(cfg: DictConfig) -> list[tuple[str, str, DictConfig]]:
    """Method, name and configuration of everything to train: sBNN by one recipe or both, then its rivals."""
    chosen = [("sBNN", name) for name in ("tuned", "paper") if cfg.recipe in ("all", name)]
    chosen += [(rival, rival) for rival in dict.fromkeys(cfg.rivals)]
    return [(method, name, changed(cfg, name)) for method, name in chosen]


def changed(cfg: DictConfig, name: str) -> DictConfig:
    try:
        return OmegaConf.merge(cfg, cfg.recipes.get(name, {}))
    except OmegaConfBaseException as error:
        raise ConfigError(f"recipes.{name} changes a key that does not exist ({error.key}).") from error


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    rows = Rows(cfg.name)
    for name, table in available(cfg).items():
        train, test = replicas(name, table, cfg, run)
        splits = [{"replicate": number} for number in range(len(train))]
        for hidden in widths(name, cfg):
            for method, recipe, own in recipes(cfg):
                network = mlp(table.x.shape[1], hidden, dropout=method == "NN_Dr")
                seeds = [seed_of(run.seed, method, name, *hidden, s["replicate"]) for s in splits]
                rates = torch.full((len(train),), own.dropout.rates[0], device=run.device, dtype=run.dtype)
                label = f"{name}-{hidden[-1]}-{recipe}"
                dropout = rates if method == "NN_Dr" else None
                model = fit(run, method, network, train, own, seeds, label, dropout=dropout)
                columns = {
                    "dataset": name, "method": method, "recipe": recipe if method == "sBNN" else "ours",
                    "hidden": hidden[-1], "source": table.origin,
                }  # fmt: skip
                predictive = Predictive(model, test, own.predictive.samples, [seed_of("test", seed) for seed in seeds])
                for score in SCORES[method]:
                    ranked = model.posterior.score(score)
                    for droprate in own.droprates:
                        keep = prune_mask(ranked, model.layout, droprate, Pruning(**own.pruning))
                        for metric, values in predictive.measure(keep).items():
                            rows.add(splits, metric, values, score=score, droprate=droprate, **columns)
    return rows.table()


def available(cfg: DictConfig) -> dict[str, Table]:
    """The datasets that can be had; of each other one, why not, once."""
    sources, tables, missing = Sources(data_directory(cfg.data.dir), progress=cfg.progress), {}, None
    for name in dict.fromkeys(cfg.data.datasets):
        try:
            tables[name] = load(name, sources)
        except Unavailable as error:
            missing = error
            print(f"sbnn: {error}", file=sys.stderr)
    if not tables:
        raise missing
    return tables


def widths(name: str, cfg: DictConfig) -> list[list[int]]:
    """Hidden layers of each network trained on a dataset."""
    return [[width] for width in cfg.data.hidden[name]] if name in cfg.data.hidden else [list(cfg.network.hidden)]


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
