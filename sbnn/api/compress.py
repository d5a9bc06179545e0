"""`compress`: the front door. A network of one's own and data in, a posterior over its weights out."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from sbnn.api.examples import Examples, read_examples
from sbnn.api.network import device_of, dtype_of, own_copy, placed, spread
from sbnn.api.result import Result
from sbnn.api.task import Loss, Output, Task, task_of
from sbnn.data.nested import Inputs, each
from sbnn.errors import ConfigError
from sbnn.model.fit import Fit
from sbnn.model.flat import Layout
from sbnn.model.likelihoods import Labels
from sbnn.model.posteriors.mean_field import MeanField
from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.streams import Streams, seed_of
from sbnn.training.checkpoint import Checkpoint
from sbnn.training.loop import train as run_loop
from sbnn.training.schedule import Plan
from sbnn.training.settings import Gradual, Training

# In units of the root mean square of the network's own weights; those of LeNet-300-100's tuned recipe from He's start.
SLAB, SPIKE, SIGMA = 2.7, 0.13, 0.2


def compress(
    network: nn.Module,
    train: Any,
    *,
    epochs: int = 20,
    droprate: float | None = None,
    loss: Loss | None = None,
    output: Output = None,
    batch: int | None = None,
    lr: float = 1e-3,
    optimizer: str = "adam",
    temperature: float = 0.5,
    prior: SpikeSlabPrior | None = None,
    leave_out: Sequence[str] = (),
    replicas: int = 1,
    seed: int = 0,
    device: str | torch.device = "auto",
    checkpoint: str | Path | None = None,
    progress: bool = True,
) -> Result:
    """Put a spike-and-slab posterior on the weights of a network, trained or not, and train it.

    `train` is a DataLoader, a Dataset or tensors (x, y); x may be a tuple or a dict, which the network is called with.
    Whole numbers are labels, real ones a regression's targets; `loss(outputs, y)`, a negative log-likelihood for each
    example, serves for the rest. `output` picks the tensor that counts if the network returns more than one: a name, a
    place or a function. `batch` is by default a fiftieth of the examples, 16 to 128. With `droprate` the weights
    of lowest signal-to-noise ratio leave while the rest is trained, which is far better at that droprate than pruning
    afterwards. `prior` and where sigmas start are chosen from the spread of the network's own weights, where the means
    start. The penalty counts `temperature` times: 1 is Bayes' rule, less fits better. `leave_out` names parameters
    ("head.*") that are trained and not pruned. `replicas` are trained at once, each with noise of its own, and predict
    together. `checkpoint` is a file to go on from. The network itself is not changed.
    """
    place = device_of(device)
    own = own_copy(network, place)
    x, y = (each(lambda t: placed(t, place, dtype_of(own)), part) for part in read_examples(train))
    task = task_of(own, *first_rows(x, y), output, loss)
    layout, data = Layout(own, leave_out, task.output), Examples.of(x, task.targets(y), replicas)
    labels = task.targets(y)[0].numel() if task.kind is Labels else 1  # an example's: n of them make one penalty
    training = checked_training(
        epochs=epochs,
        batch=min(batch or default_batch(len(y)), len(y)),
        lr=lr,
        optimizer=optimizer,
        temperature=temperature / labels,
        prune_to=droprate,
        gradual=Gradual(biases=False),
    )
    fit = started(layout, task, data, prior)
    streams = Streams([seed_of(seed, "compress", replica) for replica in range(replicas)], place)
    kept = Checkpoint(
        None if checkpoint is None else Path(checkpoint), fingerprint=_fingerprint(fit, data, training, seed)
    )
    steps = Plan(training, fit.prior, data.size).steps
    with torch.random.fork_rng(), tqdm(total=steps, desc="compress", unit="step", disable=not progress) as bar:
        history = run_loop(fit, data, streams, training, kept, bar)
    return Result(fit, task, history.rows(), data, _device(network))


def started(layout: Layout, task: Task, data: Examples, prior: SpikeSlabPrior | None) -> Fit:
    """Every replica at the network's own weights."""
    size, replicas = spread(layout), len(data)
    prior = prior or SpikeSlabPrior(math.log(SLAB * size), math.log(SPIKE * size), 0.5)
    posterior = MeanField.around(layout.flatten().expand(replicas, -1), SIGMA * size)
    shape = tuple(data.x.shape[1:]) if isinstance(data.x, Tensor) else None
    return Fit(layout, posterior, prior, task.likelihood(replicas, residual(layout, data)), shape=shape)


@torch.no_grad()
def residual(layout: Layout, data: Examples) -> Tensor:
    """The mean square of what the network leaves unexplained as it is: where a regression's noise starts."""
    if not data.y.is_floating_point():
        return layout.flatten().new_ones(())
    layout.network.eval()
    x, y = data[:1].batches()[0].all()
    found = layout.forward(layout.flatten()[None], x)
    return (found - y).square().mean().clamp_min(1e-6) if found.shape == y.shape else found.new_ones(())


def default_batch(examples: int) -> int:
    """Small data need small batches to be seen in enough steps."""
    return max(16, min(128, examples // 50))


def first_rows(x: Inputs, y: Tensor) -> tuple[Inputs, Tensor]:
    return each(lambda tensor: tensor[:4], x), y[:4]


def checked_training(**settings: Any) -> Training:
    """Its own complaint names keys of a configuration; here they are arguments."""
    try:
        return Training(**settings)
    except ConfigError as error:
        raise ConfigError(str(error).replace("trainer.", "").replace("prune_to", "droprate")) from error


def _fingerprint(fit: Fit, data: Examples, training: Training, seed: int) -> str:
    return repr((fit.layout.names, fit.layout.shapes, fit.prior, tuple(data.rows.shape), training, seed))


def _device(network: nn.Module) -> torch.device:
    return next(network.parameters()).device
