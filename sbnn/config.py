"""From yaml to checked values. Every complaint about the configuration is raised here, before training."""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from sbnn.errors import ConfigError

PACKAGE = Path(__file__).parent
# In a wheel the configuration travels inside the package; in a checkout it is the top-level folder.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"

CHOICES = {
    "dtype": ("float32", "float64"),
    "trainer.optimizer": ("adam", "sgd"),
    "trainer.schedule": ("constant", "cosine", "one_cycle"),
    "trainer.penalty": ("uniform", "blundell"),
}
POSITIVE = (
    "chunk", "checkpoint_seconds", "init.mean_scale", "init.sigma", "trainer.epochs", "trainer.batch", "trainer.lr",
    "trainer.samples", "trainer.temperature", "data.observations", "data.replicates", "data.features", "data.alpha",
)  # fmt: skip
SHARES = ("trainer.warmup", "trainer.anneal_share", "data.active_share")


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
        value = OmegaConf.select(cfg, key)
        if value not in allowed:
            raise ConfigError(f"{key}={value} is unknown; choose one of {', '.join(allowed)}.")
    check_positive(cfg, *POSITIVE)
    for key in SHARES:
        for value in _values(cfg, key):
            if not 0 <= value <= 1:
                raise ConfigError(f"{key}={value} is a share and must lie in [0, 1].")
    check_prior(cfg)
    if not 0 < cfg.data.train_share <= 1:
        raise ConfigError(f"data.train_share={cfg.data.train_share} must lie in (0, 1].")
    for value in _values(cfg, "droprates"):
        if not 0 <= value < 1:
            raise ConfigError(f"droprates={value} must lie in [0, 1).")


def check_positive(cfg: DictConfig, *keys: str) -> None:
    for key in keys:
        for value in _values(cfg, key):
            if not value > 0:
                raise ConfigError(f"{key}={value} must be greater than zero.")


def check_prior(cfg: DictConfig) -> None:
    prior, start = cfg.prior, cfg.trainer.anneal_from
    if not 0 < prior.pi < 1:
        raise ConfigError(f"prior.pi={prior.pi} must lie strictly between 0 and 1.")
    if prior.log_tau0 >= prior.log_tau1:
        raise ConfigError(
            f"prior.log_tau0={prior.log_tau0} (spike) must be below prior.log_tau1={prior.log_tau1} (slab)."
        )
    if start is not None and start >= prior.log_tau1:
        raise ConfigError(f"trainer.anneal_from={start} must be below prior.log_tau1={prior.log_tau1} (slab).")


def check_batch(cfg: DictConfig, rows: int) -> None:
    if cfg.trainer.batch > rows:
        raise ConfigError(f"trainer.batch={cfg.trainer.batch} is larger than the {rows} training rows of a replica.")


def _values(cfg: DictConfig, key: str) -> list:
    """The value of a key as a list, empty where the experiment has no such key."""
    value = OmegaConf.select(cfg, key)
    if value is None:
        return []
    values = list(value) if OmegaConf.is_list(value) else [value]
    for item in values:
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise ConfigError(f"{key}={item} must be a number.")
    return values
