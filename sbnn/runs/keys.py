"""What each key of the configuration affects. Whatever depends on that is derived from this one table.

| derived                                   | from                           |
|-------------------------------------------|--------------------------------|
| what names the folder of a sweep's job    | all keys that affect something |
| what is repeated in a recorded command    | all keys that affect something |
| whether results are finished              | all keys that affect something |
| what a checkpoint must agree on           | TRAINING                       |
| which measurements can be taken over      | TRAINING and MEASURING         |
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum

from sbnn.training.settings import Gradual


class Affects(Enum):
    TRAINING = "how a network is trained"
    CHOICE = "which networks are trained; each then has its own name, seeds and TRAINING keys"
    MEASURING = "what is measured of a trained network"
    NOTHING = "where, how fast and how visibly a run goes"


TRAINING, CHOICE, MEASURING, NOTHING = Affects

# A key stands for all keys below it that have no line of their own.
TABLE = {
    "name": CHOICE,
    "budget": CHOICE,
    "minutes": NOTHING,
    "seed": TRAINING,
    "device": NOTHING,  # a checkpoint also agrees on the kind of device that was found
    "dtype": TRAINING,
    "threads": NOTHING,
    "chunk": TRAINING,  # a checkpoint holds one chunk of replicas
    "progress": NOTHING,
    "tracking": NOTHING,
    "keep_network": NOTHING,
    "results_dir": NOTHING,
    "checkpoint_seconds": NOTHING,
    "resume": NOTHING,
    "keep_checkpoints": NOTHING,
    "force": NOTHING,
    "data": TRAINING,
    "data.dir": NOTHING,
    "data.datasets": CHOICE,
    "data.splits": CHOICE,
    "data.seeds": CHOICE,
    "data.hidden": CHOICE,
    "data.enlarge": CHOICE,
    "data.protocol": CHOICE,
    "data.test_images": MEASURING,
    "data.compare": MEASURING,
    "network": TRAINING,
    "prior": TRAINING,
    "init": TRAINING,
    "likelihood": TRAINING,
    "trainer": TRAINING,
    "vary": CHOICE,
    "selection": TRAINING,
    "dropout": TRAINING,
    "recipe": CHOICE,
    "recipes": CHOICE,
    "by_network": CHOICE,
    "rivals": CHOICE,
    "pretrained": TRAINING,
    "predictive": MEASURING,
    "droprates": MEASURING,
    "scores": MEASURING,
    "prune_gradually": CHOICE,
    "finetune": MEASURING,
    "pruning": MEASURING,
}
# Keys that mean something only in an experiment that names them, or a table above them, in its USES.
SPECIFIC = (
    "data.train_share", "data.features", "data.alpha", "data.function", "data.active_share", "network.hidden",
    "network.leave_out", "network.width", "prior.log_decay", "prior.cost", "prior.c", "likelihood", "vary", "selection",
    "dropout", "recipe", "recipes", "by_network", "rivals", "pretrained", "predictive", "droprates", "scores",
    "prune_gradually", "finetune", "pruning",
)  # fmt: skip
# Keys that name a file: what is in it counts, and where it lies does not.
FILES = ("pretrained", "data.file", "data.test_file")
# Keys that describe a table of the user's own, and say nothing about the size of a run.
DESCRIPTIVE = ("file", "test_file", "target", "header", "task", "categories", "leave_out", "compare")
# Keys that came after some of the committed results, with the values under which everything was as before.
CAME_LATER = {
    "trainer": {"prune_to": None, "gradual": Gradual().model_dump()},
    "prior": {"cost": 1.0},
    "vary": {"mean_scale": [], "log_tau0": []},
    "scores": ["inclusion", "snr", "magnitude"],
    "prune_gradually": [],
}
WITHOUT_EFFECT = [key for key, affects in TABLE.items() if affects is NOTHING]


def affects(key: str) -> Affects:
    """By the longest key of the table that it is, or lies below."""
    while key and key not in TABLE:
        key = key.rpartition(".")[0]
    return TABLE[key] if key else CHOICE  # a group of the configuration, experiment=..., sets other keys


def affecting(values: Mapping[str, object], kinds: Iterable[Affects], prefix: str = "") -> dict[str, object]:
    """The part of a nested table of settings that affects one of the kinds of things."""
    kinds, found = set(kinds), {}
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and any(line.startswith(f"{key}.") for line in TABLE):
            found[name] = affecting(value, kinds, f"{key}.")
        elif affects(key) in kinds:
            found[name] = value
    return found


def leaves(values: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every key that holds no further table of settings, and its value."""
    for name, value in values.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping) and key not in ("recipes", "by_network"):
            yield from leaves(value, f"{key}.")
        else:
            yield key, value


def is_below(key: str, tables: Iterable[str]) -> bool:
    """Whether a key is one of the tables or lies in one."""
    return any(key == table or key.startswith(f"{table}.") for table in tables)
