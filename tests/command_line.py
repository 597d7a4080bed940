"""The command line as tests call it."""

from dico.commands import main
from dico.commands import parse as _parse

__all__ = ["dico", "parse"]


def dico(capsys, *arguments):
    """Exit status, standard output and standard error, each on one line."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    return status, " ".join(out.split()), " ".join(err.replace("│", " ").split())


def parse(arguments):
    """What was typed after `dico`, checked and not run."""
    return _parse(arguments)[1]
