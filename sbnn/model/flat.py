"""How a module's parameters lie in one flat row of numbers, and back."""

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from sbnn.data.nested import Inputs, arguments, each
from sbnn.errors import ConfigError
from sbnn.networks import Dropout

# Their scales and shifts are not weights: a prior that pulls them to zero would be one on the layer before.
NORMALISATIONS = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)


class Layout:
    """The flat view of an ordinary `nn.Module`: its parameters one after another, in the module's own order.

    A replica is one row; `forward` runs the module once per row, all rows in one program. Parameters of normalisation
    layers, and those whose names match a pattern of `leave_out` ("head.*"), are exempt: they are trained, but have no
    posterior and no prior, and are neither pruned nor counted. Parameters that require no gradient are constants, as is
    the normalisation they belong to. `output` picks the tensor out of what a network returns, if it is not one.
    """

    def __init__(
        self, network: nn.Module, leave_out: Sequence[str] = (), output: Callable[[Any], Tensor] | None = None
    ):
        self.network, self.output = network, output
        self.exempt = exempt_parameters(network, leave_out)
        trained = {name: p for name, p in network.named_parameters() if p.requires_grad}
        parameters = {name: p for name, p in trained.items() if name not in self.exempt}
        if not parameters:
            raise ConfigError("The network has no parameters to put a posterior on.")
        self.names = list(parameters)
        self.shapes = [p.shape for p in parameters.values()]
        self.sizes = [p.numel() for p in parameters.values()]
        self.size = sum(self.sizes)
        self.is_dense_chain = output is None and self._plain_sequence()
        self.starts_flat = self.is_dense_chain and _flattens(next(network.children()))
        self.takes_vmap = True  # until it turns out otherwise
        norms = [module for module in network.modules() if _keeps_statistics(module)]
        self.frozen_norms = [norm for norm in norms if _is_frozen(norm)]
        self.norms = [norm for norm in norms if not _is_frozen(norm)]

    def train(self) -> None:
        """Put the network into training mode, but not the normalisation that is a constant."""
        self.network.train()
        for norm in self.frozen_norms:
            norm.eval()

    def auxiliary(self, replicas: int) -> dict[str, Tensor]:
        """What replicas have besides their weights, (R, ...) each: exempt and constant parameters, and buffers."""
        named = {**dict(self.network.named_parameters()), **dict(self.network.named_buffers())}
        kept = {name: value.detach() for name, value in named.items() if name not in self.names}
        if any(kept[name].is_meta for name in self.exempt):
            raise ConfigError("Parameters can be left out only of a network that has values, not just shapes.")
        return {name: value.expand(replicas, *value.shape).clone() for name, value in kept.items()}

    def per_weight(self, values: list) -> Tensor:
        """One value for each parameter as one for each weight, (M,)."""
        return torch.tensor(values).repeat_interleave(torch.tensor(self.sizes))

    @property
    def modules(self) -> list[str]:
        """The names of the modules that have weights; a weight and its bias share one."""
        return list(dict.fromkeys(name.rpartition(".")[0] for name in self.names))

    @property
    def module(self) -> Tensor:
        """The number of the module that each weight belongs to, (M,)."""
        return self.per_weight([self.modules.index(name.rpartition(".")[0]) for name in self.names])

    def per_module(self, values: Tensor) -> list[Tensor]:
        """Values of weights (R, M), module by module."""
        owner = self.module.to(values.device)
        return [values[:, owner == number] for number in range(len(self.modules))]

    @property
    def is_bias(self) -> Tensor:
        return self.per_weight([len(shape) < 2 for shape in self.shapes])

    @property
    def fan_in(self) -> Tensor:
        """Inputs that feed each weight, (M,); a bias has none and reads 1."""
        return self.per_weight([shape[1:].numel() if len(shape) > 1 else 1 for shape in self.shapes]).double()

    def unflatten(self, row: Tensor, which: slice = slice(None)) -> dict[str, Tensor]:
        """One row (..., M) as named parameters: views of it. `which` says of which of them it is the row."""
        named, begin = {}, 0
        for name, size, shape in zip(self.names[which], self.sizes[which], self.shapes[which], strict=True):
            part = row.narrow(-1, begin, size)  # `split` would bind a compiled step to the sum of the sizes
            named[name] = part.unflatten(-1, shape) if len(shape) else part.squeeze(-1)
            begin += size
        return named

    def flatten(self) -> Tensor:
        """The module's own parameters as one row, (M,): where a pretrained network starts."""
        parameters = dict(self.network.named_parameters())
        return torch.cat([parameters[name].detach().reshape(-1) for name in self.names])

    def load(self, row: Tensor, auxiliary: dict[str, Tensor] | None = None) -> nn.Module:
        """Write one replica, (M,) and its auxiliary values, into the module, which is returned.

        Where training moves some of them, they have to be given: `Fit.module` does.
        """
        if auxiliary is None and (self.exempt or self.norms):
            raise ValueError("This network has parameters or statistics besides its weights; give them too.")
        named = {**dict(self.network.named_parameters()), **dict(self.network.named_buffers())}
        with torch.no_grad():
            for name, value in (self.unflatten(row) | (auxiliary or {})).items():
                named[name].copy_(value)
        return self.network

    def forward(
        self, weights: Tensor | dict[str, Tensor], x: Inputs, auxiliary: dict[str, Tensor] | None = None
    ) -> Tensor:
        """Outputs (R, B, out) of weights (R, M), or of named parameters (R, ...), at inputs (R, B, in) or a nest.

        `auxiliary` takes the place of the module's other parameters and its buffers, one value per replica, and is
        written to where the module writes to its buffers. vmap refuses that, and some modules: replicas then go one by
        one. A plain chain of dense layers does without vmap too.
        """
        named = weights if isinstance(weights, dict) else self.unflatten(weights)
        replicas, values = len(named[self.names[0]]), named | (auxiliary or {})
        if self.is_dense_chain and replicas > 1 and isinstance(x, Tensor) and (x.dim() == 3 or self.starts_flat):
            return self._dense_chain(values, x)

        def one(values: dict[str, Tensor], inputs: Inputs) -> Tensor:
            found = functional_call(self.network, values, *arguments(inputs))
            return found if self.output is None else self.output(found)

        if replicas == 1:  # indexing would cost a copy of every gradient
            return one(
                {name: v.squeeze(0) for name, v in values.items()}, each(lambda tensor: tensor.squeeze(0), x)
            ).unsqueeze(0)
        if self.takes_vmap and not any(norm.training for norm in self.norms):
            try:
                return vmap(one, randomness="different")(values, x)
            except Exception:  # recurrent layers, spectral norm, control flow that looks at data
                self.takes_vmap = False  # a mistake in the network itself is raised again below
        return torch.stack([one(*each(itemgetter(r), (values, x))) for r in range(replicas)])

    def _plain_sequence(self) -> bool:
        """Whether the network is known layers one after another, each used once, no weight shared."""
        if type(self.network) is not nn.Sequential:
            return False
        children = list(self.network.named_children())  # leaves out a module's second use
        owned = [f"{name}.{own}" for name, module in children for own, _ in module.named_parameters()]
        known = all(type(module) in (nn.Linear, nn.ReLU, Dropout) or _flattens(module) for _, module in children)
        return known and len(children) == len(self.network) and owned == self.names

    def _dense_chain(self, named: dict[str, Tensor], x: Tensor) -> Tensor:
        """`forward` as batched matrix products: small networks spend half their time in vmap otherwise."""
        for name, module in self.network.named_children():
            if isinstance(module, nn.Linear):
                weight, bias = named[f"{name}.weight"], named.get(f"{name}.bias")  # (R, out, in), (R, out)
                if weight.shape[1] == 1:  # the gradient of a matrix product with a single row takes far longer
                    x = (x * weight).sum(-1, keepdim=True)
                    x = x if bias is None else x + bias.unsqueeze(1)
                elif bias is None:
                    x = torch.bmm(x, weight.mT)
                else:
                    x = torch.baddbmm(bias.unsqueeze(1), x, weight.mT)
            elif isinstance(module, nn.Flatten):
                x = x.flatten(2)
            elif f"{name}.rate" in named:
                x = functional_call(module, {"rate": named[f"{name}.rate"].view(-1, 1, 1)}, (x,))
            else:
                x = module(x)
        return x


def exempt_parameters(network: nn.Module, patterns: Sequence[str]) -> list[str]:
    """The names of the parameters that get no posterior."""
    names = [name for name, _ in network.named_parameters()]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ConfigError(f"network.leave_out={pattern} matches none of the parameters {', '.join(names)}.")
    norms = [name for name, module in network.named_modules() if isinstance(module, NORMALISATIONS)]
    return [
        name
        for name, parameter in network.named_parameters()
        if parameter.requires_grad
        and (name.rpartition(".")[0] in norms or any(fnmatchcase(name, pattern) for pattern in patterns))
    ]


def _flattens(module: nn.Module) -> bool:
    return type(module) is nn.Flatten and (module.start_dim, module.end_dim) == (1, -1)


def _is_frozen(norm: nn.Module) -> bool:
    parameters = list(norm.parameters())
    return bool(parameters) and not any(parameter.requires_grad for parameter in parameters)


def _keeps_statistics(module: nn.Module) -> bool:
    return isinstance(module, nn.modules.batchnorm._NormBase) and module.track_running_stats
