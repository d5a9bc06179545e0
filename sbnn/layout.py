"""How a module's parameters lie in one flat row of numbers, and back."""

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from sbnn.networks import Dropout


class Layout:
    """The flat view of an ordinary `nn.Module`: its parameters one after another, in the module's own order.

    A replica is one row; `forward` runs the module once per row, all rows in one program.
    """

    def __init__(self, network: nn.Module):
        parameters = dict(network.named_parameters())
        if not parameters:
            raise ValueError("The network has no parameters to put a posterior on.")
        self.network = network
        self.names = list(parameters)
        self.shapes = [p.shape for p in parameters.values()]
        self.sizes = [p.numel() for p in parameters.values()]
        self.size = sum(self.sizes)
        self.is_dense_chain = self._plain_sequence()

    def spread(self, values: list) -> Tensor:
        """One value for each parameter as one for each weight, (M,)."""
        return torch.tensor(values).repeat_interleave(torch.tensor(self.sizes))

    @property
    def module(self) -> Tensor:
        """The number of the module that each weight belongs to, (M,); a weight and its bias share one."""
        modules = [name.rpartition(".")[0] for name in self.names]
        numbers = {module: number for number, module in enumerate(dict.fromkeys(modules))}
        return self.spread([numbers[module] for module in modules])

    @property
    def is_bias(self) -> Tensor:
        return self.spread([len(shape) < 2 for shape in self.shapes])

    @property
    def fan_in(self) -> Tensor:
        """Inputs that feed each weight, (M,); a bias has none and reads 1."""
        return self.spread([shape[1:].numel() if len(shape) > 1 else 1 for shape in self.shapes]).double()

    def unflatten(self, row: Tensor) -> dict[str, Tensor]:
        """One row (..., M) as named parameters: views of it."""
        parts = row.split(self.sizes, dim=-1)
        return {
            name: part.unflatten(-1, shape) if len(shape) else part.squeeze(-1)
            for name, part, shape in zip(self.names, parts, self.shapes, strict=True)
        }

    def flatten(self) -> Tensor:
        """The module's own parameters as one row, (M,): where a pretrained network starts."""
        return torch.cat([p.detach().reshape(-1) for p in self.network.parameters()])

    def load(self, row: Tensor) -> nn.Module:
        """Write one row (M,) into the module and return it: the pruned result is that same module."""
        with torch.no_grad():
            for parameter, value in zip(self.network.parameters(), self.unflatten(row).values(), strict=True):
                parameter.copy_(value)
        return self.network

    def forward(
        self, weights: Tensor | dict[str, Tensor], x: Tensor, extras: dict[str, Tensor] | None = None
    ) -> Tensor:
        """Outputs (R, B, out) of weights (R, M), or of named parameters (R, ...), at inputs (R, B, in).

        `extras` replaces buffers of the module, one value per replica (a dropout rate, say). A single
        replica skips vmap, which refuses modules that write to their buffers (batch norm); a plain chain of
        dense layers does without it too.
        """
        named = weights if isinstance(weights, dict) else self.unflatten(weights)
        replicas, extras = len(named[self.names[0]]), extras or {}
        if self.is_dense_chain and replicas > 1 and x.dim() == 3:
            return self._dense_chain(named, x, extras)

        def one(values: dict[str, Tensor], inputs: Tensor) -> Tensor:
            return functional_call(self.network, values, (inputs,))

        values = {**named, **extras}
        if replicas == 1:
            return one({name: value.squeeze(0) for name, value in values.items()}, x[0]).unsqueeze(0)
        return vmap(one, randomness="different")(values, x)

    def _plain_sequence(self) -> bool:
        """Whether the network is known layers one after another, each used once, no weight shared."""
        if type(self.network) is not nn.Sequential:
            return False
        children = list(self.network.named_children())  # leaves out a module's second use
        owned = [f"{name}.{own}" for name, module in children for own, _ in module.named_parameters()]
        known = all(type(module) in (nn.Linear, nn.ReLU, Dropout) for _, module in children)
        return known and len(children) == len(self.network) and owned == self.names

    def _dense_chain(self, named: dict[str, Tensor], x: Tensor, extras: dict[str, Tensor]) -> Tensor:
        """`forward` as batched matrix products: small networks spend half their time in vmap otherwise."""
        for name, module in self.network.named_children():
            if isinstance(module, nn.Linear):
                weight, bias = named[f"{name}.weight"].mT, named.get(f"{name}.bias")  # (R, in, out), (R, out)
                x = torch.bmm(x, weight) if bias is None else torch.baddbmm(bias.unsqueeze(1), x, weight)
            elif f"{name}.rate" in extras:
                x = functional_call(module, {"rate": extras[f"{name}.rate"].view(-1, 1, 1)}, (x,))
            else:
                x = module(x)
        return x
