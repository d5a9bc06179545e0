"""What `compress` gives: a posterior over a network's weights, and all one does with it."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from sbnn.api.curve import Curve, largest_droprate
from sbnn.api.examples import Examples, read_examples, read_inputs
from sbnn.api.measures import mixture, outputs, samples_of, scores, statistics
from sbnn.api.network import dtype_of, placed
from sbnn.api.task import Task
from sbnn.compression.operating_points import OPERATING_POINTS
from sbnn.compression.pruning import Pruning, prune_masks
from sbnn.data.nested import Inputs, each
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.saved import write_fit

DROPRATES = (0.0, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99)
FINE = tuple(1 - 10 ** (-step / 10) for step in range(1, 26))  # for "auto": 21 % to 99.7 %
WEIGHTS = Pruning(biases=False)


@dataclass
class Result:
    fit: Fit
    task: Task
    history: list[dict[str, float]]  # by epoch: loss, penalty, error, included (the share with p > 1/2), seconds
    train: Examples | None  # None after `load`
    home: torch.device  # of the user's network

    @property
    def inclusion(self) -> dict[str, Tensor]:
        """Every weight's posterior inclusion probability, by its parameter's name; (R, ...) of several replicas."""
        named = self.fit.layout.unflatten(self.fit.inclusion())
        return {name: values[0] if len(values) == 1 else values for name, values in named.items()}

    def prune(
        self,
        droprate: float | str,
        *,
        score: str = "snr",
        tolerance: float = 0.01,
        validation: Any = None,
        replica: int = 0,
        train: Any = None,
    ) -> nn.Module:
        """A plain copy of the network with the weights of lowest score set to zero; batch norm is taken again.

        `droprate` is a share of the weights, biases not counted; or "auto", the largest whose error on `validation`
        stays within (1 + tolerance) times the full network's; or the name of a threshold that needs no droprate:
        "evidence" (the data favour the weight over zero), "snr" (log alpha < 3) or "inclusion" (p > 1/2). `train` is
        asked for only where a result that was loaded has batch norm.
        """
        seen = self._train(train)
        keep = self._mask(droprate, score, tolerance, validation, seen)
        weights = self.fit.posterior.deployed * keep
        own = {name: values[replica] for name, values in statistics(self.fit, weights, seen).items()}
        network = copy.deepcopy(self.fit.layout.load(weights[replica], own))
        return network.eval().to(self.home)

    def curve(
        self,
        test: Any,
        droprates: Sequence[float] = DROPRATES,
        scores: Sequence[str] = ("snr", "inclusion", "magnitude"),
        samples: int = 0,
    ) -> Curve:
        """Error, likelihood and calibration on `test` by droprate and score, of the network at the posterior mean.

        With `samples` they are of the average of so many networks drawn from the posterior.
        """
        x, y = self._examples(test, "test")
        rows = []
        for score in scores:
            for droprate, keep in zip(droprates, prune_masks(self.fit, droprates, score, WEIGHTS), strict=True):
                measured = self._measured(x, y, keep, samples)
                rows.append({"score": score, "droprate": droprate, **measured})
        return Curve(rows, self.fit.likelihood.error_name)

    def predict(self, x: Any, samples: int = 30, seed: int = 0) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation of the predictive distribution at inputs, from networks drawn from the posterior.

        Those of a regression's target, noise included, or of the probabilities of the classes.
        """
        inputs = self._placed(read_inputs(x))
        every = self._everything()
        drawn = [outputs(self.fit, w, inputs, self.fit.auxiliary) for w in samples_of(self.fit, every, samples, seed)]
        mean, deviation = mixture(self.fit, torch.stack(drawn))
        return mean.to(self.home), deviation.to(self.home)

    def save(self, path: str | Path) -> None:
        """Means, deviations and inclusion probabilities by name, in safetensors; `sbnn.load` reads it."""
        write_fit(self.fit, Path(path), self.history, self.task.arrangement)

    def _mask(
        self, droprate: float | str, score: str, tolerance: float, validation: Any, seen: Examples | None
    ) -> Tensor:
        if droprate == "auto":
            if validation is None:
                raise ConfigError('prune("auto") needs validation=, examples that were not trained on.')
            x, y = self._examples(validation, "validation")
            every, masks = self._everything(), prune_masks(self.fit, FINE, score, WEIGHTS)
            by_droprate = {0.0: every, **dict(zip(FINE, masks, strict=True))}
            droprate = largest_droprate(FINE, lambda d: self._measured(x, y, by_droprate[d], 0)["error"], tolerance)
        if isinstance(droprate, str):
            if droprate not in OPERATING_POINTS:
                known = ", ".join(["auto", *OPERATING_POINTS])
                raise ConfigError(f"droprate={droprate!r} is neither a share nor one of {known}.")
            return OPERATING_POINTS[droprate](self.fit)
        if not 0 <= droprate < 1:
            raise ConfigError(f"droprate={droprate} must lie in [0, 1).")
        return next(iter(prune_masks(self.fit, [droprate], score, WEIGHTS)))

    def _measured(self, x: Inputs, y: Tensor, keep: Tensor, samples: int) -> dict[str, float]:
        found = []
        for weights in samples_of(self.fit, keep, samples, seed=0):
            found.append(outputs(self.fit, weights, x, statistics(self.fit, weights, self.train)))
        return scores(self.fit, torch.stack(found), y)

    def _examples(self, data: Any, what: str) -> tuple[Inputs, Tensor]:
        x, y = read_examples(data, what)
        return self._placed(x), self.task.targets(self._placed(y))

    def _placed(self, x: Inputs) -> Inputs:
        device, dtype = self.fit.posterior.mean.device, dtype_of(self.fit.layout.network)
        return each(lambda tensor: placed(tensor, device, dtype), x)

    def _train(self, train: Any) -> Examples | None:
        if train is not None:
            return Examples.of(*self._examples(train, "train"), len(self.fit.posterior.mean))
        if self.train is None and self.fit.layout.norms:
            raise ConfigError(
                "The network has batch norm, whose statistics pruning changes; give prune the data, train=."
            )
        return self.train

    def _everything(self) -> Tensor:
        return torch.ones_like(self.fit.posterior.mean, dtype=torch.bool)
