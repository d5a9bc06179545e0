"""The README says what is true: its table is the committed results', its example runs."""

import re
import subprocess
from pathlib import Path

import pytest
import torch

from sbnn.report import claims, compression, images, uci

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_tables_are_those_of_the_committed_results():
    if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", "results"], check=False).returncode == 1:
        pytest.skip("results/ holds a run of your own; `make readme` puts its numbers into README")
    assert claims.markdown(ROOT / "results" / "claims.csv") in README
    assert uci.markdown(ROOT / "results" / "uci_pruning" / "comparison.csv") in README
    for name in ("mnist_pruning", "cifar_pruning"):
        assert images.markdown(ROOT / "results" / name / "pruning.csv") in README
    for name in ("lenet_pruning", "vgg_pruning"):
        assert compression.markdown(ROOT / "results" / name / "comparison.csv") in README


def test_example_runs_and_prunes():
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    scope: dict = {}
    torch.manual_seed(0)
    exec(code, scope)
    assert scope["inclusion"]["0.weight"].shape == (30, 8)
    weights = torch.cat([p.flatten() for p in scope["pruned"].parameters()])
    assert (weights == 0).sum() == 241  # of 301
    error = (scope["pruned"](scope["x"]) - scope["y"]).square().mean() / scope["y"].var()
    assert error < 0.1
