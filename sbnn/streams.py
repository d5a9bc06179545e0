"""One random stream per replica, so that a replica's numbers do not depend on its company."""

import hashlib

import torch
from torch import Tensor


def seed_of(*key: object) -> int:
    """A seed from readable parts, seed_of(0, "sBNN", "alpha", 2); 2 and 2.0 are the same part."""
    parts = (f"{part:g}" if isinstance(part, float) else str(part) for part in key)
    digest = hashlib.blake2b("/".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def seed_modules(seed: int, device: torch.device) -> torch.Generator:
    """Seed what modules draw for themselves (dropout): the device's default generator."""
    default = torch.default_generator
    if device.type == "cuda":
        torch.cuda.init()
        default = torch.cuda.default_generators[torch.cuda.current_device() if device.index is None else device.index]
    return default.manual_seed(seed)


class Streams:
    """Generators on the training device, one per replica, with their draws stacked.

    What a module draws for itself (dropout) comes from the device's default generator, which is seeded here
    and travels in the state: such a fit repeats, but its replicas do depend on their company.
    """

    def __init__(self, seeds: list[int], device: torch.device | str = "cpu"):
        self.device = torch.device(device)
        self.seeds = seeds
        self.generators = [torch.Generator(self.device).manual_seed(seed) for seed in seeds]
        self.default = seed_modules(seeds[0], self.device)

    def __len__(self) -> int:
        return len(self.generators)

    def normal_(self, out: Tensor) -> Tensor:
        """Fill (R, ...) with standard normal noise, row r from stream r."""
        for row, generator in zip(out, self.generators, strict=True):
            row.normal_(generator=generator)
        return out

    def keys(self, count: int, *name: object) -> Tensor:
        """(count, R, 2) random int32: keys for `noise`, the same whenever asked for by the same name."""
        own = [torch.Generator().manual_seed(seed_of(seed, "keys", *name)) for seed in self.seeds]
        drawn = [torch.randint(-(2**31), 2**31, (count, 2), generator=g, dtype=torch.int32) for g in own]
        return torch.stack(drawn, 1).to(self.device)

    def permutations(self, n: int) -> Tensor:
        """(R, n): a shuffle of 0..n-1 for every replica."""
        return torch.stack([torch.randperm(n, generator=g, device=self.device) for g in self.generators])

    def state(self) -> Tensor:
        return torch.stack([g.get_state() for g in (*self.generators, self.default)])

    def load_state(self, state: Tensor) -> None:
        for generator, saved in zip((*self.generators, self.default), state.cpu(), strict=True):
            generator.set_state(saved.clone())  # torch reads past a view into a larger tensor
