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

    The kitty graphics protocol: raw RGB, compressed, in chunks of 4,096 characters, no reply. Five bits a
    channel, as noise in the others takes as many bytes as all of the picture.
    """
    height, width = pixels.shape[:2]
    data = base64.b64encode(zlib.compress((pixels & 0xF8 | 4).tobytes(), 1)).decode()
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
_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.float32) / 16 - 0.47


def sixel(pixels: NDArray[np.uint8]) -> str:
    """A picture in sixel (DEC VT340), 216 colours, ordered dithering, from the cursor on."""
    height, width = pixels.shape[:2]
    index = _dithered(pixels)
    present = np.flatnonzero(np.bincount(index.ravel(), minlength=_LEVELS**3)).tolist()
    parts = [f'\x1bP0;1;0q"1;1;{width};{height}']
    for colour in present:
        red, green, blue = colour // 36, colour // 6 % 6, colour % 6
        parts.append(f"#{colour};2;{red * 20};{green * 20};{blue * 20}")
    bands = -(-height // 6)
    # Of each band, colour and column, which of the six pixels below each other have that colour.
    bits = np.zeros((bands, _LEVELS**3, width), np.uint8)
    columns = np.arange(width)
    for row in range(6):
        lines = index[row::6]
        bits[np.arange(len(lines))[:, None], lines, columns] |= 1 << row
    places = np.argwhere(bits.any(axis=2))
    rows = _run_lengths(bits[places[:, 0], places[:, 1]])
    last = 0
    first = True
    for (band, colour), row_text in zip(places.tolist(), rows, strict=True):
        if band != last:
            parts.append("-" * (band - last))
            last, first = band, True
        parts.append(f"#{colour}{row_text}" if first else f"$#{colour}{row_text}")
        first = False
    parts.append("-\x1b\\")
    return "".join(parts)


def _dithered(pixels: NDArray[np.uint8]) -> NDArray[np.int32]:
    height, width = pixels.shape[:2]
    pattern = np.tile(_BAYER, (height // 4 + 1, width // 4 + 1))[:height, :width, None] * 0.9
    scaled = pixels.astype(np.float32) * ((_LEVELS - 1) / 255) + pattern
    levels = np.clip(np.rint(scaled), 0, _LEVELS - 1).astype(np.int32)
    index: NDArray[np.int32] = levels[..., 0] * 36 + levels[..., 1] * 6 + levels[..., 2]
    return index


class _Signs(dict[int, str]):
    """What stands for so many times the same sixel, by 64 × length + bits."""

    def __missing__(self, code: int) -> str:
        length, bits = divmod(code, 64)
        sign = chr(63 + bits)
        text = self[code] = sign * length if length < 4 else f"!{length}{sign}"
        return text


_SIGNS = _Signs()


def _run_lengths(rows: NDArray[np.uint8]) -> list[str]:
    """Each row of sixels as text, without what is empty at its end."""
    count, width = rows.shape
    begins = np.ones((count, width), bool)
    begins[:, 1:] = rows[:, 1:] != rows[:, :-1]
    starts = np.flatnonzero(begins)
    lengths = np.diff(np.append(starts, count * width))
    values = rows.ravel()[starts]
    owners = starts // width
    kept = (values != 0) | (np.append(owners[1:], -1) == owners)
    signs = [_SIGNS[code] for code in (lengths[kept] * 64 + values[kept]).tolist()]
    ends = np.cumsum(np.bincount(owners[kept], minlength=count)).tolist()
    return ["".join(signs[begin:end]) for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
