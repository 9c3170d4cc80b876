"""What runs the pieces of a grid: in processes of this machine, or on a Ray cluster.

Tasks and outcomes are plain data, and what is done for a task is one function of it
(`drspcrl.experiments.worker.work`), so an engine only has to bring tasks to where they are worked
at, and outcomes and run folders back.
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
        storage: a folder that may hold newer checkpoints of the piece than `out`; None for none.
    """

    piece: str
    population: Mapping[str, Any]
    out: str
    machine: Mapping[str, Any] = field(default_factory=dict)
    evaluation: Mapping[str, Any] | None = None
    time_limit: float | None = None
    storage: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What has become of a task.

    Attributes:
        piece: the name of its piece.
        status: `running` when it begins; `lost` when its machine is gone, after which it begins
            again; at last once `done`, `interrupted` or `failed`.
        error: one line about a failure or a loss.
        seconds: how long it took.
    """

    piece: str
    status: Literal["running", "lost", "done", "interrupted", "failed"]
    error: str = ""
    seconds: float = 0.0


class Engine(ABC):
    """Brings tasks to where they are worked at.

    Attributes:
        threads: threads for the physics of one piece where the user names no number.
    """

    threads: int = 0

    def memory(self, device: str) -> float | None:
        """Bytes that one population may have; None if unknown."""
        return None

    @abstractmethod
    def run(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """Work at tasks, in their order as far as places are free.

        Gives `running` when a task begins and one last outcome when it ends; a task that fails
        ends itself alone. Tasks that do not begin before the engine is told to stop have no
        outcome. Closing the iterator stops what is running.
        """
