"""A distance between the states of any MDP, for Wasserstein balls."""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import shortest_path

from drspcrl.tabular.mdp import MDP, Array, SparseMDP


def hop_distance(mdp: MDP | SparseMDP) -> Array:
    """How many transitions apart two states are, in either direction, [S, S].

    An edge joins s and s' where some action may lead from one to the other; pairs that no path
    joins are S apart, farther than any path.
    """
    form, states = mdp.to_sparse(), mdp.shape[0]
    s, a, k = np.nonzero(form.probabilities)
    targets = form.successors[s, a, k]
    graph = coo_matrix((np.ones(len(s)), (s, targets)), shape=(states, states))
    hops = shortest_path(graph.tocsr(), directed=False, unweighted=True)
    return np.where(np.isinf(hops), float(states), hops)
