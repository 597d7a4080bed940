"""Warnings of work that looks at the same runs several times."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def warn_once() -> Iterator[None]:
    """Within, a warning that comes several times is given once, in the end."""
    caught: list[warnings.WarningMessage] = []
    try:
        with warnings.catch_warnings(record=True) as caught:
            yield
    finally:
        for text, category in {str(warning.message): warning.category for warning in caught}.items():
            warnings.warn(text, category, stacklevel=3)
