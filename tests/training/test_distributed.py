"""Several processes train one fit to the numbers of a single one."""

import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from sbnn.commands.run import execute
from sbnn.runs.composition import composed
from sbnn.training.distributed import World

ROOT = Path(__file__).parents[2]


SETTINGS = ("budget=smoke", "dtype=float64", "progress=false", "device=cpu", "threads=1")


def in_two_processes(folder: Path, *arguments: str) -> subprocess.CompletedProcess:
    launcher = ["-m", "torch.distributed.run", "--nproc-per-node", "2"]
    command = [sys.executable, *launcher, "-m", "sbnn", *SETTINGS, f"results_dir={folder}", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


CONVOLUTIONS = ("experiment=lenet_pruning", "vary.network=[lenet_5]", "recipe=set_2", "rivals=[]", "trainer.batch=41",
                "data.train_images=200", "data.test_images=50", "droprates=[0,0.9]", "finetune=[]")  # fmt: skip


@pytest.mark.parametrize(
    ("images", "arguments"), [(None, ("experiment=simulated_relevance", "trainer.batch=41")), ("mnist", CONVOLUTIONS)]
)
def test_two_processes_give_the_numbers_of_one(tmp_path, images, arguments, has_images):
    has_images(images)
    answer = in_two_processes(tmp_path / "2", *arguments)
    assert answer.returncode == 0, answer.stderr
    execute(composed(*SETTINGS, f"results_dir={tmp_path / '1'}", *arguments), tmp_path / "1" / name_of(arguments))
    single, double = (pd.read_csv(tmp_path / n / name_of(arguments) / "rows.csv") for n in ("1", "2"))
    pd.testing.assert_frame_equal(single, double, rtol=1e-5)
    one, two = ({path.name for path in (tmp_path / n).iterdir()} - {".checkpoints"} for n in ("1", "2"))
    assert one == two


def name_of(arguments: tuple[str, ...]) -> str:
    return arguments[0].removeprefix("experiment=")


def test_bad_input_gets_one_sentence_from_two_processes(tmp_path):
    answer = in_two_processes(tmp_path, "experiment=simulated_relevance", "prior.pi=2")
    assert answer.returncode != 0
    assert answer.stderr.count("sbnn: prior.pi=2 must be a number in (0, 1).") == 1


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("trainer.batch=1", "sbnn: trainer.batch=1 leaves some of 2 processes with less than 1 of its rows."),
        ("trainer.lr=1e30", "sbnn: Training diverged at step"),
    ],
)
def test_what_fails_in_training_gets_one_sentence_from_two_processes(tmp_path, override, sentence):
    answer = in_two_processes(tmp_path, "experiment=simulated_relevance", override)
    assert answer.returncode != 0
    assert answer.stderr.count(sentence) == 1


def test_parts_cover_a_batch_once():
    for size in (1, 2, 3, 7):
        rows = [row for rank in range(size) for row in range(41)[World(rank, size).part(41)]]
        assert rows == list(range(41))
