"""A policy from elsewhere, named as `module:function` by the user or by a run folder."""

from collections.abc import Collection

from drspcrl import named
from drspcrl.display import brief, shown
from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy
from drspcrl.runfolder.runs import Run


def load_function(name: str) -> Policy:
    """Import the policy that `module:function` names; only for names that the user has typed.

    The module is looked for in the working directory, too.

    Raises:
        InputError: Another form, no such module, or nothing of that name in it.
    """
    try:
        module, attribute = named.split(name)
    except InputError:
        raise InputError(
            f"--policy is {name!r}; give module:function, where the function takes observations "
            "[n, …] and returns actions [n, …], or a file that Stable-Baselines3 saved (.zip)"
        ) from None
    found = named.attribute_of(named.module_of(name), attribute)
    if found is None:
        raise InputError(
            f"--policy {name}: module {module} has no {attribute}; give module:function"
        )
    return found


def foreign_source(run: Run) -> str | None:
    """Where a policy from elsewhere comes from; None for a run that must have a policy file."""
    told = run.info.get("foreign")
    source = told.get("policy") if run.foreign and isinstance(told, dict) else None
    return source if isinstance(source, str) else None


def named_policy(run: Run, source: str, trust: Collection[str]) -> Policy:
    """The policy that a run folder names as `module:function`.

    Raises:
        InputError: its module is not trusted, or it was a file, which is elsewhere.
    """
    if ":" not in source:
        raise InputError(
            f"its policy is {brief(source, 100)}, which is not kept here; evaluate it with "
            f"--policy and the file, --name {shown(run.method)}"
        )
    named.refuse_imports(source, trust)
    return load_function(source)
