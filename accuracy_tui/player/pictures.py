"""Pictures for terminals that show pixels: the kitty graphics protocol and sixel."""

from __future__ import annotations

import base64
import zlib

import numpy as np
from numpy.typing import NDArray

_CHUNK = 4096
_IMAGE = 7301  # of the console's own picture, which each new one replaces


def kitty(pixels: NDArray[np.uint8], columns: int, rows: int) -> str:
    """A picture over ``columns`` × ``rows`` cells from the cursor on, in place of the one before.

    The kitty graphics protocol: raw RGB, compressed, in chunks of 4,096 characters, no reply.
    """
    height, width = pixels.shape[:2]
    data = base64.b64encode(zlib.compress(np.ascontiguousarray(pixels).tobytes(), 1)).decode()
    chunks = [data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK)]
    parts = []
    for number, chunk in enumerate(chunks):
        more = int(number + 1 < len(chunks))
        control = f"m={more}"
        if number == 0:
            control = (
                f"a=T,f=24,o=z,s={width},v={height},c={columns},r={rows},i={_IMAGE},p=1,C=1,q=2,m={more}"
            )
        parts.append(f"\x1b_G{control};{chunk}\x1b\\")
    return "".join(parts)


def kitty_gone() -> str:
    """Takes the picture away."""
    return f"\x1b_Ga=d,d=I,i={_IMAGE},q=2\x1b\\"


_LEVELS = 6


def sixel(pixels: NDArray[np.uint8]) -> str:
    """A picture in sixel (DEC VT340), 216 colours, ordered dithering, from the cursor on."""
    height, width = pixels.shape[:2]
    bayer = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.float32) / 16 - 0.47
    pattern = np.tile(bayer, (height // 4 + 1, width // 4 + 1))[:height, :width, None]
    levels = np.clip(np.rint(pixels * ((_LEVELS - 1) / 255) + pattern * 0.9), 0, _LEVELS - 1).astype(np.int32)
    index = levels[..., 0] * 36 + levels[..., 1] * 6 + levels[..., 2]
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for colour in np.unique(index).tolist():
        red, green, blue = colour // 36, colour // 6 % 6, colour % 6
        parts.append(f"#{colour};2;{red * 20};{green * 20};{blue * 20}")
    bits = 1 << np.arange(6)
    for top in range(0, height, 6):
        band = index[top : top + 6]
        present = np.unique(band)
        for number, colour in enumerate(present.tolist()):
            mask = (band == colour).T @ bits[: len(band)]
            parts.append(("$" if number else "") + f"#{colour}" + _run_lengths(mask))
        parts.append("-")
    parts.append("\x1b\\")
    return "".join(parts)


def _run_lengths(values: NDArray[np.int64]) -> str:
    starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
    lengths = np.diff(np.append(starts, len(values)))
    parts = []
    for value, length in zip(values[starts].tolist(), lengths.tolist(), strict=True):
        sign = chr(63 + value)
        parts.append(sign * length if length < 4 else f"!{length}{sign}")
    while parts and parts[-1].lstrip("!0123456789") in ("?", "??", "???"):
        parts.pop()
    return "".join(parts)
