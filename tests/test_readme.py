"""The README says what is true: its table is the committed results', its example runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import update_readme  # noqa: E402

README = (ROOT / "README.md").read_text()


def test_the_headline_is_that_of_the_committed_results():
    if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", "results"], check=False).returncode == 1:
        pytest.skip("results/ holds a run of your own; `make readme` puts its numbers into README")
    assert f"-->\n{update_readme.headline()}\n<!--" in README


def test_example_runs_and_prunes(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    scope: dict = {}
    torch.manual_seed(0)
    monkeypatch.chdir(tmp_path)
    exec(code, scope)
    assert scope["result"].inclusion["0.weight"].shape == (30, 8)
    weights = torch.cat([p.flatten() for p in scope["small"].parameters() if p.dim() > 1])
    assert (weights == 0).sum() == 216  # of 270
    error = (scope["small"](scope["x"]).squeeze(1) - scope["y"]).square().mean() / scope["y"].var()
    assert error < 0.1
    assert {path.name for path in tmp_path.iterdir()} == {"net.safetensors", "small.safetensors"}
