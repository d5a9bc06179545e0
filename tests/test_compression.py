"""LeNet and VGG: the networks, weights from elsewhere, statistics after pruning, retraining, verdicts."""

import pandas as pd
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from sbnn.commands.run import execute
from sbnn.data.replicas import ReplicaData
from sbnn.errors import ConfigError, SbnnError
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical
from sbnn.model.methods import as_fit, fit
from sbnn.model.posteriors.mean_field import Masked
from sbnn.networks import ChannelsLast, lenet_5, lenet_300_100, vgg_like
from sbnn.pretrained import load_weights
from sbnn.report import claims_compression, compression
from sbnn.report.claims import judge
from sbnn.runs.context import Run
from sbnn.streams import Streams
from sbnn.training.loop import train
from sbnn.training.schedule import Training


@pytest.mark.parametrize(
    ("network", "shape", "weights", "biases"),
    [
        (lenet_300_100(), (1, 28, 28), 266_200, 410),
        (lenet_5(), (1, 28, 28), 430_500, 580),
        (vgg_like(), (3, 32, 32), 14_977_728, 10),
        (vgg_like(0.25), (3, 32, 32), 937_392, 10),
    ],
)
def test_networks_have_the_published_sizes(network, shape, weights, biases):
    layout = Layout(network)
    assert int((~layout.is_bias).sum()) == weights
    assert int(layout.is_bias.sum()) == biases
    assert network.eval()(torch.rand(2, *shape)).shape == (2, 10)


@pytest.mark.parametrize("network", [lenet_5(), vgg_like(0.05)])
def test_replicas_of_a_network_see_their_own_weights(network):
    layout, x = Layout(network.eval()), torch.rand(2, 3, *((1, 28, 28) if len(network) < 12 else (3, 32, 32)))
    weights, beside = 0.1 * torch.randn(2, layout.size), layout.beside(2)
    alone = [
        layout.forward(weights[r : r + 1], x[r : r + 1], {n: v[r : r + 1] for n, v in beside.items()}) for r in (0, 1)
    ]
    torch.testing.assert_close(layout.forward(weights, x, beside), torch.cat(alone))


def test_vgg_has_thirteen_convolutions_and_two_dense_layers():
    layers = Layout(vgg_like(0.125)).modules
    assert [sum(name.startswith(kind) for name in layers) for kind in ("conv", "fc")] == [13, 2]


@pytest.mark.parametrize("channels", [1, 3])
def test_channels_last_changes_where_numbers_lie_and_nothing_else(channels):
    x = torch.rand(2, channels, 4, 5)
    moved = ChannelsLast()(x)
    assert torch.equal(moved, x)
    assert moved.stride() == (20 * channels, 1, 5 * channels, channels)


def normed() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2)).double()


def test_restated_statistics_are_those_of_all_batches():
    layout = Layout(normed())
    weights, beside = torch.randn(2, layout.size).double(), layout.beside(2)
    x = torch.randn(2, 50, 3).double()
    layout.network.eval()
    found = layout.restated(weights, x.split(10, dim=1), beside)
    for r in range(2):
        named = {name: value[r] for name, value in layout.unflatten(weights).items()}
        hidden = x[r] @ named["0.weight"].T + named["0.bias"]
        parts = torch.stack([part.var(0) for part in hidden.split(10)])
        torch.testing.assert_close(found["1.running_mean"][r], hidden.mean(0))
        torch.testing.assert_close(found["1.running_var"][r], parts.mean(0))
    assert (beside["1.running_mean"] == 0).all()  # those given are left alone
    assert layout.network[1].momentum == 0.1
    assert not layout.network[1].training


def test_statistics_of_a_network_without_norms_are_left_as_they_are():
    layout, beside = Layout(lenet_300_100()), {}
    assert layout.restated(torch.zeros(1, layout.size), [], beside) is beside


def test_a_masked_network_learns_and_keeps_its_zeros():
    torch.manual_seed(0)
    layout = Layout(nn.Linear(6, 2).double())
    keep = torch.rand(1, layout.size) < 0.5
    y = torch.randint(2, (80,))
    data = ReplicaData.of(torch.randn(80, 6).double() + y[:, None], y)
    posterior = Masked(torch.randn(1, 1, layout.size).double(), keep)
    assert (posterior.mean[~keep] == 0).all()
    before = posterior.mean.clone()
    train(layout, posterior, None, Categorical(), data, Streams([0]), Training(epochs=20, batch=20, lr=0.05))
    assert (posterior.mean[~keep] == 0).all()
    assert (posterior.mean[keep] != before[keep]).all()
    x, y = data.all()
    assert Categorical.error(layout.forward(posterior.mean, x), y) < 0.3


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_weights_from_elsewhere(tmp_path, suffix):
    saved, path = vgg_like(0.125).state_dict(), tmp_path / f"weights.{suffix}"
    if suffix == "pt":
        torch.save(saved, path)
    else:
        save_file(saved, path)
    loaded = load_weights(vgg_like(0.125), str(path)).state_dict()
    assert all(torch.equal(saved[name], loaded[name]) for name in saved)


