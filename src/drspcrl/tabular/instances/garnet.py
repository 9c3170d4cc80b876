"""Garnet: random MDPs with a given number of states, actions and successors."""

import numpy as np

from drspcrl.errors import InputError
from drspcrl.tabular.mdp import SparseMDP


def garnet(
    states: int = 30,
    actions: int = 4,
    successors: int = 5,
    discount: float = 0.95,
    seed: int = 0,
) -> SparseMDP:
    """A random MDP (Archibald, McKinnon and Thomas, 1995).

    Every (s,a) reaches `successors` distinct states drawn without replacement, with probabilities
    from the uniform Dirichlet distribution; rewards are uniform in [0, 1]; starts are uniform.

    Args:
        states: number of states S.
        actions: number of actions A.
        successors: number of states that one (s,a) reaches, at most S.
        discount: γ in [0, 1).
        seed: of the generator; the same seed gives the same MDP.
    """
    if min(states, actions, successors) < 1 or successors > states:
        raise InputError(
            f"garnet got states={states}, actions={actions}, successors={successors}; "
            "all must be at least 1, and successors at most states"
        )
    generator = np.random.default_rng(seed)
    shape = (states, actions, successors)
    return SparseMDP(
        successors=_distinct_states(generator, shape),
        probabilities=generator.dirichlet(np.ones(successors), size=shape[:2]),
        rewards=generator.random(shape[:2]),
        discount=discount,
        initial=np.full(states, 1 / states),
    )


def _distinct_states(generator: np.random.Generator, shape: tuple[int, int, int]) -> np.ndarray:
    states, actions, successors = shape
    # Floyd's algorithm, one column per step over all rows at once: no S×A×S table is ever made, so
    # that ten thousand states fit.
    chosen = np.empty((states, actions, successors), dtype=np.int64)
    for column, bound in enumerate(range(states - successors, states)):
        candidate = generator.integers(0, bound + 1, size=(states, actions))
        taken = (chosen[..., :column] == candidate[..., None]).any(axis=-1)
        chosen[..., column] = np.where(taken, bound, candidate)
    return np.sort(chosen, axis=-1)
