"""The command `stress`."""

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from drspcrl.cli.say import say
from drspcrl.files import named_folder, read_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from drspcrl.evaluation import Policy
    from drspcrl.evaluation.stress import StressResult

_LISTED = 8


@dataclass(frozen=True)
class Stress:
    """Find the nearest world in which a policy fails, and the worst world within a radius.

    Beside them, how far each parameter may go alone. Writes stress.json (with --plot also
    stress.png and stress.svg) and a state from which the same command continues.
    """

    dir: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, a policy file such as RUN/policy-best.safetensors in one, or zoo:NAME."""
    limit: float = 0.8
    """Share of the nominal return that must remain; a loss is counted in the size of the nominal
    return, so that 0.8 allows −120 where −100 is nominal."""
    least: float | None = None
    """The return that must remain, in place of a share."""
    within: float = 2.0
    """Radius of the worst world, in units of the tolerances."""
    reach: float = 5.0
    """How far a failing world is looked for."""
    shape: Literal["ball", "box"] = "ball"
    """What distance is: the Euclidean one, or that of the parameter that differs most."""
    parameters: tuple[str, ...] | None = None
    """What may differ: families (mass), single ones (mass:torso), sensor, actuator, bias, your own;
    all that is declared unless given."""
    budget: int = 6000
    """Episodes altogether."""
    episodes: int = 8
    """Episodes in each world, the same ones in every world."""
    steps: int | None = None
    """Longest episode; the task's own limit unless given."""
    seed: int = 0
    """Where all randomness comes from."""
    worlds: Path | None = None
    """A YAML file with tolerances; those that the run was trained with unless given."""
    policy: str | None = None
    """A policy from elsewhere: module:function (observations [n, …] to actions [n, …]), or a file
    that Stable-Baselines3 saved, model.zip, of which the weights alone are read."""
    normalizer: Path | None = None
    """What VecNormalize.save wrote for it (needs --trust), or an .npz with mean and var."""
    env: str | None = None
    """The task; only needed where there is no run to tell it."""
    out: Path | None = None
    """Folder of the result; unless given the run folder itself, or stress-output for policies from
    elsewhere and of the zoo."""
    plot: bool = False
    """Draw the figure, too."""
    clip: bool = False
    """Put actions that are out of range back into it instead of refusing them."""
    overwrite: bool = False
    """Begin again where another search's state is there."""
    threads: int = 0
    """Threads to simulate on, 0 for all usable cores; results do not depend on it."""
    engine: Literal["local", "ray"] = "local"
    """Where the search runs: on this machine, or on a Ray cluster."""
    address: str | None = None
    """The Ray cluster: host:port of its head, or auto on one of its machines; RAY_ADDRESS unless
    given, and without that this machine alone."""
    trust: tuple[str, ...] | None = None
    """What may run code: the environment of the run as my_module:My-v0, the policy that it names as
    my_module:function; alone, the files given as --policy and --normalizer."""

    def run(self) -> None:
        """Search, and print the table."""
        from drspcrl.errors import InputError

        if self.address is not None and self.engine == "local":
            raise InputError("--address is of a Ray cluster; add --engine ray")
        from drspcrl.worlds.declare import read_declared

        policy, env, source, folder, worlds = self._subject()
        out = self.out or folder
        search = partial(
            _search, policy=policy, env=env, trust=self.trust or (), source=source,
            worlds=worlds if self.worlds is None else read_declared(self.worlds)[0],
            limit=self.limit, least=self.least, within=self.within, reach=self.reach,
            shape=self.shape, parameters=self.parameters, budget=self.budget,
            episodes=self.episodes, steps=self.steps, seed=self.seed, plot=self.plot,
            clip=self.clip, overwrite=self.overwrite,
        )  # fmt: skip
        if self.engine == "local":
            result = search(out, self.threads, show="lines")
        else:
            result = self._on_a_cluster(search, out)
        for line in str(result).split("\n"):
            say(line)
        say(f"wrote {out / 'stress.json'}" + (f" and {out / 'stress.png'}" if self.plot else ""))

    def _on_a_cluster(self, search: "Callable[[Path, int], StressResult]", out: Path):
        from drspcrl.experiments.cluster import at_folders, connected
        from drspcrl.files import make_folder

        with connected(self.address) as ray:
            make_folder(out)
            ((_, found),) = at_folders(ray, [out.absolute()], search, self.threads)
        if isinstance(found, BaseException):
            raise found
        return found

    def _subject(self) -> "tuple[Policy, str, dict[str, Any], Path, Any]":
        """The policy, its task, what to note about it, a folder, and the run's worlds."""
        from drspcrl.errors import InputError

        if (self.dir is None) == (self.policy is None):
            raise InputError(
                "give either a run folder or --policy module:function (with --env), not "
                + ("both" if self.dir is not None else "neither")
            )
        if self.dir is not None:
            return self._run_folder(self.dir)
        from drspcrl.evaluation.foreign import load_foreign

        assert self.policy is not None
        if self.env is None:
            raise InputError("nothing tells the task; say it with --env, e.g. --env Hopper")
        found = load_foreign(self.policy, self.env, normaliser=self.normalizer, trust=self.trust)
        source = {"name": found.source}
        return found.policy, self.env, source, Path("stress-output"), None

    def _run_folder(self, given: Path) -> "tuple[Policy, str, dict[str, Any], Path, Any]":
        from drspcrl.errors import InputError
        from drspcrl.evaluation.folders import foreign_source, named_policy
        from drspcrl.named import import_trusted, refuse_imports
        from drspcrl.policy import POLICY_FILE, load_policy
        from drspcrl.runfolder.runs import read_run
        from drspcrl.zoo import in_zoo, located

        place = named_folder(located(given))
        if not place.exists():
            raise InputError(f"{given} does not exist; give a run folder or zoo:NAME")
        alone = place.is_file()
        folder = place.parent if alone else _one_run(place)
        file = place if alone else folder / POLICY_FILE
        try:
            run = read_run(folder, metrics=(), evaluations=False)
        except InputError as error:
            raise InputError(f"{folder} cannot be tested: {error}") from None
        task = run.environment if self.env is None else self.env
        if self.env is None:
            refuse_imports(task, self.trust or ())
            import_trusted(task, self.trust or ())
        worlds = _worlds_of(run.config)
        source = None if os.path.lexists(file) else foreign_source(run)
        if source is not None:
            policy = named_policy(run, source, self.trust or ())
            return policy, task, {"name": source}, folder, worlds
        if not os.path.lexists(file):
            raise InputError(
                f"{folder} holds no policy; give a run with {POLICY_FILE} in it (a digest keeps "
                "one where drspcrl keep --policies asks for it)"
            )
        policy = load_policy(file if alone else folder)
        digest = hashlib.sha256(read_bytes(file, follow=alone)).hexdigest()
        out = Path("stress-output") if in_zoo(given) else folder
        return policy, task, {"name": file.name, "sha256": digest}, out, worlds


