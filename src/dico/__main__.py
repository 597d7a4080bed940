"""The command `dico`, which is ``python -m dico`` too: it sets what must be set before torch is loaded."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    del sys.path[0]  # the working directory: what lies about there is not to be imported in place of what is installed

# Threads that wait should soon sleep: where another program has one of the cores, a team that spins waits at the end of
# every operation for its descheduled member, and a training can become a hundred times slower.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")


def main() -> int:
    """Run :func:`dico.commands.main`."""
    try:
        from dico.commands import main

        return main()
    except KeyboardInterrupt:  # before the command itself takes care of it
        return 130
    except ModuleNotFoundError as missing:
        print(f'error: the command needs {missing.name}: pip install "dico-marl[train]"')  # noqa: T201
        return 2


if __name__ == "__main__":
    sys.exit(main())
