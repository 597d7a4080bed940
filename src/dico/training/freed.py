"""Memory that a training on a CPU has freed: it is asked for again at the next update."""

import ctypes
import os
from functools import cache

TRIM, MAP = -1, -3
"""What GNU's C library calls M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""
KEPT = 512 * 2**20
"""Up to so many bytes at the end of the heap stay with the process, and all that is free between blocks in use."""
MAPPED = 32 * 2**20
"""Larger blocks are the system's own all the same: the most that the library takes."""
OWN = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_")
"""What users set for themselves."""


@cache
def keep_freed_memory() -> bool:
    """From now on, do not give freed memory back to the system at once; whether the C library can be told so.

    It comes back zeroed, page by page, which took a quarter of a training of 16 small networks. This is for the whole
    process and for good, and lets it grow: by 27 and 144 MB where that was looked at. Who sets
    ``MALLOC_TRIM_THRESHOLD_`` or ``MALLOC_MMAP_THRESHOLD_`` decides for themselves.

    >>> keep_freed_memory() == keep_freed_memory()
    True
    """
    if any(name in os.environ for name in OWN) or "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", ""):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another system, another C library
        return False
    return bool(mallopt(MAP, MAPPED)) and bool(mallopt(TRIM, KEPT))
