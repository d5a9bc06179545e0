"""What is fitted, in numbers: the nodes `prior`, `init` and `likelihood` of a configuration."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from sbnn.checked import Flag, ListOf, Log, Pattern, Portion, Settings, Within, whole_sentence


class PriorSettings(Settings):
    """The two widths of the mixture, its share of slab, and the weight decay of point estimates."""

    pi: Portion = 0.5
    log_tau1: Log = 0.0  # slab
    log_tau0: Log = -2.0  # spike
    log_decay: Log | None = None
    cost: Annotated[float, Within("[0, 1e6]")] = 1.0  # nats that L0 charges for a weight

    @model_validator(mode="after")
    def _spike_below_slab(self) -> Self:
        if self.log_tau0 >= self.log_tau1:
            raise whole_sentence(
                f"prior.log_tau0={self.log_tau0:g} (spike) must be below prior.log_tau1={self.log_tau1:g} (slab)"
            )
        return self


class InitSettings(Settings):
    """Where means and standard deviations start."""

    mean_scale: Annotated[float, Within("(0, 1000]")] = 0.5
    sigma: Annotated[float, Within("[1e-8, 100]")] | None = 0.02  # None is the spike's own width


class LikelihoodSettings(Settings):
    """The noise of a regression."""

    learned: Flag = True
    log_variance: Log = -1.0


class ModelSettings(Settings):
    """All of them, and the parameters that get no posterior."""

    prior: PriorSettings = Field(default_factory=PriorSettings)
    init: InitSettings = Field(default_factory=InitSettings)
    likelihood: LikelihoodSettings = Field(default_factory=LikelihoodSettings)
    leave_out: ListOf[Pattern] = ()
