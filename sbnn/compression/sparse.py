"""A dense layer that multiplies only by the weights that are left."""

import warnings

import torch
from torch import Tensor, nn

# A sparse product costs some 5 to 6 times as much a weight as a dense one, at batch 1 and at 256, on the CPU measured:
# at a tenth it is well ahead, at a fifth both are level.
DENSEST = 0.1


class SparseLinear(nn.Module):
    """`nn.Linear` by a matrix in compressed sparse rows; for inference, it has no gradients."""

    matrix: Tensor
    bias: Tensor | None

    def __init__(self, linear: nn.Linear):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        rows, columns = linear.weight.detach().nonzero(as_tuple=True)
        values = linear.weight.detach()[rows, columns]
        counts = torch.bincount(rows, minlength=self.out_features)
        pointers = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        # 32 bits are what MKL multiplies by: of 64 it would make a copy at every call.
        indices = pointers.to(torch.int32), columns.to(torch.int32)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse .*", UserWarning)  # torch calls such tensors beta
            self.register_buffer("matrix", torch.sparse_csr_tensor(*indices, values, linear.weight.shape))
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach().clone())

    @property
    def weight(self) -> Tensor:
        """As a dense matrix, for code that looks at it."""
        return self.matrix.to_dense()

    def forward(self, x: Tensor) -> Tensor:
        rows = x.reshape(-1, self.in_features)
        bias = self.matrix.values().new_zeros(self.out_features) if self.bias is None else self.bias
        if len(rows) == 1 and (x.is_cuda or torch.backends.mkl.is_available()):  # other libraries have no such product
            return torch.addmv(bias, self.matrix, rows[0]).view(*x.shape[:-1], -1)
        # Units come one after another, as the next such layer takes them: nothing is turned in between.
        y = torch.addmm(bias.unsqueeze(1), self.matrix, rows.t()).t()  # (B, out)
        return y if x.dim() == 2 else y.reshape(*x.shape[:-1], -1).contiguous()

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
