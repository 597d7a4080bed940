"""The command line as tests call it."""

from dico.commands import main


def dico(capsys, *arguments):
    """Exit status, standard output and standard error, each on one line."""
    try:
        status = main([str(argument) for argument in arguments])
    except SystemExit as stop:
        status = stop.code
    out, err = capsys.readouterr()
    return status, " ".join(out.split()), " ".join(err.replace("│", " ").split())
