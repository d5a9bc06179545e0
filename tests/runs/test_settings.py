"""Bad input: one sentence that names the key and the value, before anything trains."""

import pytest
import yaml
from omegaconf import OmegaConf
from pydantic import ValidationError

from sbnn.commands.run import execute
from sbnn.errors import ConfigError
from sbnn.experiments.registry import prepared
from sbnn.runs.composition import CONF, experiments, read_settings

BAD = {
    "prior.log_tau0=0.5": r"prior\.log_tau0=0\.5 .*below prior\.log_tau1=0 ",
    "prior.log_tau0=0.0": r"prior\.log_tau0=0 .*below prior\.log_tau1=0 ",
    "prior.log_tau1=wide": r"prior\.log_tau1=wide must be a number",
    "prior.pi=0": r"prior\.pi=0 must be a number in \(0, 1\)",
    "prior.pi=1.2": r"prior\.pi=1\.2 must be a number in \(0, 1\)",
    "droprates=[0,0.5,1.0]": r"droprates=1\.0 must be a number in \[0, 1\)",
    "droprates=[-0.1]": r"droprates=-0\.1 must be a number in \[0, 1\)",
    "droprates=[]": r"droprates=\[\] must be a list of at least one value",
    "droprates=[0.5]": r"droprates=\[0\.5\] must begin with 0",
    "droprates=[0,0.5,0.5]": r"droprates=.* must rise",
    "data.active_share=1.5": r"data\.active_share=1\.5 must be a number in \[0, 1\]",
    "vary.active_share=[0.2,-1]": r"vary\.active_share=-1 must be a number in \[0, 1\]",
    "trainer.batch=5000": r"trainer\.batch=5000 is larger than the 160 training rows",
    "trainer.batch=10.5": r"trainer\.batch=10\.5 must be a whole number",
    "trainer.optimizer=lbfgs": r"trainer\.optimizer=lbfgs is unknown; choose one of adam, sgd",
    "trainer.schedule=step": r"trainer\.schedule=step is unknown",
    "trainer.penalty=none": r"trainer\.penalty=none is unknown",
    "trainer.epochs=0": r"trainer\.epochs=0 must be a whole number in \[1, 1e12\]",
    "trainer.epochs=1.5": r"trainer\.epochs=1\.5 must be a whole number",
    "trainer.samples=0": r"trainer\.samples=0 must be a whole number",
    "trainer.lr=fast": r"trainer\.lr=fast must be a number",
    "trainer.lr=inf": r"trainer\.lr=inf must be a number",
    "trainer.lr=[0.1,0.2]": r"trainer\.lr=\[0\.1, 0\.2\] must be a number",
    "trainer.anneal_from=1": r"trainer\.anneal_from=1 must lie between",
    "trainer.anneal_from=-9": r"trainer\.anneal_from=-9 must lie between",
    "init.sigma=0": r"init\.sigma=0 must be a number in \[1e-8, 100\]",
    "likelihood.log_variance=abc": r"likelihood\.log_variance=abc must be a number",
    "likelihood.learned=perhaps": r"likelihood\.learned=perhaps must be true or false",
    "pruning.biases=some": r"pruning\.biases=some must be true or false",
    "resume=maybe": r"resume=maybe must be auto, true or false",
    "seed=abc": r"seed=abc must be a whole number",
    "threads=0": r"threads=0 must be a whole number in \[1, 1024\]",
    "dtype=float16": r"dtype=float16 is unknown",
    "device=cuda:9": r"device=cuda:9 was asked for but",
    "device=tpu": r"device=tpu is unknown",
    "data.function=cubic": r"data\.function=cubic is unknown",
    "pruning.scope=node": r"pruning\.scope=node is unknown",
    "network.hidden=[20,0]": r"network\.hidden=0 must be a whole number in \[1, 1e6\]",
    "network.hidden=20": r"network\.hidden=20 must be a list",
    "data.train_share=1": r"data\.train_share=1 must be a number in \(0, 1\)",
    "+foo=1": r"foo=1 is not a key that exists",
    "+trainer.foo=1": r"trainer\.foo=1 is not a key that exists",
    "~prior": r"prior\.\w+ is missing",
    "~trainer.lr": r"trainer\.lr is missing",
    "~trainer.steps": r"~trainer\.steps cannot be used",
    "~data.observations": r"data\.observations is missing",
    "prior=5": r"prior=5 cannot be used \(Config group override must be a string or a list",
    "trainer=5": r"trainer=5 must be a table of settings by name",
    "~trainer.momentum": r"trainer\.momentum is missing",
    "foo=1": r"foo=1 is not a key that exists",
    "seed=${nothing}": r"seed cannot be resolved",
    "trainer.lr=???": r"trainer\.lr=\?\?\? must be a number",
    "recipe=set_1": r"recipe=set_1 asks for recipes\.set_1, which is not there; use recipe=tuned",
    "finetune=[0.5]": r"finetune=\[0\.5\] means nothing in experiment=simulated_pruning; leave it out",
    "vary.width=[12]": r"vary\.width=\[12\] means nothing in experiment=simulated_pruning",
    "network.width=0.5": r"network\.width=0\.5 means nothing in experiment=simulated_pruning",
    "data.active_share=7": r"data\.active_share=7 must be a number in \[0, 1\]",
    "data=uci": r"experiment=simulated_pruning does not run on the data chosen; leave data= out",
}


