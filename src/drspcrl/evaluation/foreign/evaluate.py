"""Evaluate a policy from elsewhere and leave a run folder, so that reports show it as a method."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from drspcrl import variants
from drspcrl.curricula.registry import is_own_method
from drspcrl.display import brief, shown
from drspcrl.envs import task_names
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy
from drspcrl.evaluation.evaluator import check_numbers, evaluate
from drspcrl.evaluation.folders import RunResult, kept_result, result_path
from drspcrl.evaluation.foreign.load import Foreign, is_file, load_foreign
from drspcrl.evaluation.parallel import Show
from drspcrl.evaluation.random_return import with_random_return
from drspcrl.evaluation.suite import Suite, load_suite
from drspcrl.files import make_folder, remove_own, write_durably
from drspcrl.policy import POLICY_FILE, save_policy
from drspcrl.runfolder.runs import FOREIGN, FORMAT_VERSION, read_info

LONGEST_NAME = 60
# What a folder holds of another policy, once it is to hold this one.
_RESULTS = re.compile(r"evaluation(-.+)?\.(csv|json)|stress(-state)?\.json|stress\.(png|svg)")


def evaluate_foreign(
    policy: str | Path | Policy,
    env: str,
    out: str | Path,
    *,
    name: str | None = None,
    run_seed: int = 0,
    suite: str | Path | Suite = "paper",
    episodes: int = 100,
    seed: int = 0,
    normaliser: Path | None = None,
    trust: Sequence[str] | None = None,
    deterministic: bool = True,
    clip: bool = False,
    overwrite: bool = False,
    threads: int = 0,
    show: Show | None = "bar",
) -> RunResult:
    """Evaluate a policy from elsewhere into `out/<env>-foreign-<name>-s<run_seed>`.

    `report` shows it as a method of that name beside the runs of every learner on the task; several
    policies of one name with different `run_seed` are seeds of one method.

    Args:
        policy: `my_module:function`, a file that Stable-Baselines3 saved, or the policy itself.
        env: The task, as for training: a name, a Gymnasium id, `my_module:My-v0`.
        out: The folder of run folders.
        name: What tables call it; the function's or the file's own name unless given.
        run_seed: Which training of the method it is.
        suite: A name, a path of a YAML file, or a `Suite`.
        episodes: Episodes for each setting.
        seed: Where the evaluation's randomness comes from; as for trained runs.
        normaliser: See `load_foreign`.
        trust: See `load_foreign`.
        deterministic: Whether it acts deterministically.
        clip: Put actions that are out of range back into it instead of refusing them.
        overwrite: Evaluate again where a result is there, also of another policy of this name.
        threads: Threads to simulate on, 0 for all usable cores.
        show: How progress is shown.

    Returns:
        The folder with its table; `kept` where the same policy has been evaluated already.

    Raises:
        InputError: The policy, the name or the numbers do not fit.
    """
    check_numbers(episodes=episodes, seed=seed, threads=threads)
    check_numbers(episodes=1, seed=run_seed)
    env = env.removesuffix("-v5") if env.removesuffix("-v5") in task_names() else env
    suite = load_suite(suite).for_task(env)
    method = method_name(policy, name)
    folder = Path(out) / folder_name(env, method, run_seed)
    foreign = load_foreign(policy, env, normaliser=normaliser, trust=trust)
    path = result_path(folder, suite.name)
    other = _other_policy(folder, foreign)
    if other and not overwrite:
        raise InputError(_taken(folder, method, other))
    if path.exists() and not overwrite:
        request = {
            "settings": list(suite.labels), "episodes": episodes, "seed": seed,
            "deterministic": deterministic, "clip": clip, "policy_sha256": foreign.sha256,
        }  # fmt: skip
        return kept_result(path, request)
    _check_sampling(foreign, deterministic)
    table = evaluate(
        foreign.policy, env, suite, episodes, seed,
        deterministic=deterministic, clip=clip, threads=threads, show=show,
    )  # fmt: skip
    told = {"policy_file": foreign.source, "policy_sha256": foreign.sha256}
    table = with_random_return(replace(table, info={**table.info, **told}), env, threads)
    _write(folder, env, method, run_seed, foreign, bool(other))
    table.to_csv(path)
    return RunResult(folder, "evaluated", table=table)


def _check_sampling(foreign: Foreign, deterministic: bool) -> None:
    if not deterministic and foreign.weights is not None and foreign.weights.kind == "tanh":
        raise InputError(
            f"--stochastic: of {foreign.source} the mean action alone is read; leave it out, or "
            "say --trust, by which Stable-Baselines3 itself samples"
        )


def method_name(policy: Any, name: str | None) -> str:
    """What a policy is called in tables.

    Raises:
        InputError: a name that no table could show as it is.
    """
    if name is None:
        own = str(policy) if isinstance(policy, str | Path) else type(policy).__name__
        name = Path(own).stem if is_file(own) else own.rpartition(":")[2]
    if not name.strip() or not name.isprintable() or name != name.strip():
        raise InputError(f"--name {shown(name)}: give letters, digits and the like on one line")
    if len(name) > LONGEST_NAME:
        raise InputError(
            f"--name {brief(name, 80)} has {len(name)} characters; give at most {LONGEST_NAME}"
        )
    if is_own_method(name):
        raise InputError(
            f"--name {name} is what reports call a method of this library; give another name"
        )
    return name


def folder_name(env: str, method: str, run_seed: int) -> str:
    """A safe name, distinct for distinct methods, that has the form of a run folder's."""
    task = re.sub(r"[^\w.-]", "_", env).lstrip(".")
    return f"{task}-{FOREIGN}-{variants.folder_name(variants.Variant(method))}-s{run_seed}"


def _other_policy(folder: Path, foreign: Foreign) -> str:
    """What the folder holds where that is another policy; "" where it holds this one or none."""
    if not (folder / "run.json").exists():
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"{folder} is there and is no run folder; move it away")
        return ""
    told = read_info(folder).get("foreign")
    if not isinstance(told, dict):
        raise InputError(f"{folder} holds a run that was trained; give another --name")
    known = foreign.sha256 is not None and told.get("sha256") == foreign.sha256
    return "" if known and told.get("policy") == foreign.source else str(told.get("policy"))


def _taken(folder: Path, method: str, other: str) -> str:
    return (
        f"{folder} holds {shown(method)} already, another policy ({brief(other, 100)}, or an "
        "earlier version of this one); for another training of the same method give another "
        "--run-seed, for another method another --name; --overwrite replaces it"
    )


def _write(
    folder: Path, env: str, method: str, run_seed: int, foreign: Foreign, clear: bool
) -> None:
    """All of the run folder but its evaluation; `run.json` last, for it says that one is there."""
    make_folder(folder)
    for file in [f for f in folder.iterdir() if clear and _RESULTS.fullmatch(f.name)]:
        remove_own(file)
    if foreign.weights is not None:
        save_policy(folder / POLICY_FILE, foreign.weights)
    else:
        remove_own(folder / POLICY_FILE)
    identity = {"env": env, "method": method, "seed": run_seed}
    # No algorithm here: what reads configurations would take it for a training's.
    _write_json(folder / "config.yaml", {**identity, "uncertainty": "none"})
    origin = {"policy": foreign.source, "what": foreign.what, "sha256": foreign.sha256}
    info = {"format_version": FORMAT_VERSION, "status": "evaluated", "algorithm": FOREIGN}
    _write_json(folder / "run.json", {**info, **identity, "foreign": origin})


def _write_json(path: Path, content: dict[str, Any]) -> None:
    write_durably(path, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())
