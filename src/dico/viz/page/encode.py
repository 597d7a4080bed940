"""Long arrays as base64, as small as they can be and still be what they were."""

import base64
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

WORD = 0xFFFF
"""The largest of 16-bit numbers."""


def floats(values: Any) -> str:
    """Single-precision numbers, NaN included.

    >>> floats([1.0, 2.0])
    'AACAPwAAAEA='
    """
    return _text(np.asarray(values, dtype="<f4").tobytes())


def octets(values: UInt8[np.ndarray, "*shape"]) -> str:
    """Whole numbers from 0 to 255."""
    return _text(np.asarray(values, dtype=np.uint8).tobytes())


def words(values: Int[np.ndarray, "*shape"]) -> str:
    """Whole numbers from 0 to 65535."""
    return _text(np.asarray(values, dtype="<u2").tobytes())


def quantise(values: Float[np.ndarray, "*shape"]) -> dict[str, Any]:
    """Numbers as ``low + step * word``, to 1/65535 of their range.

    >>> quantise(np.array([0.0, 1.0]))["step"] == 1 / WORD
    True
    """
    low, high = (float(end) for end in (values.min(), values.max()))
    step = (high - low) / WORD if high > low else 1.0
    return {"low": low, "step": step, "words": words(np.rint((values - low) / step).astype(np.int64))}


def pack(values: Int[np.ndarray, " count"], bits: int) -> str:
    """Signed whole numbers of so many bits each, without gaps, the highest bit first.

    >>> pack(np.array([-8, 7]), bits=4)
    'Dw=='
    """
    shifted = values.astype(np.int64) + (1 << (bits - 1))
    each = (shifted[:, None] >> np.arange(bits - 1, -1, -1)) & 1
    return _text(np.packbits(each.astype(np.uint8)).tobytes())


def _text(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")
