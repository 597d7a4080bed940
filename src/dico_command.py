"""The command `dico`, which sets what must be set before torch is loaded."""

import os

# Threads that wait should sleep, not spin: where another program has one of the cores, a spinning team waits for its
# descheduled member at the end of every operation, and a training can become a hundred times slower.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def main() -> int:
    """Run :func:`dico.cli.main`."""
    from dico.cli import main

    return main()
