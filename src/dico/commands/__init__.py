"""The command line: a file for each command, thin; each one calls what Python users call.

A command's file has its ``Options``, whose fields are the words that it takes, and ``run``, which does it and gives the
exit status. It is imported when the command is called, so that help needs none of it, nor torch.
"""

import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from rich.console import Console

from dico import __version__
from dico._errors import is_out_of_memory
from dico.commands._output import Output, dropping

COMMANDS = {
    "train": "Train a population: every desired diversity and seed at once.",
    "resume": "Go on with a run that was interrupted, exactly where its newest checkpoint left off.",
    "tune": "Find the diversity that a task needs, and say whether diversity pays.",
    "reproduce": "Train the paper's experiments again, and judge its claims.",
    "list": "List run folders: task, algorithm, members, frames done, and whether they are finished.",
    "eval": "Let the trained members play fresh episodes.",
    "report": "Write a page about a run, or about several to compare: curves, decision, maps, episodes, live networks.",
    "map": "Draw where the team is diverse, a panel for each level.",
    "video": "Animate an episode of each level side by side, or who differs from whom over the training.",
    "export": "Write a member's policies as a file that acts without dico (.pt2, .onnx), or all curves (.json).",
    "claims": "Judge the paper's claims by runs: holds, fails or undecided, with intervals over seeds.",
    "bound": "The largest SND that a team can have in an action box.",
    "completion": "Print a script by which bash or zsh complete the names of commands, options and tasks.",
    "tasks": "List the tasks: agents, sizes of observations and actions, the paper's diversity levels.",
}
"""The commands, each in the file of its name, and what it does."""
TRAIN = ("train", "resume", "tune", "reproduce")
"""Those that train, which goes on where what they say cannot be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = [*(sys.argv[1:] if arguments is None else arguments)]  # `list` is a command here
    trains = bool({*arguments[:1]} & {*TRAIN}) and not {"-h", "--help"} & {*arguments}
    with dropping(also_output=trains):
        errors = Console(stderr=True)
        try:
            try:
                return _run(arguments, Output(), errors)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except BrokenPipeError:  # the reader has left
            return 141
        except (ValueError, ImportError, OSError, OverflowError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):
                raise
            errors.print("error:", style="bold red", end=" ")
            errors.print(_line(error, arguments), markup=False, highlight=False, soft_wrap=True)
            return 2
        except KeyboardInterrupt:
            return 130


def _run(arguments: Sequence[str], console: Console, errors: Console) -> int:
    if arguments in ([], ["-h"], ["--help"]):
        _help(console)
        return 0
    if arguments in (["--version"], ["-V"]):
        say(f"dico {__version__}", console)
        return 0
    with _warnings_on(errors):
        command, options = parse(arguments)
        return command.run(options, console)


def parse(arguments: Sequence[str]) -> tuple[Any, Any]:
    """The command's module, and its options as they were given.

    A module may have ``defaults``, which gives the options that are not given, by those that are.
    """
    name, *words = arguments
    try:  # here and not above: for help
        from dico._checks import check_choice
        from dico.commands._parsing import parse_words

        command: Any = import_module(f"dico.commands.{check_choice('command', name, COMMANDS)}")
    except ModuleNotFoundError as missing:
        raise ImportError(f'dico {name} needs {missing.name}: pip install "dico-marl[train]"') from missing
    default = {"default": command.defaults(words)} if hasattr(command, "defaults") else {}
    return command, parse_words(command.Options, words, f"dico {name}", description=COMMANDS[name], **default)


def say(text: str, console: Console) -> None:
    """A line as it is."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def say_where(what: Path | str, console: Console) -> None:
    """Where something was written."""
    say(f"wrote {what}", console)


@contextmanager
def _warnings_on(errors: Console) -> Iterator[None]:
    """Within, a warning is a line of its text."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda text, *_, **__: errors.print(f"warning: {text}", markup=False, highlight=False)
        warnings.filterwarnings("ignore", module=r"torch\._inductor")  # the compiler's remarks on its own code
        yield


def _line(error: Exception, arguments: Sequence[str]) -> str:
    """What went wrong, in a line; a system's error names its file, and a missing package the command that needs it."""
    if isinstance(error, ImportError) and error.name and " needs " in str(error):
        return f"dico {arguments[0]}, as asked here, needs {str(error).partition(' needs ')[2]}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the system'}: {error.strerror}"
    if isinstance(error, MemoryError | RuntimeError):
        return "there is not enough memory for this: ask for less, such as fewer episodes or a coarser resolution"
    if isinstance(error, OverflowError):
        return f"a number is too large: seeds are below 2**63 ({error})"
    return " ".join(str(error).split("\n"))


def _help(console: Console) -> None:
    console.print("dico: diversity control for multi-agent reinforcement learning\n")
    width = max(len(name) for name in COMMANDS)
    for name, does in COMMANDS.items():
        console.print(f"  dico {name:{width}} {does}", highlight=False)
    console.print("\ndico COMMAND --help tells more of each; dico --version is the version", highlight=False)
