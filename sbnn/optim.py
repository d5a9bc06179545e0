"""Adam and SGD with momentum on a few flat tensors, in place. The learning rate is given at each step."""

import torch
from torch import Tensor


class Adam:
    def __init__(self, parameters: list[Tensor], betas: tuple[float, float] = (0.9, 0.999)):
        self.parameters = parameters
        self.betas = betas
        self.moments = [(torch.zeros_like(p), torch.zeros_like(p)) for p in parameters]
        self.count = 0

    @torch.no_grad()
    def step(self, gradients: list[Tensor], lr: float) -> None:
        self.count += 1
        fast, slow = self.betas
        size = lr / (1 - fast**self.count)
        unbias = (1 - slow**self.count) ** 0.5
        for parameter, gradient, (first, second) in zip(self.parameters, gradients, self.moments, strict=True):
            first.lerp_(gradient, 1 - fast)
            second.mul_(slow).addcmul_(gradient, gradient, value=1 - slow)
            parameter.addcdiv_(first, second.sqrt().div_(unbias).add_(1e-8), value=-size)

    def state(self) -> dict:
        return {"count": self.count, "moments": [list(pair) for pair in self.moments]}

    def load_state(self, state: dict) -> None:
        self.count = state["count"]
        for pair, saved in zip(self.moments, state["moments"], strict=True):
            for tensor, value in zip(pair, saved, strict=True):
                tensor.copy_(value)


class SGD:
    def __init__(self, parameters: list[Tensor], momentum: float = 0.9):
        self.parameters = parameters
        self.momentum = momentum
        self.velocities = [torch.zeros_like(p) for p in parameters]

    @torch.no_grad()
    def step(self, gradients: list[Tensor], lr: float) -> None:
        for parameter, gradient, velocity in zip(self.parameters, gradients, self.velocities, strict=True):
            velocity.mul_(self.momentum).add_(gradient)
            parameter.sub_(velocity, alpha=lr)

    def state(self) -> dict:
        return {"velocities": self.velocities}

    def load_state(self, state: dict) -> None:
        for velocity, saved in zip(self.velocities, state["velocities"], strict=True):
            velocity.copy_(saved)
