"""The command `evaluate`."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from drspcrl.cli.say import say

if TYPE_CHECKING:
    from drspcrl.evaluation import Suite
    from drspcrl.evaluation.folders import RunResult
    from drspcrl.evaluation.parallel import Spread

POLICY_FILES = {"last": "policy.safetensors", "best": "policy-best.safetensors"}


@dataclass(frozen=True)
class Evaluate:
    """Evaluate every run below a folder, or a policy from elsewhere, under a suite's perturbations.

    Writes evaluation.csv (for another suite than paper evaluation-SUITE.csv) into each run folder,
    and evaluation.json with what it was made with beside it. A policy from elsewhere gets a run
    folder in --out, which report shows as a method beside trained runs.
    """

    dir: Annotated[Path | None, tyro.conf.Positional] = None
    """A run folder, a folder with runs at any depth, or zoo:NAME, which --out gets a copy of."""
    episodes: int = 100
    """Episodes for each setting."""
    suite: str = "paper"
    """paper, quick, noise, beyond, attacks, faults, mass_friction, m2td3-2, m2td3-3, or the path of
    a YAML file."""
    seed: int = 0
    """Where all randomness comes from; the same for every run."""
    policy: str = "last"
    """last (at the end of training) or best (during it) of each run; or a policy from elsewhere:
    module:function (observations [n, …] to actions [n, …]), or a file that Stable-Baselines3
    saved, model.zip, of which the weights alone are read."""
    name: str | None = None
    """What the report calls a policy from elsewhere; its own name unless given."""
    env: str | None = None
    """The task of a policy from elsewhere."""
    out: Path | None = None
    """Folder of runs that a policy from elsewhere, or of the zoo, joins."""
    run_seed: int = 0
    """Which training of its method a policy from elsewhere is: 0, 1, … under one name."""
    normalizer: Path | None = None
    """What VecNormalize.save wrote for it (needs --trust), or an .npz with mean and var."""
    clip: bool = False
    """Put its actions that are out of range back into it instead of refusing them."""
    overwrite: bool = False
    """Evaluate again where a result is there already."""
    stochastic: bool = False
    """Sample actions as in training, instead of taking their mean."""
    threads: int = 0
    """Threads to simulate on, 0 for all usable cores; results do not depend on it."""
    jobs: int = 0
    """Processes to share runs and threads among, 0 for one per core; nor on this."""
    engine: Literal["local", "ray"] = "local"
    """Where runs are evaluated: on this machine, or on a Ray cluster."""
    address: str | None = None
    """The Ray cluster: host:port of its head, or auto on one of its machines; RAY_ADDRESS unless
    given, and without that this machine alone."""
    trust: tuple[str, ...] | None = None
    """What may run code: environments of the runs as my_module:My-v0, policies they name as
    my_module:function; alone, the files given as --policy and --normalizer."""

    def run(self) -> None:
        """Evaluate; exit with code 1 if a run had to be left out, 2 if it was the only one."""
        from drspcrl.errors import InputError

        if self.address is not None and self.engine == "local":
            raise InputError("--address is of a Ray cluster; add --engine ray")
        results = []
        for result in self._results():
            say(_line(result))
            results.append(result)
        if len(results) == 1 and results[0].status == "skipped":
            raise InputError(f"{results[0].path} cannot be evaluated: {results[0].reason}")
        if len(results) == 1 and results[0].table is not None:
            for line in str(results[0].table).splitlines():
                say(line)
        else:
            for line in _left_out(results):
                say(line.rstrip("\n"))
        if any(result.status == "skipped" for result in results):
            raise SystemExit(1)

    def _results(self) -> "Iterator[RunResult]":
        if self.policy not in POLICY_FILES:
            yield self._foreign()
            return
        from drspcrl.evaluation import evaluate_runs
        from drspcrl.policy import load_policy

        runs, suite = self._runs(), self._suite()
        with self._spread(suite) as spread:
            yield from evaluate_runs(
                runs, load_policy, suite, self.episodes, self.seed,
                policy_file=POLICY_FILES[self.policy], overwrite=self.overwrite,
                deterministic=not self.stochastic, threads=self.threads, jobs=self.jobs,
                show="lines", trust=self.trust or (), spread=spread,
            )  # fmt: skip

    def _spread(self, suite: "Suite") -> "AbstractContextManager[Spread | None]":
        if self.engine == "local":
            return nullcontext()
        from drspcrl.evaluation.folders import attacks_critics
        from drspcrl.experiments.cluster import spread_over

        return spread_over(self.address, self.threads, checkpoints=attacks_critics(suite))

    def _suite(self) -> "Suite":
        """What is typed here may import a module; what a folder or file says may not."""
        from drspcrl.evaluation import load_suite

        return load_suite(self.suite, (*(self.trust or ()), self.suite))

    def _runs(self) -> Path:
        """The folder with runs, where nothing was given that is for a policy from elsewhere."""
        from drspcrl.errors import InputError
        from drspcrl.zoo import in_zoo

        of_the_zoo = in_zoo(self.dir)
        given = [
            f"--{name.replace('_', '-')}"
            for name in ("name", "env", "out", "normalizer", "run_seed", "clip")
            if getattr(self, name) not in (None, 0, False) and not (of_the_zoo and name == "out")
        ]
        if self.dir is None or given:
            what = f"{given[0]} is for a policy from elsewhere" if given else "nothing is given"
            raise InputError(
                f"{what}; give a folder with runs alone, or --policy module:function or "
                "--policy model.zip with --env and --out"
            )
        return self._from_zoo(self.dir) if of_the_zoo else self.dir

    def _from_zoo(self, path: Path) -> Path:
        """A copy in --out, since results are written into the folder of the run."""
        from drspcrl.errors import InputError
        from drspcrl.runfolder.runs import check_uncertainty, read_run
        from drspcrl.zoo import copied, located

        if self.out is None:
            raise InputError(
                f"nothing tells where the result goes; give the folder of runs that {path} is to "
                "join, or a new one, as --out"
            )
        found = located(path)
        check_uncertainty(self.out, read_run(found, metrics=(), evaluations=False).uncertainty)
        return copied(found, self.out)

    def _foreign(self) -> "RunResult":
        from drspcrl.errors import InputError
        from drspcrl.evaluation.foreign import evaluate_foreign
        from drspcrl.evaluation.foreign.load import is_file

        if ":" not in self.policy and not is_file(self.policy):
            raise InputError(
                f"--policy is {self.policy!r}; give last or best for runs, or a policy from "
                "elsewhere: module:function, or a file that Stable-Baselines3 saved (.zip)"
            )
        if self.engine != "local":
            raise InputError(
                f"--policy {self.policy} is a policy from elsewhere, which is evaluated here; "
                "leave --engine out"
            )
        if self.dir is not None:
            raise InputError(
                f"--policy {self.policy} is a policy from elsewhere and {self.dir} a folder of "
                "runs; give the folder that it is to join as --out"
            )
        if self.env is None:
            raise InputError("nothing tells the task; say it with --env, e.g. --env Hopper")
        if self.out is None:
            raise InputError(
                "nothing tells where the result goes; give the folder of runs that it is to join, "
                "or a new one, as --out"
            )
        return evaluate_foreign(
            self.policy, self.env, self.out, name=self.name, run_seed=self.run_seed,
            suite=self._suite(), episodes=self.episodes, seed=self.seed, normaliser=self.normalizer,
            trust=self.trust, deterministic=not self.stochastic, clip=self.clip,
            overwrite=self.overwrite, threads=self.threads, show="lines",
        )  # fmt: skip


def _left_out(results: "list[RunResult]") -> list[str]:
    """One line for each task that has not what some settings of the suite need."""
    tables = [result.table for result in results if result.table is not None]
    lines = (f"{table.info['env']}: {table.left_out}\n" for table in tables if table.left_out)
    return list(dict.fromkeys(lines))


def _line(result: "RunResult") -> str:
    """One line about one run."""
    line = f"{result.status} {result.path}"
    if result.reason:
        line += f": {result.reason}"
    if result.status != "evaluated" or result.table is None:
        return line
    settings = result.table.summary()
    nominal = [s.mean for s in settings if s.perturbation == "none"]
    perturbed = [s.mean for s in settings if s.perturbation != "none"]
    lost = [f"{s.diverged} at {s.perturbation}={s.level:g}" for s in settings if s.diverged]
    parts = [f"nominal {nominal[0]:.1f}"] if nominal else []
    if result.table.statistic == "worst" and result.table.worst_line:
        parts.append(result.table.worst_line)
    elif perturbed:
        parts.append(f"perturbed {sum(perturbed) / len(perturbed):.1f} ({len(perturbed)} settings)")
    if lost:
        parts.append(f"episodes that diverged and are left out: {', '.join(lost)}")
    return f"{line}: {', '.join(parts)}"
