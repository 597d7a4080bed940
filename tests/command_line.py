"""The command line as tests call it."""

from dico.cli import _parse as parse  # what was typed after `dico`, checked and not run
from dico.cli import main

__all__ = ["dico", "parse"]


def dico(capsys, *arguments):
    """Exit status, standard output and standard error, each on one line."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    return status, " ".join(out.split()), " ".join(err.replace("│", " ").split())
