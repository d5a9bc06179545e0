"""What a run is: hashes of its settings and of the code that made it, and whether there is anything left to do."""

import ast
import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import torch
from torch import Tensor

from sbnn.data.download import Sources, data_directory
from sbnn.data.uci import DATASETS
from sbnn.runs.composition import BUDGETS, PACKAGE, default_settings
from sbnn.runs.keys import CHOICE, DESCRIPTIVE, FILES, MEASURING, TRAINING, Affects, affecting
from sbnn.runs.settings import RunSettings

# What makes no number: the commands, what is drawn from the rows, and the yaml (the settings are compared).
MAKES_NO_NUMBER = ("report", "commands", "conf")


def is_finished(output: Path, settings: RunSettings) -> bool:
    """Whether the folder holds the results that running these settings now would put there; never by force."""
    try:
        facts = json.loads((output / "run.json").read_text())
    except (OSError, ValueError):
        return False
    same = facts.get("code") == code_hash(settings.name) and facts.get("config") == settings_hash(settings)
    there = same and (output / "rows.csv").exists()
    return there and not settings.force and not _has_come(facts.get("left_out", []), settings)


def _has_come(datasets: Iterable[str], settings: RunSettings) -> bool:
    """Whether the data directory now holds the file of a dataset that a run went without."""
    sources = Sources(data_directory(getattr(settings.data, "dir", None)))
    return any(sources.held(DATASETS[name].file(name)) for name in datasets)


def settings_hash(settings: RunSettings) -> str:
    """Of every key that can change a result."""
    return digest(effective(settings))


def fingerprint(
    settings: RunSettings, name: str, seeds: Sequence[int], device: torch.device, given: Iterable[Tensor] = ()
) -> str:
    """What a checkpoint must agree on with the fit that continues from it; `given` is what the fit starts from."""
    place = {"device": device.type, "torch": torch.__version__}
    contents = [hashlib.sha256(tensor.detach().cpu().contiguous().numpy()).hexdigest() for tensor in given]
    return digest([effective(settings, (TRAINING,)), name, list(seeds), place, contents])


def effective(settings: RunSettings, kinds: Iterable[Affects] = (TRAINING, CHOICE, MEASURING)) -> dict[str, object]:
    """The settings that affect some kinds of things, with a hash of its content for every file that they name."""
    found = affecting(settings.plain(), kinds)
    for key in FILES:
        table, _, name = key.rpartition(".")
        own = found.get(table, {}) if table else found
        if isinstance(path := own.get(name), str) and Path(path).is_file():
            own[name] = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return found


def digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def budget_of(settings: RunSettings) -> str:
    """The budget that gives a run's settings today: its own, or another if sizes have moved; else it is `changed`.

    So no table calls a run of other sizes by a budget's name.
    """
    for budget in sorted(BUDGETS, key=lambda name: name != settings.budget):
        if _sizes(default_settings(settings.name, budget)) == _sizes(settings):
            return budget
    return f"{settings.budget}, changed"


def _sizes(settings: RunSettings) -> dict:
    """Its settings, whatever the budget is called, in which order values are varied and how many train at once."""
    found = effective(settings)
    return found | {
        "budget": None,
        "chunk": None,
        "data": {key: value for key, value in found["data"].items() if key not in DESCRIPTIVE},
        "vary": {key: sorted(values) for key, values in found["vary"].items()},
    }


@cache
def code_hash(experiment: str) -> str:
    """Of the files of the package that make an experiment's numbers: its module, what that imports, and all data."""
    data = (path for path in _files(PACKAGE) if path.suffix != ".py" and _room(path) not in MAKES_NO_NUMBER)
    return _hash_of(sorted({*_imported(PACKAGE / "experiments" / f"{experiment}.py"), *data}))


@cache
def report_hash() -> str:
    """Of what draws tables, figures and claims from rows."""
    return _hash_of(_files(PACKAGE / "report"))


def _files(folder: Path) -> Iterator[Path]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return (path for path in files if path.suffix not in (".md", ".typed"))


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def _imported(path: Path) -> set[Path]:
    """A module of the package, and all others that it needs, at once or later."""
    found, todo = set(), [path]
    while todo:
        path = todo.pop()
        if path not in found:
            found.add(path)
            todo += _imports(path)
    return found


def _imports(path: Path) -> Iterator[Path]:
    """The package's own modules that a module names."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{name}" for name in names)]
        for package, *parts in (name.split(".") for name in names):
            module = PACKAGE.joinpath(*parts).with_suffix(".py") if parts else PACKAGE / "__init__.py"
            if package == PACKAGE.name and module.is_file():
                yield module


def _hash_of(paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        name = path.relative_to(PACKAGE).as_posix()
        found.update(f"{name} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:16]


def code_commit() -> str:
    """The commit of sbnn and conf, marked when they have been changed since; `unknown` outside a checkout."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(PACKAGE.parent), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "sbnn/__init__.py")
        changed = git("status", "--porcelain", "--", "sbnn", "conf")
        return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
