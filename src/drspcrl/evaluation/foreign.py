"""A policy from elsewhere, named as `module:function` by the user."""

from importlib import import_module

from drspcrl.errors import InputError
from drspcrl.evaluation.actor import Policy


def load_foreign(name: str) -> Policy:
    """Import the policy that `module:function` names; only for names that the user has typed.

    Raises:
        InputError: Another form, no such module, or nothing of that name in it.
    """
    module, colon, attribute = name.partition(":")
    if not (colon and module and attribute):
        raise InputError(
            f"--policy is {name!r}; give module:function, where the function takes observations "
            "[n, …] and returns actions [n, …]"
        )
    try:
        return getattr(import_module(module), attribute)
    except ImportError as error:
        raise InputError(f"--policy {name}: {error}; is its folder on PYTHONPATH?") from error
    except AttributeError:
        raise InputError(f"--policy {name}: module {module} has no {attribute}") from None