def test_weights_that_do_not_fit(tmp_path):
    path = tmp_path / "weights.pt"

    def complaint(saved) -> str:
        torch.save(saved, path)
        with pytest.raises(ConfigError) as caught:
            load_weights(lenet_5(), str(path))
        return str(caught.value)

    own = lenet_5().state_dict()
    assert "lacks conv1.weight" in complaint({name: value for name, value in own.items() if name != "conv1.weight"})
    assert "has no place for extra" in complaint({**own, "extra": torch.zeros(1)})
    assert "has another shape for fc1.bias ((3,) instead of (500,))" in complaint({**own, "fc1.bias": torch.zeros(3)})
    some = {name: own[name] for name in ("fc1.weight", "fc1.bias")}
    assert "lacks conv1.weight, conv1.bias, conv2.weight and 3 more" in complaint(some)
    assert "holds no state dict" in complaint({"model": own})
    assert "cannot be read as a state dict" in complaint(lenet_5())  # a whole module, which would execute code
    path.write_bytes(b"not a checkpoint")
    with pytest.raises(ConfigError, match="cannot be read as a state dict"):
        load_weights(lenet_5(), str(path))
    with pytest.raises(ConfigError, match="is not a file"):
        load_weights(lenet_5(), str(tmp_path / "nowhere.safetensors"))


def test_a_posterior_starts_at_another_fits_weights(configured, tmp_path):
    """A deterministic network's means, all with the same deviation; its statistics too."""
    cfg = configured(
        "experiment=vgg_pruning", "budget=smoke", "trainer.lr=1e-12", "trainer.epochs=1", "trainer.batch=4"
    )
    run = Run(device=torch.device("cpu"), dtype=torch.float64)
    network = normed()
    network[1].running_mean.fill_(3.0)
    start = as_fit(network, run, cfg)
    data = ReplicaData.of(torch.randn(8, 3).double(), torch.randint(2, (8,)))
    found = fit(run, "sBNN", normed(), data, cfg, [0], "stage 2", start)
    torch.testing.assert_close(found.posterior.mean[0], Layout(network).flatten())
    torch.testing.assert_close(found.posterior.sigma, torch.full_like(found.posterior.sigma, 0.006737947))
    assert (found.beside["1.running_mean"] > 2).all()
    assert (start.beside["1.running_mean"] == 3).all()  # what it started from is not written to


SMALL = ("budget=smoke", "data.train_images=300", "data.test_images=50", "droprates=[0,0.5]")


