"""Random configurations: each is refused in one sentence, or runs. `make fuzz` tries a thousand of them."""

import os
import tempfile
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sbnn.errors import SbnnError
from sbnn.experiments.registry import prepared
from sbnn.report.publish import check_finite
from sbnn.runs.composition import composed, default_settings
from sbnn.runs.context import Context
from sbnn.runs.keys import leaves

EXAMPLES = int(os.environ.get("SBNN_FUZZ", "100"))
# What runs in a fraction of a second; the others are only composed and checked.
FAST = {
    "simulated_relevance": ("vary.alpha=[0,1]", "data.observations=60", "trainer.batch=20"),
    "simulated_pruning": (
        "vary.active_share=[0.5]", "data.observations=60", "trainer.batch=20", "droprates=[0,0.5]",
        "vary.log_tau0=[-3]",
    ),
    "uci_pruning": ("data.datasets=[boston]", "data.splits=1", "trainer.steps=4", "predictive.samples=1", "rivals=[]"),
}  # fmt: skip
CHECKED = (
    "simulated_correlation",
    "simulated_selection",
    "mnist_pruning",
    "cifar_pruning",
    "lenet_pruning",
    "vgg_pruning",
)
LEFT_ALONE = ("results_dir", "threads", "device")  # places and machines, tested elsewhere
KEYS = {
    name: [key for key, _ in leaves(default_settings(name, "smoke").plain()) if key not in LEFT_ALONE]
    for name in (*FAST, *CHECKED)
}
TABLES = ["prior", "init", "trainer", "data", "vary", "network", "recipes", "recipes.paper", "selection", "pruning"]
NUMBERS = "-1 0 1 2 3 10 0.5 0.99 1.0 1.5 -3 1e-300 1e-9 1e9 1e30 1e300 -1e300 inf nan 99999999999999999999"
WORDS = "null true false abc '' 'a b' auto adam sgd ??? é a/b none validation paper"
NESTED = (
    "[] [1] [0.5] [0,0.5] [1,2] [2,1] [1,1] [null] [abc] [[1]] [boston] [NN] {} {a:1} {400:1} {a:{b:2}} "
    "${nothing} ${seed} ${trainer} ${oc.env:NOTHING}"
)
VALUES = [*NUMBERS.split(), *WORDS.split(" "), *NESTED.split()]


@st.composite
def configurations(draw):
    name = draw(st.sampled_from([*FAST, *FAST, *FAST, *CHECKED]))  # those that run, most often
    overrides = []
    for _ in range(draw(st.integers(1, 3))):
        key = draw(st.sampled_from([*KEYS[name], *TABLES, "foo", "trainer.foo", "prior.foo.bar", "name", "budget"]))
        change = draw(st.sampled_from(["{key}={value}"] * 8 + ["+{key}={value}", "++{key}={value}", "~{key}"]))
        overrides.append(change.format(key=key, value=draw(st.sampled_from(VALUES))))
    return name, overrides


def outcome(name, overrides):
    """The sentence that a configuration ends in, or None if it runs."""
    fixed = [f"experiment={name}", "budget=smoke", "progress=false", "trainer.epochs=1", *FAST.get(name, ())]
    threads = torch.get_num_threads()
    try:
        experiment, found = prepared(composed(*fixed, *overrides))
        if name in FAST and found.name == name:
            with tempfile.TemporaryDirectory() as folder:
                rows = experiment.run(found, Context.of(found, Path(folder) / "out"))
            check_finite(rows)
            assert len(rows)
    except SbnnError as error:
        return str(error)
    finally:
        torch.set_num_threads(threads)
    return None


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=EXAMPLES, deadline=None, derandomize=EXAMPLES == 100, suppress_health_check=list(HealthCheck))
@given(configurations())
@example(("simulated_relevance", ["+prior={400:1}"]))
def test_a_random_configuration_is_a_sentence_or_runs(configuration):
    sentence = outcome(*configuration)
    assert sentence is None or ("\n" not in sentence and sentence.endswith(".") and len(sentence) < 600), sentence
