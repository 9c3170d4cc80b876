"""The command line: readable help, exit codes, one line for every mistake."""

import subprocess
import sys

import pytest

import drspcrl
from drspcrl.cli import COMMANDS, condense, main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "drspcrl: error: Expected one of {"),
        (["sove"], "Unrecognized options: sove; available subcommands: "),
        (["solve", "--budgt", "3"], "perhaps you meant --budget"),
        (["solve", "--budget", "many"], "could not convert string to float: 'many'"),
        (["doctor", "extra"], "extra"),
        (["render", "--world", "mass=2", "--world", "gear=1"], "--world is given 2 times"),
        (["train", "--log_every=1", "--log-every", "2"], "--log-every is given 2 times"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(capsys, arguments, message):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert printed.err.startswith("drspcrl: error: ")
    assert message in printed.err
    assert "Traceback" not in printed.err
    assert not set("╭│╰─") & set(printed.err)


def test_debug_shows_the_traceback(capsys):
    assert main(["solve", "--budget", "-1", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_wrong_value_is_one_line_too(capsys):
    assert main(["solve", "--budget", "-1"]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "-1" in printed


def test_an_unexpected_failure_is_one_line_and_exit_code_one(capsys, monkeypatch):
    def broken(self):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("drspcrl.cli.doctor.Doctor.run", broken)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().err == (
        "drspcrl: error: RuntimeError: two lines (--debug shows where)\n"
    )


def test_what_was_noted_of_an_error_is_told(capsys, monkeypatch):
    def broken(self):
        error = KeyError("x")
        error.add_note("The policy was asked for an action: step 3.")
        raise error

    monkeypatch.setattr("drspcrl.cli.doctor.Doctor.run", broken)
    assert main(["doctor"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("drspcrl: error: KeyError: 'x' The policy was asked for an action: step")


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command(capsys, command):
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert f"usage: drspcrl {command}" in capsys.readouterr().out


def test_ctrl_c_that_saved_is_no_error(capsys, monkeypatch):
    def stopped(self):
        raise KeyboardInterrupt

    monkeypatch.setattr("drspcrl.cli.doctor.Doctor.run", stopped)
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "drspcrl: stopped by Ctrl-C\n"


@pytest.mark.parametrize("option", ["--version", "--debug", "--tyro-print-completion bash"])
def test_help_tells_what_every_command_has(capsys, option):
    with pytest.raises(SystemExit):
        main(["--help"])
    assert option in " ".join(capsys.readouterr().out.split())


def test_the_completion_that_help_tells_of_works(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--tyro-print-completion", "bash"])
    assert not stop.value.code
    script = capsys.readouterr().out
    assert completed(script, "tr") == ["train"]
    assert completed(script, "train", "--alg") == ["--algorithm"]


def completed(script: str, *words: str) -> list[str]:
    """What bash offers after `drspcrl` and these words."""
    line = " ".join(("drspcrl", *words))
    ask = f"""{script}
COMP_WORDS=({line}); COMP_CWORD={len(words)}; COMP_LINE="{line}"; COMP_POINT={len(line)}
$(complete -p drspcrl | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    done = subprocess.run(["bash"], input=ask, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_help_lists_every_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert not stop.value.code
    printed = capsys.readouterr().out
    assert all(command in printed for command in COMMANDS)


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert capsys.readouterr().out == f"drspcrl {drspcrl.__version__}\n"


def test_condense_leaves_unframed_text_alone():
    assert condense("something went wrong.\n") == "something went wrong"


def test_a_reader_that_has_seen_enough_is_no_error():
    program = [sys.executable, "-m", "drspcrl", "--version"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()  # before anything is printed
        assert command.stderr.read() == b""
