"""A dense layer that multiplies only by the weights that are left."""

import warnings

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Measured on one thread of the CPU of results/deployment:
DENSEST = 0.2  # share of weights at which a sparse product is level with a dense one at batch 1, twice as fast at 256
SMALL = 2**15  # weights below which a dense product with one example takes less time than the call of a sparse one
MANY = 32  # examples from which on rows of the input are added faster than MKL multiplies by the matrix


class SparseLinear(nn.Module):
    """`nn.Linear` by a matrix in compressed sparse rows; for inference, it has no gradients."""

    matrix: Tensor
    bias: Tensor
    small: Tensor | None  # all weights of a small matrix, for one example

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = linear.weight.detach()
        rows, columns = weight.nonzero(as_tuple=True)
        counts = torch.bincount(rows, minlength=self.out_features)
        pointers = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        # 32 bits are what MKL multiplies by: of 64 it would make a copy at every call.
        indices = pointers.to(torch.int32), columns.to(torch.int32)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse .*", UserWarning)  # torch calls such tensors beta
            self.register_buffer("matrix", torch.sparse_csr_tensor(*indices, weight[rows, columns], weight.shape))
        bias = weight.new_zeros(self.out_features) if linear.bias is None else linear.bias.detach().clone()
        self.register_buffer("bias", bias)
        self.register_buffer("small", weight.clone() if weight.numel() < SMALL else None, persistent=False)

    @property
    def weight(self) -> Tensor:
        """As a dense matrix, for code that looks at it."""
        return self.matrix.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        if x.numel() == self.in_features:
            if self.small is not None:
                return F.linear(x, self.small, self.bias)
            if x.is_cuda or torch.backends.mkl.is_available():  # other libraries have no such product
                return torch.addmv(self.bias, self.matrix, x.reshape(-1)).view(*x.shape[:-1], -1)
        # Units come one after another, as the next such layer takes them: nothing is turned in between.
        y = self._by_unit(x.reshape(-1, self.in_features).t()).t()  # (B, out)
        return y if x.dim() == 2 else y.reshape(*x.shape[:-1], -1).contiguous()

    def _by_unit(self, x: Tensor) -> Tensor:
        """The outputs (out, B) of inputs (in, B)."""
        matrix, bias = self.matrix, self.bias.unsqueeze(1)
        if x.is_cuda or x.shape[1] < MANY:
            return torch.addmm(bias, matrix, x)
        # A unit is a bag of rows of x, added with weights.
        indices, starts, weights = matrix.col_indices(), matrix.crow_indices(), matrix.values()
        bags = F.embedding_bag(
            indices, x.contiguous(), starts, mode="sum", per_sample_weights=weights, include_last_offset=True
        )
        return bags.add_(bias)

    def extra_repr(self) -> str:
        left = self.matrix.values().numel()
        return f"in_features={self.in_features}, out_features={self.out_features}, weights={left}"


def with_sparse_layers(network: nn.Module) -> nn.Module:
    """The network itself, its plain Linear layers with few weights left made sparse."""
    for parent in list(network.modules()):
        for name, module in list(parent.named_children()):
            if type(module) is nn.Linear and module.weight.ne(0).double().mean() <= DENSEST:
                setattr(parent, name, SparseLinear(module))
    return network
