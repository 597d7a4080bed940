"""Bad input on the command line: one line that says what is wrong, and exit status 2."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from hydra.errors import HydraException
from omegaconf.errors import OmegaConfBaseException


@contextmanager
def explain_errors() -> Iterator[None]:
    """Say in one line what is wrong with a configuration, unless Hydra's users ask for it all."""
    try:
        yield
    except Exception as error:
        if os.environ.get("HYDRA_FULL_ERROR") == "1":
            raise
        print(f"error: {_line(error)}", file=sys.stderr)  # noqa: T201
        raise SystemExit(2) from None


def _line(error: Exception) -> str:
    """Our own messages whole; of others the first line, with what Hydra has to add."""
    if type(error) is ValueError:
        return str(error)
    if isinstance(error, HydraException) and isinstance(error.__cause__, OmegaConfBaseException):
        return f"{_first(error)}: {_first(error.__cause__)}"
    if isinstance(error, HydraException | OmegaConfBaseException):
        return _first(error)
    return f"{type(error).__name__}: {_first(error)} (HYDRA_FULL_ERROR=1 shows where)"


def _first(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), "")
