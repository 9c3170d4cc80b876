"""One ordinary signal, for tests to change."""

import numpy as np

from drspcrl.curricula import Signal

QUIET = Signal(
    step=0,
    epsilon=0.0,
    multiplier=0.05,
    slope=0.3,
    robust_value=2.0,
    start_value=2.0,
    value_spread=1.0,
    reward_scale=0.5,
    episode_return=10.0,
    draws=np.random.default_rng(3).normal(size=(6, 8)),
)