@pytest.mark.parametrize("override", BAD)
def test_bad_value_is_one_sentence(configured, tmp_path, override):
    with pytest.raises(ConfigError, match=BAD[override]) as caught:
        execute(configured("experiment=simulated_pruning", "budget=smoke", override), tmp_path / "out")
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith(".")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("experiment", "override", "message"),
    [
        ("selection", "selection.keep_share=0", r"selection\.keep_share=0 .*\(0, 1\]"),
        ("selection", "selection.thresholds=[0.5,0.7,0.2]", r"selection\.thresholds=.* must rise"),
        ("selection", "selection.folds=200", r"selection\.folds=200 is more than the 160 training rows"),
        ("selection", "selection.refit.schedule=step", r"selection\.refit: trainer\.schedule=step is unknown"),
        ("selection", "+selection.refit.foo=1", r"selection\.refit: trainer\.foo=1 is not a key that exists"),
        ("selection", "trainer.batch=130", r"trainer\.batch=130 is larger than the 80 training rows"),
        ("selection", "selection.thresholds=[0.5,2]", r"selection\.thresholds=2 .*\(0, 1\]"),
        ("selection", "selection.folds=1", r"selection\.folds=1 must be a whole number in \[2, 1e6\]"),
        ("selection", "selection.rule=max", r"selection\.rule=max is unknown"),
        ("selection", "selection.refit.batch=500", r"batch=500 is larger than the 80 training rows"),
        ("selection", "dropout.rates=[1.0]", r"dropout\.rates=1\.0 must be a number in \[0, 1\)"),
        ("selection", "vary.alpha=[0]", r"vary\.alpha=0 must be a number in \(0, inf\)"),
        ("relevance", "vary.alpha=[0.5,2]", r"vary\.alpha=2 .*\[0, 1\]"),
        ("correlation", "vary.alpha=[0]", r"vary\.alpha=0 must be a number in \(0, inf\)"),
        ("correlation", "vary.function=[linear,cubic]", r"vary\.function=cubic is unknown"),
    ],
)
def test_bad_value_of_an_experiments_own_key(configured, tmp_path, experiment, override, message):
    with pytest.raises(ConfigError, match=message):
        execute(configured(f"experiment=simulated_{experiment}", "budget=smoke", override), tmp_path / "out")


def test_no_experiment(configured, tmp_path):
    with pytest.raises(ConfigError, match=r"No experiment was chosen.*simulated_pruning"):
        execute(configured(), tmp_path / "out")


