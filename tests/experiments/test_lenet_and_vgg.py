"""LeNet and VGG: from weights that come from elsewhere, and bad input."""

import pandas as pd
import pytest
import torch
from safetensors.torch import save_file

from sbnn.commands.run import execute
from sbnn.errors import SbnnError
from sbnn.networks import lenet_300_100, vgg_like

pytestmark = pytest.mark.usefixtures("undrawn")
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
        (
            "lenet_pruning",
            "vary.augmentation=[crop]",
            r"vary\.augmentation=.* means nothing in experiment=lenet",
        ),
        (
            "lenet_pruning",
            "recipes.finetune.trainer.lr=-1",
            r"^recipes\.finetune: trainer\.lr=-1 must be a number in \(0, 1e30\]",
        ),
        ("lenet_pruning", "+by_network.lenet_5.seed=3", r"by_network\.lenet_5\.seed=3 cannot be changed there"),
        ("uci_pruning", "pretrained=here.pt", r"pretrained=here\.pt means nothing in experiment=uci_pruning"),
        (
            "mnist_pruning",
            "finetune=[0.98]",
            r"recipes\.paper: trainer\.proximal=true needs trainer\.optimizer=sgd",
        ),
        ("vgg_pruning", "network.width=0", r"network\.width=0 must be a number in \(0, 4\]"),
        ("vgg_pruning", "vary.augmentation=[none,crop]", r"vary\.augmentation=.* must be one kind"),
        ("vgg_pruning", "trainer.autocast=maybe", r"trainer\.autocast=maybe is unknown; choose one of auto"),
    ],
)
def test_bad_input(configured, tmp_path, experiment, override, message):
    with pytest.raises(SbnnError, match=message):
        execute(configured(f"experiment={experiment}", "budget=smoke", override), tmp_path / "out")
    assert not (tmp_path / "out").exists()
