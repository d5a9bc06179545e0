"""Experiment 5, method against method: pruned while trained or at the end, and who is ahead over all datasets."""

import pandas as pd

from sbnn.model.methods import GMP, METHODS, NN, SBNN, Method
from sbnn.report.cells import Measured
from sbnn.report.improvement import improvements
from sbnn.report.names import called
from sbnn.report.statistics import paired
from sbnn.report.uci import DECIMALS, OVERLAP

GRADUAL = "gradual_rmse"  # of networks that were pruned while they were trained
OURS, RIVAL = called(SBNN.name, "gradual"), called(GMP.name, "ours")
ENDED = ((SBNN, "tuned", "snr"), (NN, "ours", "magnitude"))  # what their networks are pruned at the end by
IMPROVED_AT = (0.0, 0.5, 0.8)  # droprates at which methods are compared over all datasets
WHERE = ["dataset", "hidden"]


def gradual(rows: pd.DataFrame) -> pd.DataFrame:
    """Pruned while trained, next to pruned at the end, and over the splits sBNN less gradual magnitude pruning."""
    once, meanwhile = rows[rows.metric == "rmse"], rows[rows.metric == GRADUAL]
    ended = {wanted: (once[["method", "recipe", "score"]] == _named(*wanted)).all(axis=1) for wanted in ENDED}
    lines = []
    for (dataset, hidden, droprate), own in meanwhile.groupby([*WHERE, "droprate"], sort=False):
        here = (once[WHERE] == [dataset, hidden]).all(axis=1)
        splits = {}
        for (method, recipe, score), mine in ended.items():
            for at, words in ((0.0, "full"), (droprate, f"by {score} at the end")):
                splits[f"{called(method.name, recipe)}, {words}"] = once[here & mine & (once.droprate == at)]
        for (method, recipe), mine in own.groupby(["method", "recipe"], sort=False):
            splits[called(method, recipe)] = mine
        values = {name: part.set_index("replicate").value for name, part in splits.items() if len(part)}
        line = {"dataset": dataset, "hidden": hidden, "droprate": droprate}
        digits = DECIMALS.get(dataset, 2)
        line |= {name: Measured(found.mean(), found.sem(), digits) for name, found in values.items()}
        if OURS in values and RIVAL in values:
            line[f"{OURS} − {RIVAL}"] = paired(values[OURS], values[RIVAL], OVERLAP)
        lines.append(line)
    return pd.DataFrame(lines)


def _named(method: Method, recipe: str, score: str) -> list[str]:
    return [method.name, recipe, score]


def improvement(rows: pd.DataFrame) -> pd.DataFrame:
    """Over all datasets, for every pair of contenders at some droprates."""
    tables = []
    for droprate in IMPROVED_AT:
        here = rows[(rows.droprate == droprate) & rows.metric.isin(["rmse", GRADUAL])]
        errors = {}
        for (method, recipe, score, metric), own in here.groupby(["method", "recipe", "score", "metric"], sort=False):
            by = f", {score}" if droprate and metric != GRADUAL else ""
            if droprate or score == METHODS[method].score:
                errors[called(method, recipe) + by] = own.set_index([*WHERE, "replicate"]).value
        tables.append(improvements(errors).assign(droprate=droprate))
    found = pd.concat(tables)
    return found[["droprate", *found.columns[:-1]]]
