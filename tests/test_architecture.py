"""The house: imports point down, the library loads without the suite, and no fact stands in two places."""

import ast
import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sbnn.model.methods import METHODS
from sbnn.runs.composition import CONF, PACKAGE, default_settings, experiments
from sbnn.runs.keys import SPECIFIC, TABLE, Affects, affects, leaves

ROOT = PACKAGE.parent
MODULES = sorted(PACKAGE.rglob("*.py"))
# From the bottom up; rooms on one floor do not know each other.
FLOORS = [
    ["errors", "files", "streams"],
    ["checked"],
    ["data", "networks"],
    ["model"],
    ["compression"],
    ["training"],
    ["api"],
    ["estimators"],
    ["runs"],
    ["experiments", "report"],
    ["commands"],
]
LIBRARY = [room for floor in FLOORS[: FLOORS.index(["runs"])] for room in floor]
NOT_IN_THE_LIBRARY = {"hydra", "omegaconf", "pandas", "matplotlib"}


def room(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imported(path: Path, at_once: bool = False) -> list[str]:
    """Every module that a file imports, wherever in it or as soon as it is loaded."""
    tree = ast.parse(path.read_text())
    nodes = tree.body if at_once else list(ast.walk(tree))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    return names + [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_point_down(path):
    floor = {name: level for level, names in enumerate(FLOORS) for name in names}
    own = room(name_of(path))
    if own in ("__init__", "__main__"):  # the front door, and that of the command line
        return
    for module in imported(path):
        if module.split(".")[0] == "sbnn" and room(module) != own:
            assert floor[room(module)] < floor[own], f"{name_of(path)} imports {module}"
    if own in LIBRARY:
        assert {module.split(".")[0] for module in imported(path, at_once=True)}.isdisjoint(NOT_IN_THE_LIBRARY)


def test_the_library_loads_none_of_what_the_suite_needs():
    modules = [name_of(path) for path in MODULES if room(name_of(path)) in LIBRARY]
    every = f"import sys, {', '.join(['sbnn', *modules])}".replace(".__init__", "")
    code = f"{every}; print(sorted({NOT_IN_THE_LIBRARY} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("path", [p for p in MODULES if p.name == "__init__.py"], ids=name_of)
def test_packages_hold_no_logic(path):
    allowed = (ast.Expr, ast.ImportFrom, ast.Assign)
    assert all(isinstance(node, allowed) for node in ast.parse(path.read_text()).body)


@pytest.mark.parametrize("path", [*MODULES, *sorted((ROOT / "scripts").glob("*.py"))], ids=name_of)
def test_modules_functions_and_signatures_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 250
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            given = [one.arg for one in (*node.args.posonlyargs, *node.args.args)]  # those with a name are told apart
            assert len([name for name in given if name not in ("self", "cls")]) <= 7, node.name
            assert node.end_lineno - node.lineno < 60, node.name


def constants(path: Path) -> list[str]:
    """The text of a file outside its docstrings and comments."""
    nodes = list(ast.walk(ast.parse(path.read_text())))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    docstrings = {id(node.body[0].value) for node in nodes if isinstance(node, documented) and ast.get_docstring(node)}
    text = [node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    return [node.value for node in text if id(node) not in docstrings]


@pytest.mark.parametrize("path", [p for p in MODULES if name_of(p) != "sbnn.model.methods"], ids=name_of)
def test_no_method_is_spelled_outside_the_table(path):
    word = re.compile(rf"(?<![\w-])({'|'.join(METHODS)})(?![\w])")
    assert [text for text in constants(path) if word.search(text)] == []


@pytest.mark.parametrize("name", experiments())
def test_every_key_says_what_it_affects(name):
    keys = [key for key, _ in leaves(default_settings(name, "smoke").plain())]
    for key in keys:
        assert affects(key) in Affects
        assert any(key == line or key.startswith(f"{line}.") for line in TABLE), key
    known = {key.rpartition(".")[0] for key in keys} | set(keys)
    assert {line for line in (*TABLE, *SPECIFIC) if not line.startswith("data.")} <= known


@pytest.mark.parametrize("path", sorted([*CONF.rglob("*.yaml"), *PACKAGE.rglob("*.yaml")]), ids=lambda path: path.stem)
def test_yaml_fits_a_screen_and_keeps_no_trial_numbers(path):
    for line in path.read_text().splitlines():
        assert len(line) <= 120, line
        assert not re.search(r"#.*\[\d+\.\d+,", line), line


def test_trials_are_of_experiments_and_keys_that_exist():
    with open(ROOT / "results" / "trials.csv", newline="") as lines:
        trials = list(csv.DictReader(lines))
    assert len(trials) > 50
    for trial in trials:
        settings = default_settings(trial["experiment"], "laptop").plain()
        assert {key.partition(".")[0] for key in trial["key"].split(", ")} <= set(settings)
        assert trial["measured on"]
        assert trial["errors"]
