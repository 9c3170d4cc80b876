"""Grids of moments."""

from pathlib import Path

import pytest

from drspcrl.experiments.grid import Grid, parse_grid

SMALL = "{hidden: [16, 16], rollout_size: 64, minibatches: 4, envs_per_member: 4}"


def tiny_text(
    steps: int = 512, methods: str = "vanilla, noise_training", seeds: str = "3, 4"
) -> str:
    """A grid file with one group of PPO on a probe task."""
    return f"""
title: tiny
groups:
  - algorithm: ppo
    env: probe/noise
    methods: [{methods}]
    seeds: [{seeds}]
    steps: {steps}
    settings: {SMALL}
training: {{log_every: 64, checkpoint_every: 640, tensorboard: false}}
evaluation: {{suite: noise, episodes: 2}}
"""


@pytest.fixture(scope="session")
def tiny():
    """The function that writes a grid file of moments."""
    return tiny_text


@pytest.fixture(scope="session")
def tiny_grid():
    """The function that makes a grid of moments."""

    def make(**changes) -> Grid:
        return parse_grid(tiny_text(**changes), "tiny", Path())

    return make
