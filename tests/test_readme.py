"""The README says what is true: what it shows is the committed results', its example runs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml

import sbnn

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import update_readme  # noqa: E402

README = (ROOT / "README.md").read_text()


def test_what_it_says_of_the_results_is_what_they_say():
    if subprocess.run(["git", "-C", ROOT, "diff", "--quiet", "HEAD", "--", "results"], check=False).returncode == 1:
        pytest.skip("results/ holds a run of your own; `make readme` puts its numbers into README")
    parts = update_readme.parts()
    assert set(parts) == set(re.findall(r"<!-- (\w+): by", README))
    for name, part in parts.items():
        assert f"-->\n{part}\n<!-- end -->" in README, f"{name}: run make readme"
    assert len(re.findall(r"^\| \d: ", parts["table"], flags=re.MULTILINE)) == 9
    assert all(len(line) <= 104 for line in parts["run"].splitlines())  # 100 and four of margin


def test_it_is_short_and_its_links_lead_somewhere():
    assert len(README.encode()) <= 6000
    for document in (README, (ROOT / "conf" / "README.md").read_text()):
        for link in re.findall(r"\]\(([^)]+)\)", document):
            assert link.startswith("https://") or (ROOT / link).exists(), link


def test_the_citation_is_of_this_version():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == sbnn.__version__
    assert citation["references"][0]["url"] in README


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
