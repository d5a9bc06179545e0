import pytest
import torch

from sbnn.model.priors.spike_slab import SpikeSlabPrior
from sbnn.training.schedule import Plan, learning_rate, penalty_shares
from sbnn.training.settings import Training


@pytest.mark.parametrize("kind", ["uniform", "blundell"])
@pytest.mark.parametrize("batches", [1, 2, 7, 469, 5000])
def test_penalty_shares_sum_to_one(kind, batches):
    shares = penalty_shares(kind, batches)
    assert len(shares) == batches
    assert sum(shares) == pytest.approx(1, abs=1e-12)


def test_blundell_halves_at_each_batch():
    shares = penalty_shares("blundell", 4)
    assert shares == pytest.approx([8 / 15, 4 / 15, 2 / 15, 1 / 15])


@pytest.mark.parametrize("kind", ["uniform", "blundell"])
def test_one_epoch_of_minibatch_penalties_is_one_full_penalty(kind):
    """Each step's objective is the paper's divided by the batch size; summed and multiplied back it weighs one."""
    plan = Plan(Training(epochs=3, batch=20, lr=0.1, penalty=kind), SpikeSlabPrior(), n=100)
    weights = [plan.penalty_weight(step) * 20 for step in range(plan.batches)]
    assert sum(weights) == pytest.approx(1)


def test_temperature_and_warm_up_scale_the_penalty():
    plan = Plan(Training(epochs=10, batch=10, lr=0.1, temperature=0.5, warmup=0.5), SpikeSlabPrior(), n=10)
    assert [plan.penalty_weight(step) * 10 for step in (0, 1, 5, 9)] == pytest.approx([0, 0.1, 0.5, 0.5])


def test_spike_narrows_from_wide_to_its_final_width():
    training = Training(epochs=10, batch=10, lr=0.1, anneal_from=-1.0, anneal_share=0.5)
    plan = Plan(training, SpikeSlabPrior(0.0, -5.0, 0.5), n=10)
    widths = [plan.prior(step).log_tau0 for step in range(10)]
    assert widths[0] == -1.0
    assert widths[:6] == sorted(widths[:6], reverse=True)
    assert widths[5:] == [-5.0] * 5


def test_learning_rates():
    assert learning_rate("constant", 0.1, 0.7) == 0.1
    assert learning_rate("cosine", 0.1, 0.0) == pytest.approx(0.1)
    assert learning_rate("cosine", 0.1, 0.5) == pytest.approx(0.05, rel=0.01)
    assert learning_rate("one_cycle", 0.1, 0.0) == pytest.approx(0.004)
    assert learning_rate("one_cycle", 0.1, 0.3) == pytest.approx(0.1)
    assert learning_rate("one_cycle", 0.1, 0.9999) < 1e-4


def test_one_cycle_is_torchs():
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=1001, cycle_momentum=False)
    rates = []
    for _ in range(1001):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        cycle.step() if len(rates) < 1001 else None
    ours = [learning_rate("one_cycle", 0.1, step / 1000) for step in range(1001)]
    assert ours == pytest.approx(rates, abs=3e-4)


def test_steps_take_the_place_of_epochs_in_whole_epochs():
    def count(steps):
        return Plan(Training(epochs=3, batch=30, lr=0.1, steps=steps), None, n=100).steps

    assert [count(None), count(1), count(10), count(301)] == [9, 3, 9, 300]