def _search(
    out: Path,
    threads: int,
    *,
    policy: "Policy",
    env: str,
    trust: tuple[str, ...],
    show: Literal["lines"] | None = None,
    **asked: Any,
) -> "StressResult":
    """The search, here or on another machine, where modules have to be imported first."""
    from drspcrl.evaluation.stress import stress
    from drspcrl.named import import_trusted

    import_trusted(env, trust)
    return stress(policy, env, out=out, threads=threads, show=show, **asked)


def _one_run(folder: Path) -> Path:
    """The folder itself, or the single run below it."""
    from drspcrl.errors import InputError
    from drspcrl.runfolder.runs import find_runs

    if (folder / "run.json").exists():
        return folder
    runs = list(find_runs(folder))
    if len(runs) > 1:
        more = f" and {len(runs) - _LISTED} more" if len(runs) > _LISTED else ""
        listed = ", ".join(map(str, runs[:_LISTED])) + more
        raise InputError(f"{folder} holds {len(runs)} runs; give one of them: {listed}")
    return runs[0] if runs else folder


def _worlds_of(config: "Mapping[str, Any]") -> "Mapping[str, Any] | None":
    """The worlds that a run was trained in; a path in its place would lead out of the folder."""
    from drspcrl.display import shown
    from drspcrl.errors import InputError

    found = config.get("worlds")
    if found is not None and not isinstance(found, dict):
        raise InputError(
            f"config.yaml has the worlds {shown(found)}, where a run has the tolerances "
            "themselves; give a file of yours as --worlds"
        )
    return found
