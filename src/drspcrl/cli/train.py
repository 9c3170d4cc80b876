"""`drspcrl train`."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from drspcrl.errors import InputError


@dataclass(frozen=True)
class Train:
    """Train every (method, seed) as one population; each leaves a run folder in OUT."""

    env: str
    """Task: Hopper, HalfCheetah, Walker2d, Humanoid, or any Gymnasium id with Box spaces."""
    algorithm: Literal["ppo", "sac", "ddpg"]
    """Learner."""
    out: Path
    """Folder that the run folders are made in."""
    methods: tuple[str, ...] = ("vanilla",)
    """Methods to train, each with every seed."""
    seeds: tuple[int, ...] = (0,)
    """Seeds; everything random in a run follows from its seed alone."""
    steps: int = 1_000_000
    """Environment steps of each run."""
    settings: Annotated[tuple[str, ...], tyro.conf.arg(name="set")] = field(default=())
    """Hyper-parameters that differ from the preset, e.g. --set critic_lr=3e-4 hidden=[64,64]."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to learn; auto takes a GPU if JAX finds one."""
    replay_memory: Literal["device", "host"] = "device"
    """Where replay buffers live; host spares the GPU's memory and is slower."""
    deterministic: bool = False
    """Bit-equal repetition on a GPU too, at some cost; a CPU always repeats itself."""
    threads: int = 0
    """Threads for the physics, 0 for all cores; results do not depend on it."""
    log_every: int = 1000
    """Steps between rows of metrics.csv."""
    evaluate_every: int = 0
    """Steps between evaluations without exploration, whose best policy is kept; 0 for none."""
    evaluate_episodes: int = 10
    """Episodes of each evaluation and run."""
    time_limit: float | None = None
    """Seconds after which to stop cleanly with what has been learned."""
    tensorboard: bool = True
    """Write TensorBoard events into each run folder."""
    track: Literal["none", "trackio", "wandb"] = "none"
    """Also log to this tracker; needs the extra `tracking`."""

    def run(self) -> None:
        """Train."""
        from drspcrl.trainer.config import TrainConfig

        given = {**vars(self), "settings": parse_settings(self.settings)}
        config = TrainConfig(**given)
        from drspcrl.trainer.run import train

        for folder in train(config):
            print(folder)


def parse_settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Settings from `name=value` texts, the values read as YAML.

    Raises:
        InputError: a text without a name or a value, or a name given twice.
    """
    from drspcrl.variants import read_value

    settings = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals and text):
            raise InputError(f"--set {pair!r} is not name=value, e.g. critic_lr=3e-4")
        if name in settings:
            raise InputError(f"--set {name} is given twice")
        try:
            settings[name] = read_value(text)
        except ValueError:
            raise InputError(f"--set {pair!r} has no readable value") from None
    return settings
