"""Names such as `module:name`: what they lead to, and errors that say what is wrong."""

import subprocess
import sys

import own_environments
import pytest

from drspcrl import named
from drspcrl.errors import InputError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working directory that is on nobody's path."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_module_in_the_working_directory_is_found(folder, monkeypatch):
    monkeypatch.delitem(sys.modules, "module_of_the_day", raising=False)
    (folder / "module_of_the_day.py").write_text("class Own:\n    number = 3\n")
    module = named.module_of("module_of_the_day:Own")
    assert named.attribute_of(module, "Own.number") == 3
    assert named.attribute_of(module, "Own.nothing") is None
    assert named.name_of(module.Own) == "module_of_the_day:Own"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("import nothing_of_that_name", "ModuleNotFoundError: No module named 'nothing_of_that_n"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("def f(:", "SyntaxError: "),
        ("open('/nowhere/at/all')", "FileNotFoundError: "),
    ],
)
def test_a_module_that_cannot_be_imported_says_why(folder, content, reason):
    (folder / "broken_module.py").write_text(content)
    with pytest.raises(InputError, match=f"module broken_module cannot be imported: {reason}"):
        named.module_of("broken_module:Id-v0")


def test_a_module_that_is_not_there():
    with pytest.raises(
        InputError, match="nowhere_to_be_found cannot be imported: there is none on"
    ):
        named.module_of("nowhere_to_be_found:Id-v0")


@pytest.mark.parametrize("name", [".os:x", ":x", "os:", "a b:x", "os", "/etc/x:y", "a..b:c"])
def test_other_forms_are_refused_before_anything_is_imported(name):
    with pytest.raises(InputError, match="is not module:name"):
        named.module_of(name)


def test_functions_and_classes_have_names_where_these_lead_back():
    def local():
        """Of this test alone."""

    assert named.name_of(own_environments.Tank) == "own_environments:Tank"
    assert named.name_of(own_environments.Tank.reading) == "own_environments:Tank.reading"
    assert named.name_of(local) is None
    assert named.name_of(lambda: None) is None
    assert named.name_of(own_environments.Tank().reset) is None


def test_what_the_program_itself_defines_is_named_after_its_file(folder):
    (folder / "program.py").write_text(
        "from drspcrl import named\n"
        "def make(): ...\n"
        "print(named.name_of(make), named.module_of('program:make').make is make)\n"
    )
    told = subprocess.run(
        [sys.executable, "program.py"], capture_output=True, text=True, check=True
    )
    assert told.stdout == "program:make True\n"
    lines = "from drspcrl import named\ndef make(): ...\nprint(named.name_of(make))"
    told = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True, check=True)
    assert told.stdout == "None\n"


def test_only_the_trusted_module_of_that_name_is_imported(folder, monkeypatch):
    (folder / "trusted_module.py").write_text("")
    (folder / "other_module.py").write_text("raise RuntimeError")
    named.import_trusted("Id-v0", ("trusted_module:Id-v0", "other_module:Other-v0", "Id-v0"))
    assert "trusted_module" in sys.modules
    assert "other_module" not in sys.modules
    monkeypatch.delitem(sys.modules, "trusted_module")
    named.import_trusted(None, ("trusted_module:Id-v0",))
    assert "trusted_module" not in sys.modules
