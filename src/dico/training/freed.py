"""Memory that a training on a CPU has freed: it is asked for again at the next update."""

import ctypes
import os
from functools import cache

TRIM, MAP = -1, -3
"""What GNU's C library calls M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 512 * 2**20
"""Up to so many freed bytes stay with the process."""
MAPPED = 32 * 2**20
"""Larger blocks are the system's own all the same: the most that the library takes."""


@cache
def keep_freed_memory() -> bool:
    """From now on, do not give freed memory back to the system at once; whether the C library can be told so.

    It comes back zeroed, page by page, which took a third of a training of 16 small networks. Who sets
    ``MALLOC_TRIM_THRESHOLD_`` and the like decides for themselves.

    >>> keep_freed_memory() == keep_freed_memory()
    True
    """
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another system, another C library
        return False
    return bool(mallopt(MAP, MAPPED)) and bool(mallopt(TRIM, KEPT))
