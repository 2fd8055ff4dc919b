"""The colours that terminals have where they haven't all: xterm's 256, and the sixteen of old."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from accuracy_tui.player.colours import PALETTE, SIXTEEN


def rgb(code: int, colours: str) -> tuple[int, int, int]:
    """What colour a number in ``Cells`` is."""
    if colours == SIXTEEN:
        red, green, blue = (int(value) for value in _SIXTEEN[code])
        return red, green, blue
    if colours == PALETTE:
        if code >= 232:
            grey = 8 + 10 * (code - 232)
            return grey, grey, grey
        code -= 16
        return int(_LEVELS[code // 36]), int(_LEVELS[code // 6 % 6]), int(_LEVELS[code % 6])
    return code >> 16, code >> 8 & 255, code & 255


# As VGA and the Linux console have them; other terminals' differ a little.
_SIXTEEN = np.array(
    [
        *((0, 0, 0), (170, 0, 0), (0, 170, 0), (170, 85, 0), (0, 0, 170), (170, 0, 170), (0, 170, 170)),
        *((170, 170, 170), (85, 85, 85), (255, 85, 85), (85, 255, 85), (255, 255, 85), (85, 85, 255)),
        *((255, 85, 255), (85, 255, 255), (255, 255, 255)),
    ],
    np.float32,
)


_LEVELS = np.array([0, 95, 135, 175, 215, 255], np.float32)  # of xterm's colour cube


def nearest(values: NDArray[np.float32], colours: str) -> NDArray[np.int32]:
    """The number in the palette of each colour of ``values``, whose last axis is red, green and blue."""
    levels = np.clip(np.rint(values * (31 / 255)), 0, 31).astype(np.int32)
    index = levels[..., 0] << 10 | levels[..., 1] << 5 | levels[..., 2]
    codes: NDArray[np.int32] = nearest_table(colours)[index]
    return codes


@lru_cache(2)
def nearest_table(colours: str) -> NDArray[np.int32]:
    """For red, green and blue of 5 bits each: the nearest to the eye, so that what is red stays red."""
    codes = np.arange(16) if colours == SIXTEEN else np.arange(16, 256)  # the first 16 differ by terminal
    palette = _lab(np.array([rgb(code, colours) for code in codes.tolist()], np.float32))
    axis = np.arange(32, dtype=np.float32) * (255 / 31)
    all_colours = _lab(np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3))
    # The square of the distance, less what is the same for all of the palette.
    distances = (palette**2).sum(axis=1) - 2 * all_colours @ palette.T
    table: NDArray[np.int32] = codes[distances.argmin(axis=1)].astype(np.int32)
    return table


def _lab(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """sRGB as CIE 1976 L*a*b*, in which distances are about as large as they look."""
    share = values / 255
    light = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]], np.float32
    )
    xyz = light @ to_xyz.T / np.array([0.9505, 1.0, 1.089], np.float32)
    root = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = root[..., 0], root[..., 1], root[..., 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)
