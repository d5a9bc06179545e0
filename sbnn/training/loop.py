"""THE loop. Every experiment and every baseline trains here."""

import time
from collections.abc import Sequence

import torch
from torch import Tensor
from tqdm import tqdm

from sbnn.data.images import ImageData
from sbnn.data.replicas import ReplicaData
from sbnn.errors import Diverged
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Categorical, Gaussian
from sbnn.model.posteriors.mean_field import Deterministic, MeanField, shrinkage
from sbnn.model.priors.spike_slab import GaussianPrior, SpikeSlabPrior
from sbnn.streams import Streams
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.compiled import fused
from sbnn.training.distributed import World
from sbnn.training.optimizers import SGD, Adam
from sbnn.training.schedule import Plan, Training


def train(
    layout: Layout,
    posterior: MeanField | Deterministic,
    prior: SpikeSlabPrior | GaussianPrior | None,
    likelihood: Gaussian | Categorical,
    data: ReplicaData | ImageData,
    streams: Streams,
    training: Training,
    beside: dict[str, Tensor] | None = None,
    checkpoint: Checkpoint | None = None,
    bar: tqdm | None = None,
    world: World = World(),  # noqa: B008
) -> None:
    """Fit the posterior, and the parameters beside it, in place, all replicas at once (Algorithm 1).

    The objective of minibatch i is its *mean* negative log-likelihood plus `M r_i R / n`: the paper's
    `-log p(D_i | W) + r_i R`, both divided by the batch size. `beside` is a layout's; several processes, a `world`,
    share out every minibatch and all make the same step.
    """
    plan = Plan(training, prior, data.size)
    beside = layout.beside(len(posterior.mean)) if beside is None else beside
    aside = {name: beside[name] for name in layout.aside}
    buffers = {name: value for name, value in beside.items() if name not in aside}
    movable = [*posterior.theta, *aside.values(), *likelihood.parameters()]
    optimizer = Adam(movable) if training.optimizer == "adam" else SGD(movable, training.momentum)
    checkpoint = checkpoint or Checkpoint()
    watch = Watch(bar, posterior, likelihood, plan, world.leads)
    passes = fused(training.compile, layout, posterior, optimizer, plan, streams)
    eps = torch.empty_like(posterior.mean) if passes is None else None
    start, order = 0, None

    if (state := checkpoint.load(streams.device)) is not None:
        start, order = state["step"], state.get("order")
        for tensor, saved in zip(movable, state["movable"], strict=True):
            tensor.data.copy_(saved)
        for name, saved in state["buffers"].items():
            buffers[name].copy_(saved)
        if start < plan.steps:
            optimizer.load_states(state["optimizer"])
            streams.load_state(state["streams"])
    alike = [start, layout.size, int(passes is not None)]
    world.check(training.batch, 2 if layout.norms else 1, alike, streams.device)

    def gradients(weights: Tensor, step: int) -> list[Tensor]:
        """One Monte Carlo estimate, parameter by parameter; autograd sees no more than the sampled weights."""
        named = layout.unflatten(weights) | aside
        leaves = {name: value.detach().requires_grad_() for name, value in named.items()}
        with autocast(training.autocast, streams.device, likelihood):
            outputs = layout.forward(leaves, x, buffers).to(weights.dtype)  # (R, B, out)
        nll = likelihood.nll(outputs, y) * share  # (R,)
        wanted = [*leaves.values(), *likelihood.parameters()]
        grads = torch.autograd.grad(nll.sum(), wanted, materialize_grads=True)  # a parameter may go unused
        nll, *grads = world.total([nll.detach(), *grads])
        watch.see(step, weights, nll, outputs.detach(), y)
        return grads

    def estimate(step: int) -> list[Tensor]:
        """The same for everything movable, with the prior's pull."""
        grads = gradients(posterior.sample(streams.normal_(eps)), step)
        flat = torch.cat([grad.reshape(len(grad), -1) for grad in grads[: len(layout.names)]], dim=1)  # (R, M)
        with torch.no_grad():
            prior, weight = plan.prior(step), plan.penalty_weight(step)
            pulled = posterior.gradient(flat, eps, prior, weight, training.proximal)
        return [*pulled, *grads[len(layout.names) :]]

    layout.network.train()
    for step in range(start, plan.steps):
        position = step % plan.batches
        if position == 0:
            order = streams.permutations(data.size)  # (R, n)
        rows = order[:, position * training.batch :][:, : training.batch]  # (R, B)
        x, y = data.batch(rows, streams, world.part(training.batch))
        share = y.shape[1] / training.batch
        if passes is not None:
            weights = passes.sample(step)
            passes.update(weights, gradients(weights, step), step)
        else:
            draws = [estimate(step) for _ in range(training.samples)]
            shrunk = training.proximal and shrinkage(*posterior.theta, plan.prior(step), plan.shrink_rate(step))
            optimizer.step(average(draws), plan.learning_rate(step), step)
            if training.proximal:
                posterior.mean.div_(shrunk)
        if checkpoint.due():
            watch.check(movable)
            checkpoint.save(
                {
                    "step": step + 1,
                    "order": order,
                    "movable": movable,
                    "buffers": buffers,
                    "optimizer": [list(state) for state in optimizer.states],
                    "streams": streams.state(),
                }
            )
    watch.check(movable)
    watch.advance(plan.steps)
    layout.network.eval()
    if start < plan.steps:
        world.average_(buffers.values())
        checkpoint.save({"step": plan.steps, "movable": movable, "buffers": buffers})


