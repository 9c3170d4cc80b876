"""The command `render`."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from drspcrl.cli.say import say

if TYPE_CHECKING:
    from collections.abc import Collection

    from drspcrl.evaluation import Policy
    from drspcrl.perturbations import Perturbation


@dataclass(frozen=True)
class Render:
    """Film one episode of several policies, side by side in the same world and with the same seed.

    It is the episode that `evaluate` plays in this setting. Needs no screen.
    """

    dirs: Annotated[tuple[Path, ...], tyro.conf.Positional] = ()
    """Run folders, policy files such as RUN/policy-best.safetensors, or zoo:NAME."""
    out: Path = Path("clip.mp4")
    """The file to write; its ending says the format: .mp4 or .gif."""
    perturb: tuple[str, ...] = ()
    """What goes wrong, as in a suite: action=0.3, observation=0.1, push=0.2, action_delay=3, …"""
    world: tuple[str, ...] = ()
    """Physics parameters as multiples of their nominal values: mass=1.5 (all bodies),
    mass:torso=1.5 (one of them), friction=0.5, gravity=1.2, damping=2, gear=0.8, …"""
    policy: tuple[str, ...] = ()
    """Policies from elsewhere, each module:function (observations [n, …] to actions [n, …]) or a
    file that Stable-Baselines3 saved, model.zip, of which the weights alone are read."""
    env: str | None = None
    """The task; only needed where there is no run to tell it."""
    seconds: float = 10.0
    """The most to show, in simulated time."""
    steps: int | None = None
    """The same in steps, in place of seconds."""
    speed: float = 1.0
    """Simulated seconds per second; 1 is real time."""
    seed: int = 0
    """The seed of the evaluation whose episode it is."""
    episode: int = 0
    """The episode's number."""
    size: tuple[int, int] = (480, 360)
    """Width and height of each panel."""
    trust: tuple[str, ...] = ()
    """Environments named module:Id in the runs whose module may be imported."""

    def run(self) -> None:
        """Film, and say how it went."""
        from drspcrl.video.graphics import prepare_graphics

        prepare_graphics()  # before anything else, since MuJoCo asks once how to draw
        from drspcrl.video import render

        typed = () if self.env is None else (self.env,)
        trust = (*self.trust, *typed)
        policies, task = self._policies(trust)
        with _progress() as show:
            clip = render(
                policies, task, self.out, setting(self.world, self.perturb),
                seed=self.seed, episode=self.episode, seconds=self.seconds, steps=self.steps,
                speed=self.speed, size=self.size, trust=trust, show=show,
            )  # fmt: skip
        for ending in clip.endings:
            how = f", {ending.ending}" if ending.ending else ""
            say(f"{ending.name}: return {ending.returns:.1f} in {ending.steps} steps{how}")
        width, height = clip.size
        say(f"{clip.path}: {clip.frames} frames of {width}×{height}, {clip.rate:.4g} per second")

    def _policies(self, trust: "Collection[str]") -> "tuple[dict[str, Policy], str]":
        """The policies by name, and the task that all of them are for."""
        from drspcrl.errors import InputError
        from drspcrl.evaluation.foreign import load_foreign
        from drspcrl.export.source import policy_file
        from drspcrl.named import import_trusted, refuse_imports
        from drspcrl.policy import load_policy
        from drspcrl.runfolder.runs import read_run

        files = [policy_file(path) for path in self.dirs]
        tasks = {} if self.env is None else {"--env": self.env}
        for file in files:
            if (file.parent / "run.json").is_file():
                run = read_run(file.parent, metrics=(), evaluations=False)
                tasks[str(file.parent)] = run.environment
        if len({task.removesuffix("-v5") for task in tasks.values()}) > 1:
            listed = ", ".join(f"{where}: {task}" for where, task in tasks.items())
            raise InputError(f"a clip shows one task, and these are several ({listed})")
        if not files and not self.policy:
            raise InputError("there is nothing to show; give run folders, or --policy and --env")
        if not tasks:
            raise InputError("nothing tells the task; say it with --env, e.g. --env Hopper")
        policies: dict[str, Policy] = dict(
            zip(names_of(files), map(load_policy, files), strict=True)
        )
        task = next(iter(tasks.values()))
        refuse_imports(task, trust)  # asking for the sizes of its actions would import it
        import_trusted(task, trust)
        policies |= {name: load_foreign(name, task).policy for name in self.policy}
        return policies, task


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None]]:
    """A bar on a terminal, nothing elsewhere."""
    from rich.console import Console
    from rich.progress import Progress

    quiet = not sys.stderr.isatty()
    with Progress(console=Console(stderr=True), transient=True, disable=quiet) as bar:
        task = bar.add_task("filming")
        yield lambda step, most: bar.update(task, completed=step, total=most)


def setting(world: tuple[str, ...], perturb: tuple[str, ...]) -> "tuple[Perturbation, ...]":
    """The world's scales and what goes wrong in it, the innermost first.

    Raises:
        InputError: A word that is not understood, or an unknown kind of perturbation.
    """
    from drspcrl.errors import InputError
    from drspcrl.perturbations import Perturbation, parse

    parts = []
    for item in (one for text in world for one in text.split(",")):
        parameter, _, factor = item.rpartition("=")
        try:
            scale = float(factor)
        except ValueError:
            scale = float("nan")
        if not parameter or scale != scale:
            raise InputError(
                f"--world {item!r} is not understood; write a parameter and its factor, e.g. "
                "mass:torso=1.5"
            )
        parts.append(Perturbation("scale", scale, {"parameter": parameter}))
    for text in perturb:
        parts += parse(text)
    return tuple(parts)


def names_of(files: list[Path]) -> list[str]:
    """What to call each policy: its run folder, and as much more of the path as tells it apart."""
    from drspcrl.errors import InputError
    from drspcrl.policy import POLICY_FILE

    paths = [file.resolve() for file in files]
    if len(set(paths)) < len(paths):
        raise InputError("a policy is given twice; give each once")
    # A file that is not the run's usual one is named, too.
    named = [p.parent if p.name == POLICY_FILE else p for p in paths]
    tails = [1 if p.name == POLICY_FILE else 2 for p in paths]
    while len(names := ["/".join(p.parts[-n:]) for p, n in zip(named, tails, strict=True)]) > len(
        set(names)
    ):
        tails = [n + 1 for n in tails]
    return names
