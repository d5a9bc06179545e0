"""Experiment 3: does a network on the selected features predict better, and can cross-validation find how many?"""

from dataclasses import dataclass

import pandas as pd
import torch
from torch import Tensor

from sbnn.compression.relevance import psi
from sbnn.compression.selection import best_share, cross_validated_errors, select_top
from sbnn.data.replicas import ReplicaData
from sbnn.data.simulated import Simulated, ramp
from sbnn.errors import ConfigError
from sbnn.experiments.linear import squared_errors, wald
from sbnn.experiments.simulated import DATA, Cell, check_alphas, crossed, parts, replicas, seeds
from sbnn.model.fit import Fit
from sbnn.model.methods import BNN, BNN_VS, BNN_VS_CV, LM, NN, NN_DR, NN_DR_IN, SBNN, Method
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import SimulatedRun
from sbnn.training.fitting import Start
from sbnn.training.schedule import Plan

USES = (
    *DATA, "vary.alpha", "vary.features", "vary.active_share", "network.hidden", "prior.log_decay", "likelihood",
    "selection", "dropout",
)  # fmt: skip
IDENTITY = ("D", "alpha", "active_share", "replicate")


def check(settings: SimulatedRun) -> None:
    check_alphas(settings)
    refit = refitting(settings)
    rows, folds = settings.data.train_rows, settings.selection.folds
    if folds > rows:
        raise ConfigError(f"selection.folds={folds} is more than the {rows} training rows.")
    for trainer in (settings.trainer, refit.trainer):  # a plan refuses a batch larger than its rows
        Plan(trainer, None, rows - rows // folds)
    Plan(settings.trainer, None, rows - validation_rows(settings))


def refitting(settings: SimulatedRun) -> SimulatedRun:
    """The settings with the trainer that fits the folds again on their top features."""
    try:
        return settings.changed({"trainer": settings.selection.refit})
    except ConfigError as error:
        raise ConfigError(f"selection.refit: {error}") from error


def validation_rows(settings: SimulatedRun) -> int:
    """How many of the training rows are held back to tune the dropout rate."""
    return max(1, round(settings.data.train_rows * settings.dropout.validation_share))


def run(settings: SimulatedRun, context: Context) -> pd.DataFrame:
    """Three sweeps through one point of the settings; a cell that lies on two of them is measured once."""
    rows, d = Rows(settings.name, "ramp"), settings.data
    base = {"D": d.features, "alpha": d.alpha, "active_share": d.active_share}
    shares = [{**base, "active_share": share} for share in settings.vary.active_share]
    alphas = [{**base, "alpha": alpha} for alpha in settings.vary.alpha]
    widths = [{**base, "D": features} for features in settings.vary.features]
    by_share = Group(context, settings, "shares", shares)
    by_share.compare(rows)
    by_share.cross_validate(rows)
    if rest := [cell for cell in alphas if cell not in shares]:
        Group(context, settings, "alphas", rest).compare(rows)
    for cell in widths:
        if cell not in shares + alphas:
            Group(context, settings, f"D={cell['D']}", [cell]).compare(rows)
    return rows.table()


@dataclass(frozen=True)
class Replicas:
    """What a fit of a group trains, where it is not one replica per dataset from scratch."""

    cells: list[Cell]
    copies: str | None = None  # the column that tells replicas of one dataset apart
    start: Fit | None = None
    dropout: Tensor | None = None


class Group:
    """Datasets with the same number of features: the replicas of every fit below."""

    def __init__(self, context: Context, settings: SimulatedRun, name: str, cells: list[Cell]):
        self.context, self.settings, self.name = context, settings, name
        self.cells, self.features = crossed(settings, cells), cells[0]["D"]
        d = settings.data

        def draw(cell: Cell) -> Simulated:
            own = cell["alpha"], d.function, cell["active_share"], settings.seed, *parts(cell, *IDENTITY)
            return ramp(d.observations, self.features, *own)

        self.datasets, self.data, self.test = replicas(context, draw, self.cells, d.train_rows)

    def fit(
        self,
        method: Method,
        data: ReplicaData,
        label: str,
        trained: Replicas | None = None,
        settings: SimulatedRun | None = None,
    ) -> Fit:
        """Train one replica per dataset, or as `trained` says, under a name of its own."""
        settings, trained = settings or self.settings, trained or Replicas(self.cells)
        dropout, of_inputs = trained.dropout is not None, method is NN_DR_IN
        network = mlp(self.features, settings.network.hidden, dropout=dropout, of_inputs=of_inputs)
        start = Start(method, network, settings.model, trained.start, trained.dropout)
        names = IDENTITY if trained.copies is None else (*IDENTITY, trained.copies)
        streams = seeds(settings, label, trained.cells, *names)
        return self.context.fit(start, data, settings, streams, f"{self.name}, {label}")

    def compare(self, rows: Rows) -> None:
        """The method with its fixed threshold, the same network on all features, and the rivals."""
        self.full = self.fit(SBNN, self.data, SBNN.name)
        self.add_errors(rows, SBNN, self.full)
        self.add_selected(rows, BNN_VS, self.settings.selection.keep_share)
        for method in (NN, BNN):
            self.add_errors(rows, method, self.fit(method, self.data, method.name))
        for method in (NN_DR, NN_DR_IN):
            rates, held_out = self.tuned_dropout(method)
            tuned = Replicas(self.cells, dropout=rates)
            self.add_errors(rows, method, self.fit(method, self.data, method.name, tuned))
            rows.add(self.cells, "held_out_mse", held_out, method=method.name)
        for part, values in zip(("train", "test"), squared_errors(self.data, self.data, self.test), strict=True):
            rows.add(self.cells, f"{part}_mse", values, method=LM.name)

    def cross_validate(self, rows: Rows) -> None:
        """The share of features to keep is found by cross-validation on the training rows."""
        choice = self.settings.selection

        def train(data: ReplicaData, label: str, start: Fit | None) -> Fit:
            copies = len(data) // len(self.cells)
            cells = [{**cell, "copy": k} for cell in self.cells for k in range(copies)]
            settings = self.settings if start is None else refitting(self.settings)
            return self.fit(SBNN, data, f"CV {label}", Replicas(cells, "copy", start), settings)

        errors = cross_validated_errors(train, self.data, choice.folds, choice.thresholds)
        detected = best_share(errors, choice.thresholds, choice.rule)
        rows.add(self.cells, "detected_share", detected, method=BNN_VS_CV.name)
        actual = self.datasets.active.double().mean(1)
        rows.add(self.cells, "actual_share", actual, method=BNN_VS_CV.name)
        self.add_selected(rows, BNN_VS_CV, detected)
        for method, relevance in ((BNN_VS_CV, self.relevance()), (LM, wald(self.data))):
            rows.add(
                self.cells, "true_count_accuracy", self.accuracy(select_top(relevance, actual)), method=method.name
            )

    def relevance(self) -> Tensor:
        """Of every feature to the full network, (R, D)."""
        return psi(self.full.layout, self.full.inclusion())

    def accuracy(self, keep: Tensor) -> Tensor:
        """Share of the features that are rightly kept or dropped, (R,)."""
        return (keep == self.datasets.active).double().mean(1)

    def add_selected(self, rows: Rows, method: Method, share: float | Tensor) -> None:
        """Keep the top share of the features, train on them alone (Algorithm 2), and measure."""
        keep = select_top(self.relevance(), share)
        selected = self.fit(method, self.data.keeping(keep), method.name)
        self.add_errors(rows, method, selected, keep)
        rows.add(self.cells, "accuracy", self.accuracy(keep), method=method.name)

    def add_errors(self, rows: Rows, method: Method, model: Fit, keep: Tensor | None = None) -> None:
        for part, data in (("train", self.data), ("test", self.test)):
            data = data if keep is None else data.keeping(keep)
            rows.add(self.cells, f"{part}_mse", model.errors(data).square(), method=method.name)

    def tuned_dropout(self, method: Method) -> tuple[Tensor, Tensor]:
        """The rate with the lowest error on a held-back part of each training set, and that error.

        Rates are replicas too. Where inputs are dropped as well, it is at the same rate.
        """
        choices = self.settings.dropout.rates
        rates = torch.tensor(choices, device=self.context.device, dtype=self.context.dtype)
        cut = self.data.size - validation_rows(self.settings)
        wide = torch.arange(len(self.cells), device=self.context.device).repeat_interleave(len(rates))
        every = self.data[wide]
        cells = [{**cell, "rate": rate} for cell in self.cells for rate in choices]
        part = every.trained_on(every.rows[:, :cut])
        trained = Replicas(cells, "rate", dropout=rates.repeat(len(self.cells)))
        tuning = self.fit(method, part, f"{method.name} tuning", trained)
        errors = tuning.errors(part.at(every.rows[:, cut:])).square().view(len(self.cells), -1)
        return rates[errors.argmin(1)], errors.amin(1)
