"""What runs the pieces of a grid: here in processes of their own, later on a cluster.

Tasks and outcomes are plain data, and what is done for a task is one function of it
(`drspcrl.experiments.worker.work`), so an engine only has to bring tasks to where they are worked
at and outcomes back. Run folders must be on a disk that both sides see.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Task:
    """What is to be done for one piece.

    Attributes:
        piece: its name.
        population: what is trained, as `Population.plain` gives it.
        out: the grid's folder.
        machine: device and threads, as in `TrainConfig`.
        evaluation: suite and episodes; None evaluates nothing.
        time_limit: seconds after which to stop with a checkpoint, None for no limit.
    """

    piece: str
    population: Mapping[str, Any]
    out: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    evaluation: Mapping[str, Any] | None = None
    time_limit: float | None = None


@dataclass(frozen=True)
class Outcome:
    """What has become of a task.

    Attributes:
        piece: the name of its piece.
        status: `running` when it begins; then once `done`, `interrupted` or `failed`.
        error: one line about a failure.
        seconds: how long it took.
    """

    piece: str
    status: Literal["running", "done", "interrupted", "failed"]
    error: str = ""
    seconds: float = 0.0


class Engine(ABC):
    """Brings tasks to where they are worked at."""

    @abstractmethod
    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Work at tasks, in their order as far as places are free.

        Gives `running` when a task begins and one other outcome when it ends; a task that fails
        ends itself alone. Tasks that do not begin before the engine is told to stop have no
        outcome. Closing the iterator stops what is running.
        """
