"""Experiment 3: does a network on the selected features predict better, and can cross-validation find how many?"""

import pandas as pd
import torch
from omegaconf import DictConfig, OmegaConf
from sklearn.linear_model import LinearRegression
from torch import Tensor

from sbnn.compression.relevance import best_share, cross_validated_errors, psi, select_top
from sbnn.data.replicas import ReplicaData
from sbnn.data.simulated import Simulated, ramp
from sbnn.errors import ConfigError
from sbnn.experiments.simulated import Settings, crossed, replicas, seeds, train_rows
from sbnn.model.methods import Fit, fit
from sbnn.networks import mlp
from sbnn.runs import settings as config
from sbnn.runs.context import Run
from sbnn.runs.rows import Rows
from sbnn.runs.settings import check_numbers
from sbnn.training.schedule import Plan, Training


def check(cfg: DictConfig) -> None:
    check_numbers(cfg, "vary.alpha", "(0, inf)")
    if unknown := set(cfg.selection.refit) - set(cfg.trainer):
        raise ConfigError(f"selection.refit.{unknown.pop()} is not a key of the trainer.")
    config.check(refitting(cfg))
    rows, folds = train_rows(cfg), cfg.selection.folds
    if folds > rows:
        raise ConfigError(f"selection.folds={folds} is more than the {rows} training rows.")
    for trainer in (cfg.trainer, refitting(cfg).trainer):  # a plan refuses a batch larger than its rows
        Plan(Training(**trainer), None, rows - rows // folds)
    Plan(Training(**cfg.trainer), None, rows - validation_rows(cfg))


def refitting(cfg: DictConfig) -> DictConfig:
    """The configuration with the trainer that fits the folds again on their top features."""
    return OmegaConf.merge(cfg, {"trainer": cfg.selection.refit})


def validation_rows(cfg: DictConfig) -> int:
    """How many of the training rows are held back to tune the dropout rate."""
    return max(1, round(train_rows(cfg) * cfg.dropout.validation_share))


def run(cfg: DictConfig, run: Run) -> pd.DataFrame:
    """Three sweeps through one point of the settings; a cell that lies on two of them is measured once."""
    rows = Rows(cfg.name, "ramp")
    base = {"D": cfg.data.features, "alpha": cfg.data.alpha, "active_share": cfg.data.active_share}
    shares = [{**base, "active_share": share} for share in cfg.vary.active_share]
    alphas = [{**base, "alpha": alpha} for alpha in cfg.vary.alpha]
    widths = [{**base, "D": features} for features in cfg.vary.features]
    by_share = Group(run, cfg, "shares", shares)
    by_share.compare(rows)
    by_share.cross_validate(rows)
    if rest := [s for s in alphas if s not in shares]:
        Group(run, cfg, "alphas", rest).compare(rows)
    for cell in widths:
        if cell not in shares + alphas:
            Group(run, cfg, f"D={cell['D']}", [cell]).compare(rows)
    return rows.table()


class Group:
    """Datasets with the same number of features: the replicas of every fit below."""

    def __init__(self, run: Run, cfg: DictConfig, name: str, cells: list[Settings]):
        self.run, self.cfg, self.name = run, cfg, name
        self.settings, self.features = crossed(cfg, cells), cells[0]["D"]
        d = cfg.data

        def draw(s: Settings, seed: int) -> Simulated:
            return ramp(d.observations, self.features, s["alpha"], d.function, s["active_share"], seed, *s.values())

        self.datasets, self.data, self.test = replicas(run, draw, self.settings, train_rows(cfg))

    def fit(
        self,
        method: str,
        data: ReplicaData,
        label: str,
        settings: list[Settings] | None = None,
        cfg: DictConfig | None = None,
        start: Fit | None = None,
        dropout: Tensor | None = None,
    ) -> Fit:
        """Train one replica per entry of `settings` (by default, one per dataset) under a name of its own."""
        cfg = cfg or self.cfg
        network = mlp(self.features, cfg.network.hidden, dropout=dropout is not None)
        names = seeds(self.run, label, settings or self.settings)
        return fit(self.run, method, network, data, cfg, names, f"{self.name}, {label}", start, dropout)

    def compare(self, rows: Rows) -> None:
        """The method with its fixed threshold, the same network on all features, and the rivals."""
        self.full = self.fit("sBNN", self.data, "sBNN")
        self.add_errors(rows, "sBNN", self.full)
        self.add_selected(rows, "BNN_VS", self.cfg.selection.keep_share)
        for method in ("NN", "BNN"):
            self.add_errors(rows, method, self.fit(method, self.data, method))
        self.add_errors(rows, "NN_Dr", self.fit("NN_Dr", self.data, "NN_Dr", dropout=self.tuned_dropout()))
        for part, values in self.linear_model().items():
            rows.add(self.settings, f"{part}_mse", values, method="LM")

    def cross_validate(self, rows: Rows) -> None:
        """The share of features to keep is found by cross-validation on the training rows."""
        choice = self.cfg.selection

        def train(data: ReplicaData, label: str, start: Fit | None) -> Fit:
            copies = len(data) // len(self.settings)
            names = [{**s, "copy": k} for s in self.settings for k in range(copies)]
            cfg = self.cfg if start is None else refitting(self.cfg)
            return self.fit("sBNN", data, f"CV {label}", names, cfg=cfg, start=start)

        errors = cross_validated_errors(train, self.data, choice.folds, list(choice.thresholds))
        detected = best_share(errors, list(choice.thresholds), choice.rule)
        rows.add(self.settings, "detected_share", detected, method="BNN_VS_CV")
        rows.add(self.settings, "actual_share", self.datasets.active.double().mean(1), method="BNN_VS_CV")
        self.add_selected(rows, "BNN_VS_CV", detected)

    def add_selected(self, rows: Rows, method: str, share: float | Tensor) -> None:
        """Keep the top share of the features, train on them alone (Algorithm 2), and measure."""
        keep = select_top(psi(self.full.layout, self.full.inclusion()), share)
        selected = self.fit("sBNN", self.data.keeping(keep), method)
        self.add_errors(rows, method, selected, keep)
        accuracy = (keep == self.datasets.active).double().mean(1)
        rows.add(self.settings, "accuracy", accuracy, method=method)

    def add_errors(self, rows: Rows, method: str, model: Fit, keep: Tensor | None = None) -> None:
        for part, data in (("train", self.data), ("test", self.test)):
            data = data if keep is None else data.keeping(keep)
            rows.add(self.settings, f"{part}_mse", model.errors(data).square(), method=method)

    def tuned_dropout(self) -> Tensor:
        """The rate with the lowest error on a held-back part of each training set; rates are replicas too."""
        rates = torch.tensor(list(self.cfg.dropout.rates), device=self.run.device, dtype=self.run.dtype)
        cut = self.data.size - validation_rows(self.cfg)
        wide = torch.arange(len(self.settings), device=self.run.device).repeat_interleave(len(rates))
        every = self.data[wide]
        names = [{**s, "rate": rate} for s in self.settings for rate in self.cfg.dropout.rates]
        part = every.trained_on(every.rows[:, :cut])
        tuning = self.fit("NN_Dr", part, "NN_Dr tuning", names, dropout=rates.repeat(len(self.settings)))
        errors = tuning.errors(part.at(every.rows[:, cut:])).view(len(self.settings), -1)
        return rates[errors.argmin(1)]

    def linear_model(self) -> dict[str, Tensor]:
        """Least squares on all features."""
        errors = {"train": [], "test": []}
        for r in range(len(self.settings)):
            x, y = (t[0].double().cpu().numpy() for t in self.data[r : r + 1].all())
            model = LinearRegression().fit(x, y)
            for part, data in (("train", self.data), ("test", self.test)):
                x, y = (t[0].double().cpu().numpy() for t in data[r : r + 1].all())
                errors[part].append(((model.predict(x) - y) ** 2).mean())
        return {part: torch.tensor(values) for part, values in errors.items()}