@pytest.mark.parametrize("budget", ["smoke", "laptop", "overnight", "paper"])
@pytest.mark.parametrize("experiment", experiments())
def test_every_experiment_composes_at_every_budget(configured, tmp_path, experiment, budget):
    own = []
    if experiment == "own_table":
        own = [f"data.file={tmp_path / 'own.csv'}", "data.target=y"]
        (tmp_path / "own.csv").write_text("x,y\n" + "".join(f"{n},{n * n / 7}\n" for n in range(30)))
    _, settings = prepared(configured(f"experiment={experiment}", f"budget={budget}", *own))
    assert (settings.name, settings.budget) == (experiment, budget)
    assert isinstance(settings.trainer.epochs, int)


@pytest.mark.parametrize("experiment", experiments())
def test_every_experiment_says_what_it_is_and_how_to_run_it(experiment):
    lines = (CONF / "experiment" / f"{experiment}.yaml").read_text().splitlines()
    assert lines[0] == "# @package _global_"
    assert lines[1].startswith("# Experiment")
    assert f"sbnn-run experiment={experiment}" in lines[2]


@pytest.mark.parametrize(
    ("experiment", "override"),
    [
        ("uci_pruning", "vary.width=[12]"),
        ("uci_pruning", "finetune=[0.5]"),
        ("uci_pruning", "selection.folds=5"),
        ("simulated_relevance", "data.features=5"),
        ("simulated_relevance", "droprates=[0,0.5]"),
        ("mnist_pruning", "likelihood.learned=false"),
        ("mnist_pruning", "predictive.statistics=10"),
        ("cifar_pruning", "vary.alpha=[3]"),
        ("lenet_pruning", "network.hidden=[5]"),
        ("vgg_pruning", "prior.c=1"),
    ],
)
def test_a_key_that_an_experiment_ignores_is_refused(configured, experiment, override):
    key = override.partition("=")[0]
    with pytest.raises(ConfigError, match=rf"{key}=.* means nothing in experiment={experiment}; leave it out\."):
        prepared(configured(f"experiment={experiment}", "budget=smoke", override))


@pytest.mark.parametrize(
    ("experiment", "override", "message"),
    [
        ("uci_pruning", "+recipes.paper.trainer.foo=1", r"recipes\.paper: trainer\.foo=1 is not a key that exists"),
        (
            "uci_pruning",
            "+recipes.paper.nonsense=1",
            r"recipes\.paper\.nonsense=1 cannot be changed there; only prior, init",
        ),
        ("uci_pruning", "recipes.paper=3", r"recipes\.paper=3 must be a table of settings by name"),
        ("uci_pruning", "+data.enlarge.boston.foo=2", r"data\.enlarge\.boston\.foo=2 is not a key that exists"),
        ("uci_pruning", "+data.hidden.mars=[5]", r"data\.hidden names mars, which is unknown; choose one of boston"),
        ("mnist_pruning", "data=cifar10", r"experiment=mnist_pruning does not run on the data chosen"),
        ("mnist_pruning", "prior.c={a:1}", r"prior\.c=.* must be a table by width"),
    ],
)
def test_bad_tables(configured, experiment, override, message):
    with pytest.raises(ConfigError, match=message):
        prepared(configured(f"experiment={experiment}", "budget=smoke", override))


def test_settings_cannot_be_changed_and_come_back_from_yaml(settings_from, tmp_path):
    settings = settings_from("experiment=mnist_pruning", "budget=smoke")
    with pytest.raises(ValidationError, match="frozen"):
        settings.trainer.lr = 1.0
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(settings.plain(), sort_keys=False))
    assert read_settings(tmp_path / "config.yaml") == settings
    assert settings.changed({"trainer": {"lr": 0.5}}).trainer.lr == 0.5


def test_a_budget_that_is_not_named_is_laptops():
    sizes = OmegaConf.create({"budget": "paper", "n": "${by_budget:{smoke:1,laptop:2,overnight:3}}"})
    assert sizes.n == 2
    sizes.budget = "overnight"
    assert sizes.n == 3