def test_lenet_from_pretrained_weights(configured, tmp_path, has_images):
    has_images("mnist")
    path = tmp_path / "weights.safetensors"
    save_file(lenet_300_100().state_dict(), path)
    keys = (*SMALL, "recipe=set_1", "rivals=[]", "finetune=[0.5]", f"pretrained={path}")
    with pytest.raises(SbnnError, match=r"does not fit the network: it lacks conv1\.weight"):
        execute(configured("experiment=lenet_pruning", *keys), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    execute(configured("experiment=lenet_pruning", *keys, "vary.network=[lenet_300_100]"), tmp_path / "out")
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    assert set(rows.recipe) == {"set_1"}
    kept = rows[(rows.metric == "kept") & (rows.droprate == 0.5)]
    assert kept.value.sum() == round(0.5 * 266_610)
    assert "finetuned_error" not in set(rows.metric)  # set_1 asks for none


def test_vgg_from_pretrained_weights(configured, tmp_path, has_images):
    has_images("cifar10")
    path = tmp_path / "weights.pt"
    torch.save(vgg_like(0.125).state_dict(), path)
    keys = (*SMALL, "recipe=tuned", "rivals=[]", f"pretrained={path}", "predictive.statistics=100")
    execute(configured("experiment=vgg_pruning", *keys), tmp_path / "out")
    rows = pd.read_csv(tmp_path / "out" / "rows.csv")
    assert set(rows[rows.method == "NN"].epochs) == {0}
    with pytest.raises(SbnnError, match=r"rivals=\[\] must name NN"):
        execute(configured("experiment=vgg_pruning", *SMALL, "rivals=[]"), tmp_path / "other")


@pytest.mark.parametrize(
    ("experiment", "override", "message"),
    [
        ("lenet_pruning", "vary.network=[alexnet]", r"vary\.network=alexnet is unknown; choose one of lenet_300_100"),
        ("lenet_pruning", "finetune=[0.123]", r"finetune=\[0\.123\] names 0\.123, which is not one of the droprates"),
        ("lenet_pruning", "network.leave_out=[3]", r"network\.leave_out=3 must be a pattern"),
        ("lenet_pruning", "pretrained=3", r"pretrained=3 must be the path of a state dict"),
        ("lenet_pruning", "recipe=paper", r"recipe=paper asks for recipes\.paper, which is not there"),
        (
            "lenet_pruning",
            "network.leave_out=['fc3.*']",
            r"network\.leave_out=fc3\.\* matches none of the parameters",
        ),
        ("lenet_pruning", "network.leave_out=['*']", "no parameters to put a posterior on"),
        ("lenet_pruning", "vary.augmentation=[crop]", r"vary\.augmentation=\['crop'\] must be none in this experiment"),
        ("lenet_pruning", "recipes.finetune.trainer.lr=-1", r"trainer\.lr=-1 must be a number in \(0, inf\)"),
        ("lenet_pruning", "+by_network.lenet_5.data=3", r"by_network\.lenet_5=.* with changes to prior"),
        ("uci_pruning", "pretrained=here.pt", r"pretrained=here\.pt means nothing in experiment=uci_pruning"),
        ("mnist_pruning", "finetune=[0.98]", r"recipes\.paper: trainer\.proximal=true is a step of sBNN's"),
        ("vgg_pruning", "network.width=0", r"network\.width=0 must be a number in \(0, 4\]"),
        ("vgg_pruning", "vary.augmentation=[none,crop]", r"vary\.augmentation=.* must be one kind"),
        ("vgg_pruning", "trainer.autocast=maybe", r"trainer\.autocast=maybe is unknown; choose one of auto"),
    ],
)
def test_bad_input(configured, tmp_path, experiment, override, message):
    with pytest.raises(SbnnError, match=message):
        execute(configured(f"experiment={experiment}", "budget=smoke", override), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def curve(network: str, recipe: str, errors: dict[float, float] | pd.Series, **more) -> list[dict]:
    same = {"network": network, "method": "sBNN", "recipe": recipe, "score": "inclusion", "metric": "error"}
    same |= {"epochs": 100, "measured": 10_000, "weights": 431_080, **more}
    return [{**same, "droprate": droprate, "value": error / 100} for droprate, error in errors.items()]


def verdicts(experiment: str, rows: list[dict]) -> dict[str, str]:
    found = judge(experiment, claims_compression.JUDGES, pd.DataFrame(rows), "test")
    return dict(zip(found["id"], found["verdict"], strict=True))


def test_the_papers_own_numbers_reproduce_its_claims():
    sets = compression.SETS
    rows = [
        row for s in ("set_1", "set_2") for row in curve("lenet_5", s, dict(zip(sets.droprate, sets[s], strict=True)))
    ]
    rows += curve("lenet_300_100", "set_2", {0.0: 1.9, 0.95: 1.94})
    assert verdicts("lenet_pruning", rows) == dict.fromkeys(["8a", "8b", "8c", "8d", "8e"], "reproduced")
    rows = curve("vgg", "paper", {0.0: 8.6, 0.985: 8.7}, width=1.0)
    assert verdicts("vgg_pruning", rows) == {"9a": "reproduced", "9b": "reproduced"}


def test_our_recipe_alone_does_not_reproduce_the_papers():
    rows = curve("vgg", "tuned", {0.0: 8.0, 0.985: 8.1}, width=1.0)
    assert verdicts("vgg_pruning", rows) == {"9a": "not reproduced", "9b": "partly"}


def test_verdicts_that_fall_short():
    rows = curve("lenet_5", "set_1", {0.0: 1.2, 0.96: 1.2, 0.98: 1.2, 0.992: 1.3})
    rows += curve("lenet_5", "set_2", {0.0: 1.0, 0.98: 1.3, 0.992: 2.0, 0.997: 9.0})
    rows += curve("lenet_5", "tuned", {0.0: 1.0, 0.992: 1.1})
    expected = {"8a": "not run", "8b": "partly", "8c": "partly", "8d": "partly", "8e": "not reproduced"}
    assert verdicts("lenet_pruning", rows) == expected
    rows = curve("vgg", "paper", {0.0: 12.0, 0.985: 14.0}, width=0.25)
    rows += curve("vgg", "tuned", {0.0: 12.5, 0.985: 12.9}, width=0.25)
    assert verdicts("vgg_pruning", rows) == {"9a": "not run", "9b": "partly"}
