"""What passes through a weight on its way from the inputs to the outputs: flow, and the weights that have any."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from sbnn.errors import SbnnError
from sbnn.model.fit import Fit
from sbnn.model.flat import NORMALISATIONS


def flow(fit: Fit, weights: Tensor) -> Tensor:
    """Of weights (R, M) >= 0, the sum over all paths through each of them of the products along the paths, float64.

    A ReLU network with such weights, no biases and inputs of one has F, the sum over all paths, as the sum of its
    outputs, so that the paths through a weight sum to w dF/dw: SynFlow (Tanaka et al. 2020), a forward and a backward
    pass through the module itself. The paths of a bias begin at it and sum to b dF/db. Max pooling adds up here, since
    each of its positions is a path; batch norm only multiplies by |scale|.
    """
    weights = weights.detach().double()
    is_bias = fit.layout.is_bias.to(weights.device)
    without = _slope(fit, weights.masked_fill(is_bias, 0))
    through = weights * torch.where(is_bias, _slope(fit, weights), without)  # a ReLU at zero would hide a bias
    if not through.isfinite().all():
        raise SbnnError("The sum over all paths of the network overflows; use a score that does not follow paths.")
    return through


def active(fit: Fit, keep: Tensor) -> Tensor:
    """(R, M) bool: the weights in `keep` that lie on a path of kept weights from an input to an output.

    Of the others nothing can be seen at the outputs except a constant. A kept bias is active if a kept path leads
    from its unit to an output.
    """
    return flow(fit, keep / fit.layout.fan_in.to(keep.device)) > 0  # divided, the numbers of paths stay small


def example_shape(fit: Fit) -> tuple[int, ...]:
    """The shape of one example, which a chain of dense layers tells by itself."""
    if fit.shape is not None:
        return tuple(fit.shape)
    if not fit.layout.is_dense_chain:
        raise SbnnError("Paths begin at the inputs of this network, of unknown shape; give the fit a `shape`.")
    return (fit.layout.shapes[0][1],)


def _slope(fit: Fit, weights: Tensor) -> Tensor:
    """dF/dw, (R, M)."""
    point = weights.clone().requires_grad_()
    auxiliary = {name: _linear(name, value) for name, value in fit.auxiliary.items()}
    x = weights.new_ones(len(weights), 1, *example_shape(fit))  # (R, 1, ...)
    with torch.enable_grad(), _adding_up(fit):
        total = fit.layout.forward(point, x, auxiliary).sum()
    return torch.autograd.grad(total, point)[0]


def _linear(name: str, value: Tensor) -> Tensor:
    """An auxiliary value (R, ...) at which the module is linear in its inputs and never negative."""
    if not value.is_floating_point():
        return value
    if name.endswith("running_var"):
        return torch.ones_like(value, dtype=torch.float64)
    return (0 * value if name.endswith(("running_mean", "bias")) else value.abs()).double()


@contextmanager
def _adding_up(fit: Fit) -> Iterator[None]:
    """The network as it is measured, with sums in place of maxima; afterwards it is what it was."""
    modules = list(fit.layout.network.modules())
    for module in modules:
        if isinstance(module, NORMALISATIONS) and module not in fit.layout.norms:
            raise SbnnError(f"Paths cannot be followed through {type(module).__name__}, which divides by what it sees.")
    modes = [module.training for module in modules]
    hooks = [module.register_forward_hook(_sum) for module in modules if isinstance(module, nn.MaxPool2d)]
    fit.layout.network.eval()
    try:
        yield
    finally:
        for module, mode in zip(modules, modes, strict=True):
            module.training = mode
        for hook in hooks:
            hook.remove()


def _sum(pool: nn.MaxPool2d, inputs: tuple[Tensor], output: Tensor) -> Tensor:
    own = pool.kernel_size, pool.stride, pool.padding, pool.ceil_mode
    return F.avg_pool2d(inputs[0], *own, divisor_override=1)


def active_share(fit: Fit, keep: Tensor) -> Tensor:
    """The share of the kept weights that lie on a path, (R,); one where none is kept."""
    kept = keep.sum(1)
    return torch.where(kept > 0, active(fit, keep).sum(1) / kept.clamp_min(1), 1.0)
