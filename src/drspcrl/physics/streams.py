"""Random streams: one per environment and use, so that no result depends on the batch around it.

Every environment has a `SeedSequence`. Its start states come from the sequence itself, exactly as
in Gymnasium's `reset(seed=…)`; each perturbation draws from a child of it. A Gymnasium wrapper and
its batched twin that got the same seed therefore meet the same draws.
"""

from collections.abc import Sequence

import numpy as np

from drspcrl.display import shown
from drspcrl.errors import InputError

Seed = int | Sequence[int] | np.random.SeedSequence

_BLOCK_NUMBERS = 4096  # numbers drawn ahead per environment; results do not depend on it
_WORD = (1 << 64) - 1


def as_sequence(seed: Seed) -> np.random.SeedSequence:
    """Turn an integer, a tuple such as (seed, setting, episode), or a sequence into a sequence."""
    if isinstance(seed, np.random.SeedSequence):
        return seed
    entropy = [seed] if isinstance(seed, int | np.integer) else list(seed)
    if not entropy or any(not isinstance(e, int | np.integer) or e < 0 for e in entropy):
        raise InputError(f"seed is {shown(seed)}; give non-negative integers, e.g. 0 or (0, 3, 17)")
    # One integer must give what Gymnasium gives for it, so it is not wrapped into a list.
    return np.random.SeedSequence(
        int(entropy[0]) if len(entropy) == 1 else [int(e) for e in entropy]
    )


def child(sequence: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """The descendant `key` of a sequence, without changing the sequence as `spawn` would."""
    return np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, *key))


def generator(sequence: np.random.SeedSequence) -> np.random.Generator:
    """The same kind of generator that Gymnasium makes."""
    return np.random.Generator(np.random.PCG64(sequence))


def pack(generators: Sequence[np.random.Generator]) -> np.ndarray:
    """The generators' states as uint64[n, 6], free of pickle and of 128-bit integers."""
    rows = np.empty((len(generators), 6), np.uint64)
    for row, source in zip(rows, generators, strict=True):
        state = source.bit_generator.state
        numbers = state["state"]
        row[:] = (
            numbers["state"] >> 64,
            numbers["state"] & _WORD,
            numbers["inc"] >> 64,
            numbers["inc"] & _WORD,
            state["has_uint32"],
            state["uinteger"],
        )
    return rows


def unpack(generators: Sequence[np.random.Generator], rows: np.ndarray) -> None:
    """Put the generators into the states that `pack` recorded."""
    for target, row in zip(generators, rows, strict=True):
        high, low, inc_high, inc_low, has_uint32, uinteger = (int(word) for word in row)
        target.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": (high << 64) | low, "inc": (inc_high << 64) | inc_low},
            "has_uint32": has_uint32,
            "uinteger": uinteger,
        }


class Draws:
    """Vectors of random numbers for many environments, each from its own generator.

    Numbers are drawn in blocks, which NumPy guarantees to be the numbers that single draws would
    give; so a step of a large batch costs one gather instead of one Python call per environment.

    Args:
        num_envs: number of environments.
        size: length of one draw.
        normal: standard normal numbers instead of uniform ones in [0, 1).
        ahead: whether many draws per episode are to be expected.
    """

    def __init__(self, num_envs: int, size: int, *, normal: bool = False, ahead: bool = True):
        length = max(1, min(64, _BLOCK_NUMBERS // max(1, size))) if ahead else 1
        self._normal = normal
        self._block = np.zeros((num_envs, length, size))
        self._cursor = np.full(num_envs, length)
        # Placeholders until seed() is called for an environment.
        self._generators = [generator(np.random.SeedSequence(0)) for _ in range(num_envs)]
        self._marks = pack(self._generators)

    def seed(self, ids: np.ndarray, sequences: Sequence[np.random.SeedSequence]) -> None:
        """Start the streams of some environments again."""
        for i, sequence in zip(ids, sequences, strict=True):
            self._generators[i] = generator(sequence)
        self._cursor[ids] = self._block.shape[1]

    def take(self, ids: np.ndarray) -> np.ndarray:
        """One draw for each of the environments `ids`, as [len(ids), size]."""
        empty = ids[self._cursor[ids] == self._block.shape[1]]
        if empty.size:
            self._refill(empty)
        drawn = self._block[ids, self._cursor[ids]]
        self._cursor[ids] += 1
        return drawn

    def _refill(self, ids: np.ndarray) -> None:
        self._marks[ids] = pack([self._generators[i] for i in ids])
        shape = self._block.shape[1:]
        for i in ids:
            source = self._generators[i]
            self._block[i] = source.standard_normal(shape) if self._normal else source.random(shape)
        self._cursor[ids] = 0

    def state(self) -> dict[str, np.ndarray]:
        """Where every stream stands: the state its block began at, and the place in the block."""
        fresh = self._cursor == self._block.shape[1]
        marks = np.where(fresh[:, None], pack(self._generators), self._marks)
        return {"generators": marks, "cursor": self._cursor.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        """Continue from a `state()`."""
        unpack(self._generators, state["generators"])
        begun = np.flatnonzero(state["cursor"] < self._block.shape[1])
        self._refill(begun)
        self._cursor[:] = state["cursor"]
