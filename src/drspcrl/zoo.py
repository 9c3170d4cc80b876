"""The zoo: trained policies that come with the source, named `zoo:Hopper-ppo-self_paced`.

Each is a run folder, so that whatever reads run folders reads them, too. They are not in the wheel;
where they lie is told by `DRSPCRL_ZOO`, or by the source checkout that this file is in. Nothing is
ever fetched from a network.
"""

import difflib
import os
import re
from pathlib import Path

from drspcrl import files
from drspcrl.display import brief
from drspcrl.errors import InputError

PREFIX = "zoo:"
VARIABLE = "DRSPCRL_ZOO"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_COPIED = ("policy.safetensors", "config.yaml", "metrics.csv.xz", "run.json")
_CHECKOUT = Path(__file__).parents[2]


def located(path: str | Path) -> Path:
    """The folder that `zoo:NAME` stands for; any other path as it is.

    Raises:
        InputError: there is no zoo here, or it has nothing of that name.
    """
    return folder_of(str(path).removeprefix(PREFIX)) if in_zoo(path) else Path(path)


def in_zoo(path: str | Path | None) -> bool:
    """Whether a path is a name in the zoo."""
    return str(path).startswith(PREFIX)


def folder_of(name: str) -> Path:
    """The run folder of a policy.

    Raises:
        InputError: there is no zoo here, or it has nothing of that name.
    """
    # A name that is no single word, such as ../x, is in no folder's list of names.
    known = names()
    if name not in known:
        near = difflib.get_close_matches(name, known, 3, 0.5) or known
        raise InputError(
            f"the zoo has no policy {brief(name, 60)!r}; choose one of {', '.join(near)} "
            "(drspcrl zoo lists all)"
        )
    folder = zoo_folder() / name
    files.check_folder(folder)
    return folder


def copied(folder: Path, out: Path) -> Path:
    """A copy of a policy's run folder in a folder of runs, without its results.

    Raises:
        InputError: another policy has its place there, or a link does.
    """
    target = out / folder.name
    found = [name for name in _COPIED if os.path.lexists(folder / name)]
    content = {name: files.read_bytes(folder / name) for name in found}
    files.make_folder(out)
    files.make_folder(target)
    missing = {name for name in found if not os.path.lexists(target / name)}
    if any(files.read_bytes(target / name) != content[name] for name in set(found) - missing):
        raise InputError(f"{target} holds another run; give another --out")
    for name in missing:
        files.write_durably(target / name, content[name])
    return target


def names() -> list[str]:
    """What the zoo has, in order.

    Raises:
        InputError: there is no zoo here, or it is empty.
    """
    folder = zoo_folder()
    found = [one.name for one in folder.iterdir() if (one / "run.json").is_file()]
    if listed := sorted(name for name in found if _NAME.fullmatch(name)):
        return listed
    raise InputError(f"{folder} holds no policies; {VARIABLE} must name the zoo folder itself")


def zoo_folder() -> Path:
    """Where the zoo is: in `DRSPCRL_ZOO`, or in the checkout that this library runs from.

    Raises:
        InputError: there is none.
    """
    told = os.environ.get(VARIABLE)
    folder = Path(told) if told else _CHECKOUT / "zoo"
    # Beside an installed package, a folder of that name could be anybody's.
    if folder.is_dir() and (told or (_CHECKOUT / "pyproject.toml").is_file()):
        return folder
    if told:
        raise InputError(f"{VARIABLE} is {brief(told, 200)}, which is no folder; give the zoo's")
    raise InputError(
        "the zoo is not installed with the package; it is the folder zoo/ of drspcrl's source: "
        f"set {VARIABLE} to where it is, e.g. {VARIABLE}=drspcrl/zoo"
    )
