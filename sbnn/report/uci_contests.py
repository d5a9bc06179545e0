"""Experiment 5, method against method: pruned while trained or at the end, and who is ahead over all datasets."""

import pandas as pd

from sbnn.model.methods import GMP, METHODS, SBNN
from sbnn.report.cells import Measured
from sbnn.report.improvement import improvements
from sbnn.report.names import called
from sbnn.report.statistics import paired
from sbnn.report.uci import DECIMALS, OVERLAP

GRADUAL = "gradual_rmse"  # of networks that were pruned while they were trained
TUNED = called(SBNN.name, "tuned")
IMPROVED_AT = (0.0, 0.5, 0.8)  # droprates at which methods are compared over all datasets


def gradual(rows: pd.DataFrame) -> pd.DataFrame:
    """Pruned while trained, next to pruned at the end, and over the splits sBNN less gradual magnitude pruning."""
    once, meanwhile = rows[rows.metric == "rmse"], rows[rows.metric == GRADUAL]
    lines = []
    for (dataset, hidden, droprate), own in meanwhile.groupby(["dataset", "hidden", "droprate"], sort=False):
        line, same = {"dataset": dataset, "hidden": hidden, "droprate": droprate}, once[once.dataset == dataset]
        same, splits = same[same.hidden == hidden], {}
        parts = {"full": same[same.droprate == 0], "at the end": same[same.droprate == droprate], "gradually": own}
        for (method, recipe, score), _ in own.groupby(["method", "recipe", "score"], sort=False):
            for words, part in parts.items():
                wanted = (part[["method", "recipe", "score"]] == [method, recipe, score]).all(axis=1)
                if len(values := part[wanted].set_index("replicate").value):
                    splits[called(method, recipe), words] = values
                    shown = Measured(values.mean(), values.sem(), DECIMALS.get(dataset, 2))
                    line[f"{called(method, recipe)}, {words}"] = shown
        ours, theirs = (splits.get((name, "gradually")) for name in (TUNED, GMP.label))
        if ours is not None and theirs is not None:
            line[f"{TUNED} − {GMP.label}, gradually"] = paired(ours, theirs, OVERLAP)
        lines.append(line)
    return pd.DataFrame(lines)


def improvement(rows: pd.DataFrame) -> pd.DataFrame:
    """Over all datasets, for every pair of contenders at some droprates."""
    tables = []
    for droprate in IMPROVED_AT:
        here = rows[(rows.droprate == droprate) & rows.metric.isin(["rmse", GRADUAL])]
        errors = {}
        for (method, recipe, score, metric), own in here.groupby(["method", "recipe", "score", "metric"], sort=False):
            how = "" if droprate == 0 else ", gradually" if metric == GRADUAL else f", {score}"
            if droprate or score == METHODS[method].score:
                errors[called(method, recipe) + how] = own.set_index(["dataset", "hidden", "replicate"]).value
        tables.append(improvements(errors).assign(droprate=droprate))
    found = pd.concat(tables)
    return found[["droprate", *found.columns[:-1]]]
