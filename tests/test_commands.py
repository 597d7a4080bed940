"""What the commands have in common: cheap help, a missing package, warnings, and one list of them all."""

import errno
import os
import subprocess
import sys
import warnings
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import dico

from dico import commands
from dico._files import found_below
from dico.runs import RunError, load


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


def test_what_goes_away_while_it_is_looked_for_is_passed_over(tmp_path, monkeypatch):
    """As processes do under /proc."""
    for name in ("one", "two"):
        (tmp_path / name / "run").mkdir(parents=True)
        (tmp_path / name / "run" / "config.json").touch()
    real = os.scandir

    def scandir(path="."):
        if Path(path).name == "one":
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    assert found_below(tmp_path, 2, "config.json") == [tmp_path / "two" / "run" / "config.json"]
    with pytest.raises(RunError, match="is no run folder: it has no config"):
        load(tmp_path)


class Gone:
    """A stream that cannot be written to."""

    encoding = "utf-8"

    def __init__(self, number):
        self.number = number

    def write(self, text=""):
        raise OSError(self.number, os.strerror(self.number))

    flush = write

    def fileno(self):
        raise OSError("none of its own")


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("number", [errno.EIO, errno.EPIPE, errno.ENOSPC], ids=errno.errorcode.get)
@pytest.mark.parametrize("name", commands.COMMANDS)
def test_only_a_training_goes_on_where_its_words_cannot_be_written(monkeypatch, name, number):
    """Others, whose words are all that they are for, end as others' do."""

    def run(_, console):
        console.print("words")
        warnings.warn("look out", stacklevel=1)
        return 0

    monkeypatch.setattr(commands, "parse", lambda _: (SimpleNamespace(run=run), None))
    monkeypatch.setattr(sys, "stdout", Gone(number))
    monkeypatch.setattr(sys, "stderr", Gone(number))
    expected = 0 if name in commands.TRAIN else 141 if number == errno.EPIPE else 2
    assert commands.main([name]) == expected


@pytest.mark.parametrize("words", [["list", "{}"], ["list", "--help"], ["--help"], ["--version"]], ids=" ".join)
def test_a_reader_that_has_left_sees_no_traceback(tmp_path, words):
    ours, theirs = os.pipe()
    os.close(ours)
    command = [sys.executable, "-m", "dico", *(word.format(tmp_path) for word in words)]
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json").write_text("{}")  # of which there is a line
    done = subprocess.run(command, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False)
    os.close(theirs)
    assert (done.returncode, "Traceback" in done.stderr, "Exception" in done.stderr) == (141, False, False)
