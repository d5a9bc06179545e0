"""`sbnn-run -m hydra/sweeper=binary_search`: one setting by binary search, as the paper chooses c in Experiment 6."""

import itertools
import math
import sys
from dataclasses import dataclass, field

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.core.plugins import Plugins
from hydra.plugins.sweeper import Sweeper
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, OmegaConf

from sbnn.commands.display import complain
from sbnn.errors import ConfigError, SbnnError


@dataclass(eq=False)
class Bracket:
    """One point of the grid, and what is left of the interval in the search there."""

    point: dict[str, str]  # overrides by key
    low: float
    high: float
    headlines: dict[float, float] = field(default_factory=dict)  # by value, infinite where the run failed

    def middle(self) -> float:
        return rounded((self.low + self.high) / 2)

    def halve(self) -> None:
        """Keep the half whose end is the better one; a tie goes to the lower."""
        if self.headlines[self.low] <= self.headlines[self.high]:
            self.high = self.middle()
        else:
            self.low = self.middle()


class BinarySearch(Sweeper):
    """Seeks the lowest headline number in `key=interval(a,b)`, at every point of the grid of the other sweeps.

    Both ends are run, then the middle in each of `rounds` rounds, each keeping the half at the better end. That finds
    the lowest point to within (b - a) / 2^rounds if there is one valley, about as steep on either side, and takes
    2 + rounds runs per point of the grid. A round is launched for the whole grid at once: a parallel launcher can run
    it side by side. Settings are chosen on validation data where there is any, unless the command says otherwise.
    """

    def __init__(self, rounds: int):
        self.rounds = rounds
        self.launched = 0

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        self.hydra_context = hydra_context
        self.config = config
        self.launcher = Plugins.instance().instantiate_launcher(
            hydra_context=hydra_context, task_function=task_function, config=config
        )

    def sweep(self, arguments: list[str]) -> None:
        try:
            self.search(arguments)
        except SbnnError as error:
            complain(error)
            sys.exit(error.exit_code)  # raised further, Hydra would print its traceback

    def search(self, arguments: list[str]) -> None:
        if not isinstance(self.rounds, int) or isinstance(self.rounds, bool) or self.rounds < 0:
            raise ConfigError(f"hydra.sweeper.rounds={self.rounds} must be a whole number in [0, inf).")
        overrides = OverridesParser.create(self.hydra_context.config_loader).parse_overrides(arguments)
        key, low, high = the_interval(overrides)
        choices = {k: v for k, v in choices_by_key(overrides).items() if k != key}
        grid = [dict(zip(choices, point, strict=True)) for point in itertools.product(*choices.values())]
        if "test" in {self.measured_on(point, f"{key}={low:.6g}") for point in grid}:
            print("Settings are ranked on test data, as the paper's were (data.protocol=paper).")
        brackets = [Bracket(point, low, high) for point in grid]

        self.launch(key, [(bracket, end) for bracket in brackets for end in (low, high)])
        for _ in range(self.rounds):
            self.launch(key, [(bracket, bracket.middle()) for bracket in brackets])
            for bracket in brackets:
                bracket.halve()

    def measured_on(self, point: dict[str, str], end: str) -> str | None:
        """Add to a point of the grid the data that ranks it, and return it; None if that is not ours to choose.

        Composing the point also finds a wrong key before anything runs.
        """
        cfg = self.hydra_context.config_loader.load_sweep_config(self.config, [*point.values(), end])
        given = "data.evaluate_on" in {key.lstrip("+") for key in point}
        if given or OmegaConf.select(cfg, "data.evaluate_on") is None:
            return None
        data = "test" if OmegaConf.select(cfg, "data.protocol") == "paper" else "validation"
        point["data.evaluate_on"] = f"data.evaluate_on={data}"
        return data

    def launch(self, key: str, wanted: list[tuple[Bracket, float]]) -> None:
        """Run what has not been run yet, all at once."""
        jobs = [(bracket, value) for bracket, value in dict.fromkeys(wanted) if value not in bracket.headlines]
        if not jobs:
            return
        overrides = [[*bracket.point.values(), f"{key}={value:.6g}"] for bracket, value in jobs]
        results = self.launcher.launch(overrides, initial_job_idx=self.launched)
        self.launched += len(jobs)
        for (bracket, value), result in zip(jobs, results, strict=True):
            bracket.headlines[value] = float(result.return_value)


def register() -> None:
    """Hydra takes a sweeper by name, from a package hydra_plugins; the entry alone does, there need be no package."""
    Plugins.instance().class_name_to_class["hydra_plugins.sbnn.BinarySearch"] = BinarySearch


def rounded(value: float) -> float:
    """As it is typed in an override: six digits."""
    return float(f"{value:.6g}")


def the_interval(overrides: list[Override]) -> tuple[str, float, float]:
    """Key and ends of the one override that is searched."""
    found = [override for override in overrides if override.is_interval_sweep()]
    if not found:
        raise ConfigError("No override is an interval to search; add one such as 'prior.log_tau0=interval(-6,-3)'.")
    if len(found) > 1:
        intervals = " and ".join(override.input_line for override in found)
        raise ConfigError(f"{intervals} are more than one interval; search one and give the others values.")
    (override,) = found
    low, high = override.value().start, override.value().end
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ConfigError(f"{override.input_line} must be an interval of two numbers, the lower first.")
    return override.get_key_element(), rounded(low), rounded(high)


def choices_by_key(overrides: list[Override]) -> dict[str, list[str]]:
    """Every other override as the overrides it stands for: several if it sweeps."""
    choices = {}
    for override in overrides:
        key = override.get_key_element()
        if override.is_discrete_sweep():
            choices[key] = list(dict.fromkeys(f"{key}={value}" for value in override.sweep_string_iterator()))
        elif not override.is_interval_sweep():
            choices[key] = [override.input_line]
    return choices
