"""The README says what is true: its table is the committed results', its example runs."""

import re
from pathlib import Path

import torch

from sbnn.report.claims import markdown

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_table_is_the_committed_claims():
    assert markdown(ROOT / "results" / "claims.csv") in README


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
