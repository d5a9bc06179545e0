"""THE loop. Every experiment and every rival trains here."""

from tqdm import tqdm

from sbnn.data.source import ReplicaSource
from sbnn.model.fit import Fit
from sbnn.streams import Streams
from sbnn.training.checkpoint import Checkpoint, TrainingState
from sbnn.training.checks import check_data
from sbnn.training.compiled import ways
from sbnn.training.distributed import World
from sbnn.training.history import History, Recorder
from sbnn.training.masking import masking_of
from sbnn.training.monitor import Monitor
from sbnn.training.optimizers import optimizer_of
from sbnn.training.schedule import Plan
from sbnn.training.settings import Training
from sbnn.training.step import Step

ALONE = World()


def train(
    fit: Fit,
    data: ReplicaSource,
    streams: Streams,
    training: Training,
    checkpoint: Checkpoint | None = None,
    bar: tqdm | None = None,
    world: World = ALONE,
) -> History:
    """Train all replicas of a fit at once, in place (Algorithm 1), and return how it went.

    The objective of minibatch i is its *mean* negative log-likelihood plus `M r_i R / n`: the paper's
    `-log p(D_i | W) + r_i R`, both divided by the batch size. Several processes, a `world`, divide every minibatch
    among them and all make the same step.
    """
    checkpoint, plan = checkpoint or Checkpoint(), Plan(training, fit.prior, data.size)
    optimizer, masking = optimizer_of(training, fit.movable()), masking_of(fit, plan, streams)
    step = Step(fit, data, optimizer, plan, streams, world)
    step.ways = ways(fit, plan, world)
    state, monitor = TrainingState(fit, optimizer, plan, streams), Monitor(step, bar)
    checkpoint.restore(state, streams.device)
    recorder = Recorder(fit, plan, state.history)
    is_over = state.step == plan.steps
    alike = [state.step, fit.layout.size, len(step.ways)]
    world.check(training.batch, 2 if fit.layout.norms else 1, alike, streams.device)

    check_data(fit, data)
    fit.layout.train()
    while state.step < plan.steps:
        rows = state.next_rows()
        if masking is not None:
            masking.before(step, state.step, rows)
        sight = step(state.step, rows)
        monitor.see(state.step, sight)
        recorder.see(state.step, sight, checkpoint.seconds)
        state.step += 1
        if checkpoint.is_due() and state.step < plan.steps:
            monitor.check(state.movable)
            checkpoint.save(state.saved())
    monitor.finish(state.movable)
    if masking is not None:
        masking.finish()
    fit.layout.network.eval()
    if not is_over:
        world.average_(state.buffers.values())
        checkpoint.save(state.saved())
    return state.history
