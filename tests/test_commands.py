"""What the commands have in common: cheap help, a missing package, warnings, and one list of them all."""

import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest
from command_line import dico

from dico import commands


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


def test_every_command_has_a_file_options_and_a_line_of_help(capsys):
    _, out, _ = dico(capsys, "--help")
    for name, does in commands.COMMANDS.items():
        command = import_module(f"dico.commands.{name}")
        assert callable(command.run)
        assert isinstance(command.Options, type)
        assert f"dico {name} {does}" in out
    files = {path.stem for path in Path(commands.__file__).parent.glob("[!_]*.py")}
    assert files == set(commands.COMMANDS)


def test_help_needs_neither_torch_nor_the_commands():
    done = python("import sys; sys.modules.update(torch=None, tyro=None); from dico.commands import main; main(['-h'])")
    assert done.returncode == 0, done.stderr
    assert "dico train" in done.stdout


def test_a_missing_package_is_named():
    code = (
        "import sys; sys.modules['safetensors'] = None; from dico.commands import main; sys.exit(main(['eval', 'x']))"
    )
    done = python(code)
    assert done.returncode == 2
    assert 'dico eval needs safetensors: pip install "dico-marl[train]"' in done.stderr


@pytest.mark.filterwarnings("default")
def test_warnings_are_lines_while_a_command_runs_and_no_longer(capsys, monkeypatch):
    before = warnings.showwarning
    monkeypatch.setattr("dico.commands.tasks.run", lambda *_: warnings.warn("look out", stacklevel=1) or 0)
    assert dico(capsys, "tasks") == (0, "", "warning: look out")
    assert warnings.showwarning is before
