"""What is fitted, in numbers: the nodes `prior`, `init` and `likelihood` of a configuration."""

from typing import Annotated, Any, Self

from pydantic import Field, PlainValidator, model_validator

from sbnn.checked import Any_, Flag, Log, Pattern, Portion, Positive, Settings, complaint, whole_sentence


def _spread(value: Any) -> float | dict[int, float] | None:
    table = value if isinstance(value, dict) else {1: value}
    numbers = [isinstance(number, int | float) and not isinstance(number, bool) for number in table.values()]
    if not table or not all(numbers) or not all(0 <= number <= 3 for number in table.values()):
        raise complaint("must be a number in [0, 3], or a table of such numbers by width")
    if not all(isinstance(width, int) for width in table):
        raise complaint("must be a table by width, a whole number")
    return {width: float(number) for width, number in value.items()} if isinstance(value, dict) else float(value)


class PriorSettings(Settings):
    """The two widths of the mixture, its share of slab, and the weight decay of point estimates."""

    pi: Portion = 0.5
    log_tau1: Log = 0.0  # slab
    log_tau0: Log = -2.0  # spike
    log_decay: Log | None = None
    c: Annotated[float | dict[int, float], PlainValidator(_spread)] | None = None

    @model_validator(mode="after")
    def _spike_below_slab(self) -> Self:
        if self.log_tau0 >= self.log_tau1:
            raise whole_sentence(
                f"prior.log_tau0={self.log_tau0:g} (spike) must be below prior.log_tau1={self.log_tau1:g} (slab)"
            )
        return self


class InitSettings(Settings):
    """Where means and standard deviations start."""

    mean_scale: Positive = 0.5
    sigma: Positive | None = 0.02  # None is the spike's own width


class LikelihoodSettings(Settings):
    """The noise of a regression."""

    learned: Flag = True
    log_variance: Log = -1.0


class ModelSettings(Settings):
    """All of them, and the parameters that get no posterior."""

    prior: PriorSettings = Field(default_factory=PriorSettings)
    init: InitSettings = Field(default_factory=InitSettings)
    likelihood: LikelihoodSettings = Field(default_factory=LikelihoodSettings)
    leave_out: Any_[Pattern] = ()