def autocast(choice: str, device: torch.device, likelihood: Gaussian | Categorical) -> torch.autocast:
    """The network, and only that, in bfloat16: `always`, or with `auto` for labels where a GPU is made for it.

    Its three digits are too few for a regression whose noise is small.
    """
    fast = choice == "auto" and device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    fast = fast and isinstance(likelihood, Categorical)
    return torch.autocast(device.type, torch.bfloat16, enabled=fast or choice == "always")


def average(draws: list[list[Tensor]]) -> list[Tensor]:
    """The mean of several Monte Carlo estimates; a single one is passed through uncopied."""
    if len(draws) == 1:
        return draws[0]
    return [torch.stack(parts).mean(0) for parts in zip(*draws, strict=True)]


class Watch:
    """Looks at a fit without stopping the device: notes the first bad step there, reads it now and then."""

    def __init__(self, bar: tqdm | None, posterior, likelihood, plan: Plan, leads: bool):
        self.bar, self.posterior, self.likelihood, self.plan, self.leads = bar, posterior, likelihood, plan, leads
        never = torch.full((len(posterior.mean),), plan.steps + 1, device=posterior.mean.device)
        self.bad_weights, self.bad_nll = never, never.clone()  # first step at which each was non-finite, (R,)
        self.shown, self.counted, self.step = time.monotonic(), 0, 0

    def see(self, step: int, weights: Tensor, nll: Tensor, outputs: Tensor, y: Tensor) -> None:
        def first(known: Tensor, values: Tensor) -> Tensor:
            return torch.where(torch.isfinite(values), known, known.clamp(max=step))

        self.step = step
        self.bad_weights = first(self.bad_weights, weights.sum(-1))
        self.bad_nll = first(self.bad_nll, nll)
        if not self.leads or time.monotonic() - self.shown < 0.5:  # the process that can speak is the one to stop
            return
        self.check()
        if self.bar is not None:
            penalty = self.posterior.penalty(self.plan.prior(step)) / self.plan.n
            error = self.likelihood.error(outputs, y).mean()
            loss = (nll + penalty).mean()
            self.bar.set_postfix_str(f"loss {loss:.3f}, {self.likelihood.error_name} {error:.3f}", refresh=False)
            self.advance(step)
        self.shown = time.monotonic()

    def advance(self, step: int) -> None:
        if self.bar is not None:
            self.bar.update(step - self.counted)
            self.counted = step

    def check(self, moved: Sequence[Tensor] = ()) -> None:
        """Stop with a sentence if any replica has turned non-finite, or if the last update left `moved` so."""
        weights, nll = int(self.bad_weights.min()), int(self.bad_nll.min())
        if not all(bool(torch.stack(tensor.aminmax()).isfinite().all()) for tensor in moved):
            weights = min(weights, self.step + 1)
        step = min(weights, nll)
        if step > self.plan.steps:
            return
        term = "weights" if weights <= nll else "negative log-likelihood"
        cause = f"the learning rate is too high for this network and data: lower trainer.lr={self.plan.training.lr:g}"
        gain = self.plan.gain(max(step - 1, 0))
        if gain > 2:
            term = "penalty's gradient" if weights <= nll else term
            cause = (
                f"a step moves a weight in the spike by {gain:.3g} times itself (stable below 2): lower trainer.lr, "
                "widen the spike (prior.log_tau0) or use trainer.penalty=uniform"
            )
        raise Diverged(f"Training diverged at step {step} of {self.plan.steps}: the {term} became non-finite; {cause}.")
