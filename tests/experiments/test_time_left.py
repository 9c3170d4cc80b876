"""While a grid runs it says how long the rest takes."""

import re

import yaml

from drspcrl.experiments import load_grid
from drspcrl.experiments.engine import Engine, Outcome
from drspcrl.experiments.manifest import Manifest
from drspcrl.experiments.run import Conductor, Options
from drspcrl.experiments.selection import parse_selection
from drspcrl.training.stopping import Stop

GRID = {
    "title": "three pieces",
    "groups": [
        {"algorithm": "ppo", "env": env, "methods": ["vanilla"], "seeds": [0], "steps": steps}
        for env, steps in (("Hopper", 2000), ("HalfCheetah", 1000), ("Walker2d", 1000))
    ],
}


class Instant(Engine):
    """Says that a task is done; nothing is trained."""

    def run(self, tasks):
        for task in tasks:
            yield Outcome(task.piece, "running")
            yield Outcome(task.piece, "done", seconds=1.0)


def test_what_is_left_is_said_after_every_piece_but_the_last(tmp_path):
    file = tmp_path / "three.yaml"
    file.write_text(yaml.safe_dump(GRID))
    grid, lines = load_grid(str(file)), []
    manifest = Manifest(tmp_path)
    most = {population.group: 10 for population in grid.populations}
    manifest.follow(grid, parse_selection((), grid.populations), most)
    stop = Stop(None)
    Conductor(manifest, grid, Options(rate=1000), Instant(), stop, lines.append).run(
        list(manifest.pieces.values())
    )
    begun = [line for line in lines if "begin or continue" in line]
    assert [line.partition("; ")[2] for line in begun] == [
        f"training takes about {seconds}s from the beginning" for seconds in (2, 1, 1)
    ]
    left = [line for line in lines if "left: about" in line]
    assert [re.sub(r"\d+s$", "Ns", line) for line in left] == [
        "2 pieces left: about Ns",
        "1 piece left: about Ns",
    ]
