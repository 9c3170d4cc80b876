"""Code that a user names as `module:name`: imported because the user said so, and never otherwise.

A run folder's own word is not enough, because the folder may come from anywhere; see
`refuse_imports` and `import_trusted`.
"""

import os
import sys
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from drspcrl.display import brief, shown
from drspcrl.errors import InputError

_WHERE = "the Python path and the working directory"


def split(name: str) -> tuple[str, str]:
    """Module and name of `module:name`.

    Raises:
        InputError: it is written in another way.
    """
    module, _, rest = name.partition(":")
    if not rest or not all(part.isidentifier() for part in module.split(".")):
        raise InputError(
            f"{name!r} is not module:name; give a module that Python can import and a name in it, "
            "e.g. my_module:My-v0"
        )
    return module, rest


def module_of(name: str) -> ModuleType:
    """Import the module of `module:name`; it is looked for in the working directory, too.

    Raises:
        InputError: there is none, or importing it fails.
    """
    module, _ = split(name)
    if module == _main():
        return sys.modules["__main__"]
    # A command does not look there by itself, and it must be found in worker processes, which get
    # this path. At the end it hides nothing.
    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)
    try:
        return import_module(module)
    except (Exception, SystemExit) as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name == module.split(".")[0]
        reason = f"there is none on {_WHERE}" if missing else f"{type(error).__name__}: {error}"
        raise InputError(f"{name!r}: module {module} cannot be imported: {reason}") from error


def attribute_of(module: ModuleType, name: str) -> Any:
    """What a module has under a name such as `make` or `Maker.make`; None for nothing."""
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def name_of(function: Any) -> str | None:
    """`module:name` of a function or class; None where no such name leads back to it."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module not in sys.modules:
        return None
    if attribute_of(sys.modules[module], name) != function:  # a lambda, or local to a function
        return None
    if module in ("__main__", "__mp_main__"):
        module = _main()
    return None if module is None else f"{module}:{name}"


def refuse_imports(name: Any, trust: Collection[str], where: str = "run") -> None:
    """Refuse a name from a folder or file that would import code, unless the user named it too.

    Methods such as `my_module:MyCurriculum` and Gymnasium ids such as `my_module:My-v0` import a
    module. What a user types may do so; what a folder from elsewhere says must not.

    Args:
        name: what is named there.
        trust: what the user typed.
        where: what names it, in words.

    Raises:
        InputError: the name has a module in it and is not trusted.
    """
    if isinstance(name, str) and ":" in name and name not in trust:
        raise InputError(
            f"the {where} names {shown(name)}, whose module would be imported; if you trust that "
            f"code, say so with --trust {brief(name)}"
        )


def import_trusted(name: Any, trust: Collection[str]) -> None:
    """Import the modules that the user trusts to register an environment.

    Args:
        name: an environment as a run folder names it, e.g. `My-v0`.
        trust: what the user typed; of these, `my_module:My-v0` imports `my_module`.

    Raises:
        InputError: the module cannot be imported.
    """
    for trusted in trust:
        if isinstance(name, str) and trusted.partition(":")[2] == name:
            module_of(trusted)


def _main() -> str | None:
    """The name under which the program that runs could be imported; None where it has no file."""
    main = sys.modules.get("__main__")
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return spec.name.removesuffix(".__main__")
    stem = Path(getattr(main, "__file__", None) or "").stem
    return stem if stem.isidentifier() else None
