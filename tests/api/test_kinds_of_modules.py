"""Every kind of network: train, prune to 90 %, save, reload; a plain copy gives the same outputs."""

import copy

import pytest
import torch
from torch import Tensor, nn

import sbnn
from sbnn.data.image_sets import import_torchvision

N = 24


class Tokens(nn.Module):
    """Labels for every token, with padding that attention does not see; the head's weights are the embedding's."""

    def __init__(self, sparse: bool = False, tied: bool = False):
        super().__init__()
        self.embedding = nn.Embedding(12, 8, padding_idx=0, sparse=sparse)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(8, 12)
        if tied:
            self.head.weight = self.embedding.weight

    def forward(self, tokens: Tensor, padding: Tensor) -> dict[str, Tensor]:
        return {"logits": self.head(self.encoder(self.embedding(tokens), src_key_padding_mask=padding))}


class Last(nn.Module):
    """The last state of a recurrent layer, and what came before it."""

    def __init__(self, recurrent: nn.Module):
        super().__init__()
        self.recurrent, self.head = recurrent, nn.Linear(7, 3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        states, _ = self.recurrent(x)
        return self.head(states[:, -1]), states


def tokens() -> tuple[dict[str, Tensor], Tensor]:
    ids = torch.randint(1, 12, (N, 5))
    padding = torch.zeros(N, 5, dtype=torch.bool)
    padding[::2, 3:] = True
    return {"tokens": ids.masked_fill(padding, 0), "padding": padding}, ids.masked_fill(padding, -100)


def images(size: int = 8, n: int = N) -> tuple[Tensor, Tensor]:
    return torch.randn(n, 3, size, size), torch.randint(0, 4, (n,), dtype=torch.int16)


def series() -> tuple[Tensor, Tensor]:
    return torch.randn(N, 6, 5), torch.randint(0, 3, (N, 1))


def grouped() -> nn.Module:
    body = (nn.Conv1d(6, 8, 3, groups=2), nn.GroupNorm(2, 8), nn.ReLU(), nn.Dropout(0.1), nn.Flatten())
    return nn.Sequential(*body, nn.LayerNorm(24), nn.utils.parametrizations.weight_norm(nn.Linear(24, 3)))


def with_batch_norm() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.Flatten(), nn.Linear(216, 4))


def frozen_part() -> nn.Module:
    network = with_batch_norm()
    network[0].bias.requires_grad_(False)
    return network


def frozen_backbone() -> nn.Module:
    network = with_batch_norm()
    network[:4].requires_grad_(False)
    return network


def resnet() -> nn.Module:
    return import_torchvision().models.resnet18(num_classes=4)


def pixels() -> tuple[Tensor, Tensor]:
    return torch.randn(N, 3, 4, 4), torch.randint(0, 5, (N, 4, 4))


CASES = {
    "batch norm": (with_batch_norm, images),
    "grouped and 1-D, weight norm, dropout": (grouped, series),
    "LSTM": (lambda: Last(nn.LSTM(5, 7, batch_first=True)), series),
    "GRU": (lambda: Last(nn.GRU(5, 7, batch_first=True)), series),
    "transformer": (Tokens, tokens),
    "sparse embedding": (lambda: Tokens(sparse=True), tokens),
    "tied": (lambda: Tokens(tied=True), tokens),
    "frozen bias": (frozen_part, images),
    "frozen backbone": (frozen_backbone, images),
    "pixels": (lambda: nn.Conv2d(3, 5, 1), pixels),
    "resnet18": (resnet, lambda: images(size=32, n=8)),
}


def called(network: nn.Module, x: dict[str, Tensor] | Tensor) -> Tensor:
    with torch.no_grad():
        found = network(**x) if isinstance(x, dict) else network(x)
    return found["logits"] if isinstance(found, dict) else found[0] if isinstance(found, tuple) else found


@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_trains_prunes_saves_and_reloads(case, replicas, tmp_path):
    if case == "resnet18" and replicas > 1:
        pytest.skip("eleven million weights twice take long, and batch norm with several replicas is tried above")
    torch.manual_seed(0)
    make, examples = CASES[case]
    network, (x, y) = make(), examples()
    before = copy.deepcopy(network.state_dict())

    result = sbnn.compress(network, (x, y), epochs=2, batch=8, lr=0.01, replicas=replicas, progress=False)
    small = result.prune(0.9)

    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert [row["epoch"] for row in result.history] == [1, 2]
    weights = [w for name, w in small.named_parameters() if name in result.inclusion and w.dim() > 1]
    zeros, total = sum(int((w == 0).sum()) for w in weights), sum(w.numel() for w in weights)
    assert zeros / total == pytest.approx(0.9, abs=max(0.01, 1 / total))
    for name, parameter in network.named_parameters():
        assert name not in result.inclusion or parameter.requires_grad
        if not parameter.requires_grad:
            assert torch.equal(dict(small.named_parameters())[name], parameter)

    result.save(tmp_path / "net.safetensors")
    called(network, x)  # still works
    again = sbnn.load(tmp_path / "net.safetensors", network).prune(0.9, train=(x, y))
    assert torch.equal(called(again, x), called(small, x))

    torch.save(small.state_dict(), tmp_path / "plain.pt")
    plain = make() if "weight norm" not in case else copy.deepcopy(small)
    plain.load_state_dict(torch.load(tmp_path / "plain.pt", weights_only=True))
    assert torch.equal(called(plain.eval(), x), called(small, x))

    mean, deviation = result.predict(x, samples=3)
    assert mean.shape == deviation.shape
    assert bool(deviation.gt(0).any())
