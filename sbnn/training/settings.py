"""How to train: the `trainer` node of a configuration, where each key is explained."""

from typing import Annotated

from sbnn.checked import Count, Flag, Log, OneOf, Settings, Share, Size, Within

Rate = Annotated[float, Within("(0, 1e30]")]
Steps = Annotated[int, Within("[1, 1e12]")]
When = Annotated[str, OneOf("auto", "always", "never")]


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
    compile: When = "auto"
    autocast: When = "auto"
