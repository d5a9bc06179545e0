"""How to train: the `trainer` node of a configuration, where each key is explained."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from sbnn.checked import Count, Droprate, Flag, Log, OneOf, Settings, Share, Size, Within, whole_sentence
from sbnn.compression.pruning import Pruning
from sbnn.compression.scores import SCORES

Rate = Annotated[float, Within("(0, 1e30]")]
Steps = Annotated[int, Within("[1, 1e12]")]
When = Annotated[str, OneOf("auto", "always", "never")]
COMEBACKS = NEVER, MAGNITUDE, GRADIENT = ("never", "magnitude", "gradient")


class Gradual(Pruning):
    """How weights leave while a network is trained, and which compete."""

    scope: Annotated[str, OneOf("global", "layer")] = "global"
    begin: Share = 0.2
    end: Annotated[float, Within("(0, 1)")] = 0.75
    every: Steps = 100
    score: Annotated[str, OneOf(*SCORES)] | None = None
    comeback: Annotated[str, OneOf(*COMEBACKS)] = NEVER

    @model_validator(mode="after")
    def _begins_first(self) -> Self:
        if self.begin >= self.end:
            raise whole_sentence(f"trainer.gradual.begin={self.begin:g} must be below trainer.gradual.end={self.end:g}")
        return self


class Training(Settings):
    epochs: Steps
    steps: Steps | None = None
    batch: Count
    optimizer: Annotated[str, OneOf("adam", "sgd")] = "adam"
    lr: Rate
    momentum: Annotated[float, Within("[0, 1)")] = 0.9
    schedule: Annotated[str, OneOf("constant", "cosine", "one_cycle")] = "one_cycle"
    samples: Size = 1
    penalty: Annotated[str, OneOf("uniform", "blundell")] = "uniform"
    proximal: Flag = False
    temperature: Rate = 1.0
    warmup: Share = 0.0
    anneal_from: Log | None = None
    anneal_share: Share = 0.6
    prune_to: Droprate | None = None
    gradual: Gradual = Field(default_factory=Gradual)
    compile: When = "auto"
    autocast: When = "auto"
