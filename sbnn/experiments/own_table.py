"""A table of the user's own: the error as weights are pruned, the features that matter, and a network to keep."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from sbnn.compression.evaluation import Classified, Predictive
from sbnn.compression.operating_points import operating_points
from sbnn.compression.paths import active_share
from sbnn.compression.pruning import prune_masks
from sbnn.compression.relevance import phi, psi
from sbnn.data.controls import Controlled
from sbnn.data.encoding import Encoding, Examples
from sbnn.data.folds import folds, halves, others
from sbnn.data.replicas import ReplicaData
from sbnn.data.table import read_table
from sbnn.errors import ConfigError, DataError
from sbnn.experiments.table_rivals import rivals
from sbnn.files import write_text
from sbnn.model.fit import Fit
from sbnn.model.methods import SBNN
from sbnn.networks import mlp
from sbnn.runs.context import Context
from sbnn.runs.rows import Rows
from sbnn.runs.settings import TableRun
from sbnn.streams import seed_of
from sbnn.training.fitting import Start

USES = ("network.hidden", "likelihood", "predictive.samples", "droprates", "scores", "pruning")
LEVELS = tuple(round(0.05 * step, 2) for step in range(1, 20))  # of central intervals: 5 % to 95 %
FEWEST = 10  # rows


def check(settings: TableRun) -> None:
    """Read the files, and divide their rows: what is wrong with them is said before anything is trained."""
    examples, _ = read(settings)
    split(settings, examples)


def run(settings: TableRun, context: Context) -> pd.DataFrame:
    examples, hashes = read(settings)
    context.data_hashes.update(hashes)
    rows, table = Rows(settings.name, Path(str(settings.data.file)).name), Table(settings, context, examples)
    table.measure(rows)
    table.select(rows)
    table.keep()
    return rows.table()


def read(settings: TableRun) -> tuple[Examples, dict[str, str]]:
    """The examples, and hashes of the files that they come from."""
    data = settings.data
    if data.file is None:
        raise ConfigError("data.file is missing; add data.file=PATH of a csv, csv.gz or parquet file.")
    header = None if data.header == "auto" else bool(data.header)
    names = [path for path in (data.file, data.test_file) if path is not None]
    tables = [read_table(path, header) for path in names]
    if data.target is None:
        columns = ", ".join(list(tables[0].columns)[:10])
        raise ConfigError(f"data.target is missing; add data.target=COLUMN, one of {columns}.")
    encoding = Encoding(data.target, data.task, data.categories, data.leave_out)
    hashes = {key: one.sha256 for key, one in zip(("file", "test_file"), tables, strict=False)}
    return encoding.examples(*tables), hashes


def split(settings: TableRun, examples: Examples) -> tuple[np.ndarray, np.ndarray]:
    """Rows to train on and rows to measure on, (R, m) and (R, k)."""
    data, rows = settings.data, examples.to_learn
    least = FEWEST if data.test_file else max(FEWEST, 2 * data.folds)
    if rows < least:
        cure = "add rows" if rows < FEWEST else "add rows, or lower data.folds"
        raise DataError(f"{Path(str(data.file)).name} has {rows} rows and needs {least} or more; {cure}.")
    random = np.random.default_rng(seed_of(settings.seed, "folds"))
    if data.test_file:
        every = np.tile(np.arange(len(examples.x)), (data.folds * data.repeats, 1))
        train, test = every[:, :rows], every[:, rows:]
    else:
        classes = None if examples.is_regression() else examples.y[:rows]
        test = np.concatenate([folds(rows, data.folds, random, classes) for _ in range(data.repeats)])
        train = others(rows, test)
    if data.evaluate_on == "validation":
        order, held = random.permuted(train, axis=1), max(1, round(train.shape[1] * 0.1))
        train, test = order[:, held:], order[:, :held]
    return train, test


@dataclass(frozen=True)
class Table:
    """Examples, and all that is trained on them."""

    settings: TableRun
    context: Context
    examples: Examples

    def measure(self, rows: Rows) -> None:
        """How well networks predict rows that they have not seen, full and pruned, and how sure they are."""
        settings = self.settings
        train, test = split(settings, self.examples)
        data = self.replicas(train)
        held, columns = data.at(self.tensor(test)), {"method": SBNN.name}
        model, cells = self.fit(data, "networks"), [{"replicate": number} for number in range(len(data))]
        seeds = [seed_of(settings.seed, "test", number) for number in range(len(data))]
        regression = self.examples.is_regression()
        predictive = (Predictive if regression else Classified)(model, held, settings.predictive.samples, seeds)

        def add(keep: Tensor, prefix: str = "", **where: object) -> None:
            measured = predictive.measure(keep) if regression else predictive.measure(keep, sampled=True)
            for metric, values in (measured | {"active": active_share(model, keep)}).items():
                rows.add(cells, prefix + metric, values, **where, **columns)

        rows.add(cells, "test_over_train", torch.full((len(data),), held.size / data.size), **columns)
        for score in SBNN.offered(settings.scores):
            masks = prune_masks(model, settings.droprates, score, settings.pruning)
            for droprate, keep in zip(settings.droprates, masks, strict=True):
                add(keep, score=score, droprate=droprate)
        for score, keep in operating_points(model, SBNN.scores):
            add(keep, "chosen_", score=score)
            rows.add(cells, "chosen_kept", keep.double().mean(1), score=score, **columns)
        for metric, level, values in calibration(predictive, torch.ones_like(model.posterior.mean)):
            rows.add(cells, metric, values, level=level, **columns)
        if settings.data.compare:
            for name, errors in rivals(data, held, settings.network.hidden, settings.seed):
                rows.add(cells, "rmse" if regression else "error", errors, method=name, droprate=0.0)

    def select(self, rows: Rows) -> None:
        """Which features matter, on random halves of the rows, next to controls that do not.

        A feature's relevance is that of its column; of a category, that of the most relevant one. It is scaled as Eq.
        18 has it, controls included. On one half a feature is selected if it is more relevant than every control.
        """
        examples, count = self.examples, self.settings.data.half_samples
        random = np.random.default_rng(seed_of(self.settings.seed, "half samples"))
        halved = halves(examples.to_learn, count, random)
        every = np.tile(np.arange(examples.to_learn), (count, 1))
        data = self.replicas(halved, Controlled, other=self.tensor(random.permuted(every, axis=1)))
        model = self.fit(data, "features")
        by_column = psi(model.layout, model.inclusion())  # (R, 2 D)
        features, index = len(examples.features), self.tensor(examples.feature)
        index = torch.cat([index, index + features]).expand_as(by_column)
        relevance = phi(by_column.new_zeros(count, 2 * features).scatter_reduce(1, index, by_column, "amax"))
        own, control = relevance[:, :features], relevance[:, features:].amax(1)  # (R, F), (R,)
        cells = [{"replicate": number} for number in range(count)]
        rows.add(cells, "control", control, method=SBNN.name)
        for place, feature in enumerate(examples.features):
            rows.add(cells, "relevance", own[:, place], feature=feature, method=SBNN.name)
            rows.add(cells, "selected", own[:, place] > control, feature=feature, method=SBNN.name)

    def keep(self) -> None:
        """Leave a network that is trained on all rows, and a note of what its inputs and outputs mean."""
        data = self.replicas(np.arange(self.examples.to_learn)[None])
        model = self.fit(data, "kept")
        self.context.networks.clear()  # those that were measured are of this one's kind, and trained on fewer rows
        self.context.networks["kept"] = model
        note = json.dumps(self.meaning(data), indent=2, ensure_ascii=False)
        self.context.files["network.json"] = lambda path: write_text(path, f"{note}\n")

    def meaning(self, data: ReplicaData) -> dict[str, object]:
        """A network's input is (value - shift) / scale of each column, a category's value being 1 or 0.

        What it says of a regression's target is output * scale + shift.
        """
        examples = self.examples
        shift, scale = (values[0, 0].double().cpu().numpy() for values in (data.x_shift, data.x_scale))
        inputs = {"shift": examples.mean + shift * examples.deviation, "scale": scale * examples.deviation}
        said: dict[str, object] = {"hidden": self.settings.network.hidden, "columns": examples.columns}
        said |= {name: values.tolist() for name, values in inputs.items()} | {"target": examples.target}
        if examples.is_regression():
            shift, scale = data.y_shift.item() + examples.target_mean, data.y_scale.item()
            return said | {"target_shift": shift, "target_scale": scale}
        return said | {"classes": examples.classes}

    def replicas(self, rows: np.ndarray, kind: type[ReplicaData] = ReplicaData, **more: Tensor) -> ReplicaData:
        """One replica for each line of rows (R, m), standardised by them.

        A column that is constant in them, as a rare category may be, says nothing about other rows.
        """
        examples, context = self.examples, self.context
        x = torch.as_tensor(examples.x, dtype=context.dtype, device=context.device)[None]
        y = self.tensor(examples.y)[None]
        y = y.to(context.dtype) if examples.is_regression() else y
        source = torch.zeros(len(rows), dtype=torch.long, device=context.device)
        data = kind(x, y, source, self.tensor(rows), **more).standardised(True, examples.is_regression())
        return data.keeping(data.all()[0].abs().amax(1) > 1e-3)

    def tensor(self, values: np.ndarray) -> Tensor:
        return torch.as_tensor(values, device=self.context.device)

    def fit(self, data: ReplicaData, name: str) -> Fit:
        settings, outputs = self.settings, max(1, len(self.examples.classes))
        start = Start(SBNN, mlp(data.keep.shape[1], settings.network.hidden, outputs), settings.model)
        own = settings.changed({"trainer": {"batch": min(settings.trainer.batch, data.size)}})
        seeds = [seed_of(settings.seed, name, number) for number in range(len(data))]
        return self.context.fit(start, data, own, seeds, name)


def calibration(predictive: Predictive | Classified, keep: Tensor) -> list[tuple[str, float, Tensor]]:
    """Metric, level and values (R,): what intervals cover, or what bins of confidence hold."""
    if isinstance(predictive, Predictive):
        return [("covered", level, own) for level, own in zip(LEVELS, predictive.covered(keep, LEVELS), strict=True)]
    found = predictive.reliability(keep)  # (R, bins) each
    bins = next(iter(found.values())).shape[1]
    return [(f"bin_{name}", (b + 0.5) / bins, values[:, b]) for name, values in found.items() for b in range(bins)]
