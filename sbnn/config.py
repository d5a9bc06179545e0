"""From yaml to checked values. Every complaint about the configuration is raised here, before training."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from sbnn.data.simulated import FUNCTIONS
from sbnn.errors import ConfigError

PACKAGE = Path(__file__).parent
# In a wheel the configuration travels inside the package; in a checkout it is the top-level folder.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"

CHOICES = {
    "dtype": ("float32", "float64"),
    "trainer.optimizer": ("adam", "sgd"),
    "trainer.schedule": ("constant", "cosine", "one_cycle"),
    "trainer.penalty": ("uniform", "blundell"),
    "data.function": tuple(FUNCTIONS),
    "vary.function": tuple(FUNCTIONS),
    "vary.target": ("standardised", "raw"),
    "pruning.scope": ("global", "layer"),
    "selection.rule": ("minimum", "one_se"),
}
POSITIVE = (
    "chunk", "checkpoint_seconds", "init.mean_scale", "init.sigma", "network.hidden",
    "trainer.epochs", "trainer.batch", "trainer.lr", "trainer.samples", "trainer.temperature",
    "data.observations", "data.replicates", "data.features", "data.alpha", "vary.features",
)  # fmt: skip
INTERVALS = {
    "prior.pi": "(0, 1)",
    "trainer.momentum": "[0, 1)",
    "trainer.warmup": "[0, 1]",
    "trainer.anneal_share": "[0, 1]",
    "data.train_share": "(0, 1)",
    "data.active_share": "[0, 1]",
    "vary.active_share": "[0, 1]",
    "selection.keep_share": "(0, 1]",
    "selection.thresholds": "(0, 1]",
    "dropout.rates": "[0, 1)",
    "dropout.validation_share": "(0, 1)",
    "droprates": "[0, 1)",
}


def by_budget(table: DictConfig, *, _root_: DictConfig) -> object:
    """`${by_budget:{smoke:2,laptop:60,paper:300}}`: the three sizes of a number, side by side in the yaml."""
    value = table[_root_.budget]
    return OmegaConf.create(value) if isinstance(value, list) else value


OmegaConf.register_new_resolver("by_budget", by_budget, replace=True)


def experiments() -> list[str]:
    return sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


def check(cfg: DictConfig) -> None:
    """Resolve the configuration in place; raise one sentence naming the first key that cannot be used."""
    OmegaConf.resolve(cfg)
    if cfg.name is None:
        raise ConfigError(f"No experiment was chosen; add experiment=NAME with one of {', '.join(experiments())}.")
    for key, allowed in CHOICES.items():
        for value in values(cfg, key):
            if value not in allowed:
                raise ConfigError(f"{key}={value} is unknown; choose one of {', '.join(allowed)}.")
    check_positive(cfg, *POSITIVE)
    for key, interval in INTERVALS.items():
        check_interval(cfg, key, interval)
    prior, start = cfg.prior, cfg.trainer.anneal_from
    if prior.log_tau0 >= prior.log_tau1:
        raise ConfigError(
            f"prior.log_tau0={prior.log_tau0} (spike) must be below prior.log_tau1={prior.log_tau1} (slab)."
        )
    if start is not None and start >= prior.log_tau1:
        raise ConfigError(f"trainer.anneal_from={start} must be below prior.log_tau1={prior.log_tau1} (slab).")


def check_positive(cfg: DictConfig, *keys: str) -> None:
    for key in keys:
        for value in numbers(cfg, key):
            if not value > 0:
                raise ConfigError(f"{key}={value} must be greater than zero.")


def check_interval(cfg: DictConfig, key: str, interval: str) -> None:
    """Every value of a key lies between 0 and 1, ends included where the bracket is square."""
    for value in numbers(cfg, key):
        inside = 0 < value < 1 or (value == 0 and interval[0] == "[") or (value == 1 and interval[-1] == "]")
        if not inside:
            raise ConfigError(f"{key}={value} must lie in {interval}.")


def values(cfg: DictConfig, key: str) -> list:
    """The value of a key as a list."""
    value = OmegaConf.select(cfg, key)
    return list(value) if OmegaConf.is_list(value) else [value]


def numbers(cfg: DictConfig, key: str) -> list[float]:
    for value in values(cfg, key):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{key}={value} must be a number.")
    return values(cfg, key)
