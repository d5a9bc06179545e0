"""From yaml to checked values: every complaint about the configuration is raised here, before training."""

import math
from contextlib import nullcontext
from pathlib import Path

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import DictConfig, OmegaConf

from sbnn.data.simulated import FUNCTIONS
from sbnn.data.uci import DATASETS
from sbnn.errors import ConfigError

PACKAGE = Path(__file__).parents[1]
# In a wheel the configuration travels inside the package; in a checkout it is the top-level folder.
CONF = PACKAGE / "conf" if (PACKAGE / "conf").is_dir() else PACKAGE.parent / "conf"

# What each key may hold. A key whose default is a list takes a list of such values.
CHOICES = {
    "dtype": ("float32", "float64"),
    "trainer.optimizer": ("adam", "sgd"),
    "trainer.schedule": ("constant", "cosine", "one_cycle"),
    "trainer.penalty": ("uniform", "blundell"),
    "trainer.compile": ("auto", "always", "never"),
    "trainer.autocast": ("auto", "always", "never"),
    "data.function": tuple(FUNCTIONS),
    "data.datasets": tuple(DATASETS),
    "data.evaluate_on": ("test", "validation"),
    "data.protocol": ("validation", "paper"),
    "vary.network": ("lenet_300_100", "lenet_5"),
    "vary.augmentation": ("none", "crop", "crop_and_flip"),
    "vary.function": tuple(FUNCTIONS),
    "vary.target": ("standardised", "raw"),
    "pruning.scope": ("global", "layer"),
    "selection.rule": ("minimum", "one_se"),
    "recipe": ("all", "tuned", "paper", "set_1", "set_2"),
    "rivals": ("NN", "NN_Dr", "BbB"),
}
FLAGS = ("progress", "resume", "force", "keep_checkpoints", "likelihood.learned", "trainer.proximal", "pruning.biases")
WHOLE_NUMBERS = {
    "seed": "[0, inf)",
    "threads": "[1, inf)",
    "chunk": "[1, inf)",
    "network.hidden": "[1, inf)",
    "trainer.epochs": "[1, inf)",
    "trainer.steps": "[1, inf)",
    "trainer.batch": "[1, inf)",
    "trainer.samples": "[1, inf)",
    "data.observations": "[2, inf)",
    "data.replicates": "[1, inf)",
    "data.features": "[1, inf)",
    "data.splits": "[1, inf)",
    "data.train_images": "[1, inf)",
    "data.test_images": "[1, inf)",
    "vary.width": "[1, inf)",
    "predictive.samples": "[1, inf)",
    "predictive.statistics": "[2, inf)",
    "vary.features": "[1, inf)",
    "selection.folds": "[2, inf)",
}
NUMBERS = {
    "checkpoint_seconds": "(0, inf)",
    "minutes": "(0, inf)",
    "prior.pi": "(0, 1)",
    "prior.log_tau1": "(-50, 50)",
    "prior.log_tau0": "(-50, 50)",
    "prior.log_decay": "(-50, 50)",
    "init.mean_scale": "(0, inf)",
    "init.sigma": "(0, inf)",
    "likelihood.log_variance": "(-50, 50)",
    "trainer.lr": "(0, inf)",
    "trainer.momentum": "[0, 1)",
    "trainer.temperature": "(0, inf)",
    "trainer.warmup": "[0, 1]",
    "trainer.anneal_from": "(-50, 50)",
    "trainer.anneal_share": "[0, 1]",
    "data.train_share": "(0, 1)",
    "data.validation_share": "(0, 1)",
    "data.shift": "[0, 255]",
    "data.scale": "(0, inf)",
    "data.alpha": "(0, inf)",
    "data.active_share": "[0, 1]",
    "vary.alpha": "[0, inf)",
    "vary.active_share": "[0, 1]",
    "selection.keep_share": "(0, 1]",
    "selection.thresholds": "(0, 1]",
    "dropout.rates": "[0, 1)",
    "dropout.validation_share": "(0, 1)",
    "droprates": "[0, 1)",
    "finetune": "[0, 1)",
    "network.width": "(0, 4]",
}
LISTS = (
    "network.hidden", "vary.alpha", "vary.features", "vary.active_share", "vary.function", "vary.target",
    "vary.width", "vary.augmentation", "selection.thresholds", "dropout.rates", "droprates", "data.datasets",
    "data.shift", "data.scale", "rivals", "network.leave_out", "vary.network", "finetune",
)  # fmt: skip
RISING = ("selection.thresholds", "droprates", "vary.width", "finetune")
OPTIONAL = ("threads", "minutes", "init.sigma", "trainer.steps", "trainer.anneal_from", "prior.log_decay",
            "data.splits", "data.train_images", "data.test_images")  # fmt: skip
MAY_BE_EMPTY = ("rivals", "network.leave_out", "finetune")
TABLES = ("data", "network", "prior", "init", "likelihood", "trainer", "vary", "selection", "dropout", "recipes",
          "by_network", "predictive", "pruning")  # fmt: skip
RUNS_ON = {
    "simulated": "simulated", "uci": "uci", "mnist": "mnist", "cifar": "cifar10", "lenet": "mnist", "vgg": "cifar10",
}  # fmt: skip
ONLY_IN = {
    "pretrained": ("lenet", "vgg"),
    "by_network": ("lenet",),
    "finetune": ("mnist", "cifar", "lenet", "vgg"),
}
ABSENT = object()


def by_budget(table: DictConfig, *, _root_: DictConfig) -> object:
    """`${by_budget:{smoke:2,laptop:60,paper:300}}`: the sizes of a number, side by side in the yaml.

    `overnight` is named only where it differs from `laptop`.
    """
    value = table[_root_.budget if _root_.budget in table else "laptop"]
    return OmegaConf.create(value) if isinstance(value, list) else value


