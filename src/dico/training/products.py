"""Matrix products of float32 on a CPU, by oneDNN where it keeps them of float32."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cache

import torch

LOCK = threading.Lock()
INSIDE: list[str] = []
"""For each of those who are within, what the setting was before the first of them came."""


@contextmanager
def quick_float32() -> Iterator[None]:
    """Within, oneDNN makes products of float32 on a CPU, where it makes them of float32 indeed; else nothing changes.

    PyTorch asks MKL, which uses half of the width of processors that are not Intel's. It asks oneDNN if it is allowed
    bf16; and on a processor without units for bf16 matrices, oneDNN has no use for that and stays with float32.

    The setting is PyTorch's, of the whole process. Within, ``torch.get_float32_matmul_precision()`` raises, as it does
    wherever that has been set by kind of device, and what is set for CPUs there is undone on leaving.
    """
    with allowed_bf16() if onednn_keeps_float32() else nullcontext():
        yield


@contextmanager
def allowed_bf16() -> Iterator[None]:
    """Within, products of float32 on a CPU may be rounded to bf16."""
    settings = torch.backends.mkldnn.matmul  # pyright: ignore[reportAttributeAccessIssue]
    with LOCK:
        INSIDE.append(INSIDE[0] if INSIDE else settings.fp32_precision)
        settings.fp32_precision = "bf16"
    try:
        yield
    finally:
        with LOCK:
            before = INSIDE.pop()
            if not INSIDE:  # the last of several threads
                settings.fp32_precision = before


@cache
def onednn_keeps_float32() -> bool:
    """Whether products of float32 that may be rounded to bf16 are not, on this processor: it is tried.

    With a number that bf16 does not tell from 1, in products of the forms that a network's passes have.
    """
    above, kind = 1 + 2**-12, {"dtype": torch.float32, "device": "cpu"}
    for rows, inputs, outputs in ((2048, 256, 256), (2048, 4, 32), (128, 256, 2), (256, 2048, 256)):
        left, right = torch.full((2, rows, inputs), above, **kind), torch.ones(2, inputs, outputs, **kind)
        with allowed_bf16():
            products = left @ right, right.mT @ left.mT, left[0] @ right[0]
        if any((product / inputs - above).abs().max() > 2**-16 for product in products):
            return False
    return True
