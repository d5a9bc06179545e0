"""Is there anything left to do? A folder is finished if this configuration filled it by this code.

And whose configuration is it: does one of the budgets, as they are today, give it?
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from sbnn.data.download import Sources, data_directory
from sbnn.data.uci import DATASETS
from sbnn.runs.settings import CONF, PACKAGE, composed

BUDGETS = sorted(path.stem for path in (CONF / "budget").glob("*.yaml"))
# What decides where, how fast and how visibly a run goes, but not its results.
CHANGES_NO_RESULT = (
    "results_dir", "minutes", "progress", "resume", "force", "keep_checkpoints", "checkpoint_seconds", "threads",
    "device",
)  # fmt: skip
# What trains nothing: the commands, what is made of the rows afterwards, and the yaml (the configuration is compared).
CHANGES_NO_ROW = ("report", "commands", "conf")


def finished(output: Path, cfg: DictConfig) -> bool:
    """Whether the folder holds the results that running this configuration now would put there; never by force."""
    try:
        facts = json.loads((output / "run.json").read_text())
    except (OSError, ValueError):
        return False
    same = facts.get("code") == code_hash() and facts.get("config") == config_hash(cfg)
    there = same and (output / "rows.csv").exists()
    return there and not cfg.force and not _has_come(facts.get("left_out", []), cfg)


def config_hash(cfg: DictConfig, but: Iterable[str] = ()) -> str:
    return hashlib.sha256(json.dumps(settings(cfg, but), sort_keys=True).encode()).hexdigest()[:16]


def settings(cfg: DictConfig, but: Iterable[str] = ()) -> dict:
    """Every value that can change a result, and the weights in the file that `pretrained` names."""
    ours = OmegaConf.masked_copy(cfg, [key for key in cfg if key != "hydra"])
    plain = OmegaConf.to_container(ours, resolve=True)
    kept = {key: value for key, value in plain.items() if key not in (*CHANGES_NO_RESULT, *but)}
    kept["data"].pop("dir", None)
    weights = kept.get("pretrained")
    if isinstance(weights, str) and Path(weights).is_file():
        kept["pretrained"] = hashlib.sha256(Path(weights).read_bytes()).hexdigest()
    return kept


def budget_of(cfg: DictConfig) -> str:
    """The budget that gives a run's configuration today: its own, or another if sizes have moved; else it is `changed`.

    So no table calls a run of other sizes by a budget's name.
    """
    for budget in sorted(BUDGETS, key=lambda name: name != cfg.budget):
        if _sizes(composed(f"experiment={cfg.name}", f"budget={budget}")) == _sizes(cfg):
            return budget
    return f"{cfg.budget}, changed"


def _sizes(cfg: DictConfig) -> dict:
    """Its settings, whatever the budget is called and in which order values are varied."""
    found = settings(cfg, but=["budget"])
    return found | {"vary": {key: sorted(map(str, values)) for key, values in found["vary"].items()}}


def _has_come(datasets: Iterable[str], cfg: DictConfig) -> bool:
    """Whether the data directory now holds the file of one that a run went without."""
    sources = Sources(data_directory(cfg.data.get("dir")))
    return any(sources.held(DATASETS[name].file(name)) for name in datasets)


@cache
def code_hash() -> str:
    """The package's own files, whether in a git checkout, with changes in it, or installed from a wheel."""
    return _hash_of(path for path in _files(PACKAGE) if _top(path) not in CHANGES_NO_ROW)


@cache
def report_hash() -> str:
    """What draws tables, figures and claims from rows."""
    return _hash_of(_files(PACKAGE / "report"))


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)


def _top(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def _hash_of(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        name = path.relative_to(PACKAGE).as_posix()
        found.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:16]
