"""THE loop. Every experiment and every rival trains here."""

from tqdm import tqdm

from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.streams import Streams
from sbnn.training.checkpoint import Checkpoint, TrainingState
from sbnn.training.checks import check_data
from sbnn.training.compiled import compiled_step
from sbnn.training.distributed import World
from sbnn.training.monitor import Monitor
from sbnn.training.optimizers import optimizer_of
from sbnn.training.schedule import Plan
from sbnn.training.settings import Training
from sbnn.training.step import EagerStep

ALONE = World()


def train(
    fit: Fit,
    data: ReplicaSource,
    streams: Streams,
    training: Training,
    checkpoint: Checkpoint | None = None,
    bar: tqdm | None = None,
    world: World = ALONE,
) -> None:
    """Train all replicas of a fit at once, in place (Algorithm 1).

    The objective of minibatch i is its *mean* negative log-likelihood plus `M r_i R / n`: the paper's
    `-log p(D_i | W) + r_i R`, both divided by the batch size. NonEmpty processes, a `world`, divide every minibatch
    among them and all make the same step.
    """
    checkpoint, plan = checkpoint or Checkpoint(), Plan(training, fit.prior, data.size)
    optimizer = optimizer_of(training, fit.movable())
    parts = fit, optimizer, plan, streams, world
    step = compiled_step(*parts) or EagerStep(*parts)
    state, monitor = TrainingState(fit, optimizer, plan, streams), Monitor(fit, plan, bar, world.leads)
    checkpoint.restore(state, streams.device)
    is_over = state.step == plan.steps
    alike = [state.step, fit.layout.size, int(step.is_compiled)]
    world.check(training.batch, 2 if fit.layout.norms else 1, alike, streams.device)

    check_data(fit, data)
    fit.layout.network.train()
    while state.step < plan.steps:
        x, y = data.batch(state.next_rows(), streams, world.part(training.batch))
        monitor.see(state.step, step(state.step, x, y))
        state.step += 1
        if checkpoint.is_due() and state.step < plan.steps:
            monitor.check(state.movable)
            checkpoint.save(state.saved())
    monitor.finish(state.movable)
    fit.layout.network.eval()
    if not is_over:
        world.average_(state.buffers.values())
        checkpoint.save(state.saved())