def results_folder(name: str | None, evaluated_on: str) -> str:
    """A run on validation data must not take the place of one on test data; without an experiment, that of them all."""
    if name is None:
        return "."
    return name if evaluated_on == "test" else f"{name}_{evaluated_on}"


OmegaConf.register_new_resolver("by_budget", by_budget, replace=True)
OmegaConf.register_new_resolver("results_folder", results_folder, replace=True)


def experiments() -> list[str]:
    return sorted(path.stem for path in (CONF / "experiment").glob("*.yaml"))


def composed(*overrides: str) -> DictConfig:
    """A configuration as `sbnn-run` has it: within one of its runs, where Hydra knows the folder already, or not."""
    known = GlobalHydra.instance().is_initialized()
    with nullcontext() if known else initialize_config_dir(str(CONF), version_base="1.3"):
        return compose("config", list(overrides))


def check(cfg: DictConfig) -> None:
    """Resolve the configuration in place; raise one sentence naming the first key that cannot be used."""
    OmegaConf.resolve(cfg)
    if cfg.name is None:
        raise ConfigError(f"No experiment was chosen; add experiment=NAME with one of {', '.join(experiments())}.")
    if not isinstance(cfg.results_dir, str):
        raise ConfigError(f"results_dir={cfg.results_dir} must be the path of a folder.")
    for key in TABLES:
        table(cfg, key)
    if data_kind(cfg.data) != RUNS_ON.get(cfg.name.split("_")[0], data_kind(cfg.data)):
        raise ConfigError(f"experiment={cfg.name} does not run on the data chosen; leave data= out.")
    for key, allowed in CHOICES.items():
        for value in values(cfg, key):
            if value not in allowed:
                raise ConfigError(f"{key}={value} is unknown; choose one of {', '.join(allowed)}.")
    for key in FLAGS:
        for value in values(cfg, key):
            if not isinstance(value, bool):
                raise ConfigError(f"{key}={value} must be true or false.")
    for pattern in values(cfg, "network.leave_out"):
        if not isinstance(pattern, str):
            raise ConfigError(f"network.leave_out={pattern} must be a pattern of parameter names.")
    for key, interval in WHOLE_NUMBERS.items():
        check_numbers(cfg, key, interval, int)
    for key, interval in NUMBERS.items():
        check_numbers(cfg, key, interval)
    for key in RISING:
        if any(b <= a for a, b in zip(values(cfg, key), values(cfg, key)[1:], strict=False)):
            raise ConfigError(f"{key}={list(values(cfg, key))} must rise from value to value.")
    if cfg.droprates[0] != 0:
        raise ConfigError(
            f"droprates={list(cfg.droprates)} must begin with 0, the full network that others compare to."
        )
    for key, kinds in ONLY_IN.items():
        if cfg[key] and cfg.name.split("_")[0] not in kinds:
            raise ConfigError(f"{key}={cfg[key]} means nothing in experiment={cfg.name}; leave it out.")
    if missing := [droprate for droprate in cfg.finetune if droprate not in cfg.droprates]:
        raise ConfigError(f"finetune={list(cfg.finetune)} names {missing[0]}, which is not one of the droprates.")
    if not isinstance(cfg.pretrained, str | None):
        raise ConfigError(f"pretrained={cfg.pretrained} must be the path of a state dict.")
    slab, spike, start = cfg.prior.log_tau1, cfg.prior.log_tau0, cfg.trainer.anneal_from
    if spike >= slab:
        raise ConfigError(f"prior.log_tau0={spike} (spike) must be below prior.log_tau1={slab} (slab).")
    if start is not None and not spike <= start < slab:
        raise ConfigError(
            f"trainer.anneal_from={start} must lie between prior.log_tau0={spike} and prior.log_tau1={slab}."
        )


def data_kind(data: DictConfig) -> str:
    """What a data group holds, told by a key that only it has."""
    if "observations" in data:
        return "simulated"
    return "uci" if "datasets" in data else str(data.get("collection"))


def check_numbers(cfg: DictConfig, key: str, interval: str, kind: type = float) -> None:
    """Every value of a key is a number (a whole one, if kind is int) in an interval such as `[0, 1)`."""
    low, high = (float(end) for end in interval[1:-1].split(","))
    accepted, article = ((int,), "a whole number") if kind is int else ((int, float), "a number")
    for value in values(cfg, key):
        fits = isinstance(value, accepted) and not isinstance(value, bool) and math.isfinite(value)
        if fits:
            above = value >= low if interval[0] == "[" else value > low
            fits = above and (value <= high if interval[-1] == "]" else value < high)
        if not fits:
            raise ConfigError(f"{key}={value} must be {article} in {interval}.")


def table(cfg: DictConfig, key: str) -> DictConfig:
    """A key that holds further keys."""
    found = OmegaConf.select(cfg, key)
    if not OmegaConf.is_dict(found):
        raise ConfigError(f"{key}={found} must be a table of settings by name.")
    return found


def values(cfg: DictConfig, key: str) -> list:
    """The value of a key as a list, whether it holds one or many; empty where it may be and is left out.

    A key that is not there at all belongs to another kind of data.
    """
    value = OmegaConf.select(cfg, key, default=ABSENT)
    if value is ABSENT:
        return []
    if key in LISTS:
        if not OmegaConf.is_list(value) or (len(value) == 0 and key not in MAY_BE_EMPTY):
            raise ConfigError(f"{key}={value} must be a list{'' if key in MAY_BE_EMPTY else ' of at least one value'}.")
        return list(value)
    return [] if value is None and key in OPTIONAL else [value]
