"""The batched side: which environment has which perturbations, and in what order they act."""

from collections.abc import Mapping, Sequence

import numpy as np

from drspcrl.perturbations.kernel import Context, Kernel
from drspcrl.perturbations.setting import Perturbation

# (place in the nesting, occurrence of the kind inside it, kind and settings)
Key = tuple[int, int, str]


class Disturbances:
    """Applies to each environment of a batch the perturbations of its own setting.

    Environments that share a perturbation, up to its level, are served by one kernel. As with
    wrappers, actions pass from the outermost to the innermost, observations the other way.

    Args:
        context: the environments.
    """

    def __init__(self, context: Context):
        self._context = context
        self._kernels: dict[Key, Kernel] = {}
        self._members: dict[Key, np.ndarray] = {}
        self._sequences = [np.random.SeedSequence(0)] * context.num_envs

    def assign(self, ids: np.ndarray, settings: Sequence[Sequence[Perturbation]]) -> None:
        """Replace the perturbations of some environments."""
        wanted: dict[Key, dict[int, Perturbation]] = {}
        for i, parts in zip(ids, settings, strict=True):
            for slot, part in enumerate(parts):
                occurrence = sum(part.name == inner.name for inner in parts[:slot])
                wanted.setdefault((slot, occurrence, part.kind), {})[int(i)] = part
        for key, rows in wanted.items():
            if key not in self._kernels:
                self._add(key, next(iter(rows.values())))
        for key, kernel in self._kernels.items():
            self._reassign(key, kernel, ids, wanted.get(key, {}))

    def _add(self, key: Key, part: Perturbation) -> None:
        kernel = part.wrapper.Kernel(
            self._context, layer=f"{key[0]:02d}-{part.kind}", **part.settings
        )
        self._kernels[key] = kernel
        self._members[key] = np.zeros(0, int)
        self._kernels = dict(sorted(self._kernels.items()))

    def _reassign(
        self, key: Key, kernel: Kernel, ids: np.ndarray, rows: Mapping[int, Perturbation]
    ) -> None:
        members = self._members[key]
        leaving = np.array([i for i in np.intersect1d(members, ids) if i not in rows], int)
        joining = np.array([i for i in rows if i not in members], int)
        if leaving.size:
            kernel.retire(leaving)
        if joining.size:
            kernel.seed(joining, [self._sequences[i] for i in joining], key[1])
        for i, part in rows.items():
            kernel.check_task(part.level)
            kernel.levels[i] = part.level
        self._members[key] = np.union1d(np.setdiff1d(members, leaving), joining).astype(int)

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """Start the streams of some environments again."""
        own = dict(zip(ids.tolist(), sequences, strict=True))
        for i, sequence in own.items():
            self._sequences[i] = sequence
        for key, kernel, members in self._acting():
            rows = np.intersect1d(members, ids)
            kernel.seed(rows, [own[i] for i in rows.tolist()], key[1])

    def begin(self, ids: np.ndarray) -> None:
        """Episodes are about to begin in some environments."""
        for _, kernel, members in self._acting("begin"):
            rows = np.intersect1d(members, ids)
            if rows.size:
                kernel.begin(rows)

    def act(self, actions: np.ndarray) -> np.ndarray:
        """The actions that reach the simulators; pushes are set for the coming step."""
        changed = actions
        for _, kernel, members in reversed(self._acting("action")):
            changed = actions.copy() if changed is actions else changed
            changed[members] = kernel.action(members, changed[members])
        for _, kernel, members in reversed(self._acting("force")):
            kernel.force(members)
        return changed

    def release(self) -> None:
        """Take back the pushes of the step that was taken."""
        if self._context.physics is not None:
            self._context.physics.clear_forces()

    def observe(self, ids: np.ndarray, observations: np.ndarray) -> np.ndarray:
        """What the agents of the environments `ids` see of `observations`, written into them."""
        for _, kernel, members in self._acting("observation"):
            rows = np.flatnonzero(np.isin(ids, members))
            if rows.size:
                observations[rows] = kernel.observation(ids[rows], observations[rows])
        return observations

    def _acting(self, hook: str | None = None) -> list[tuple[Key, Kernel, np.ndarray]]:
        return [
            (key, kernel, self._members[key])
            for key, kernel in self._kernels.items()
            if self._members[key].size and (hook is None or hook in kernel.hooks)
        ]

    def state(self) -> dict[str, np.ndarray]:
        """Levels, members, streams and memories of all kernels."""
        saved: dict[str, np.ndarray] = {}
        for key, kernel in self._kernels.items():
            own = {"levels": kernel.levels, **kernel.memory()}
            own["members"] = np.isin(np.arange(self._context.num_envs), self._members[key])
            draws = {} if kernel.draws is None else kernel.draws.state()
            name = "-".join(map(str, key))
            saved |= {f"{name}/{k}": v.copy() for k, v in (own | draws).items()}
        return saved

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a `state()`."""
        for key, kernel in self._kernels.items():
            name = "-".join(map(str, key))
            for field, array in {"levels": kernel.levels, **kernel.memory()}.items():
                array[...] = state[f"{name}/{field}"]
            self._members[key] = np.flatnonzero(state[f"{name}/members"])
            if kernel.draws is not None:
                streams = {k: state[f"{name}/{k}"] for k in ("generators", "cursor")}
                kernel.draws.restore(streams)
