"""Pictures as characters: a cell shows two colours in the shape of some of its quadrants, or its halves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from accuracy_tui.player.colours import NO_COLOUR, PALETTE, SIXTEEN, TRUE_COLOUR
from accuracy_tui.player.palette import nearest, nearest_table

QUADRANTS = " ▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"
"""By the pixels that have the foreground colour: 1 top left, 2 top right, 4 bottom left, 8 bottom right."""

_STEPS = 5
"""Bits a channel: what a dashcam's noise changes from picture to picture isn't sent again."""
_BAYER = np.array([[0, 8, 2, 10], [12, 4, 14, 6], [3, 11, 1, 9], [15, 7, 13, 5]], np.float32) / 16 + 1 / 32


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A picture in cells; each array has the shape (rows, columns)."""

    glyph: NDArray[np.uint8]
    """Index into ``QUADRANTS``."""
    foreground: NDArray[np.int32]
    """0xRRGGBB, or a number of the terminal's palette; −1 for the terminal's own."""
    background: NDArray[np.int32]


def quadrants(pixels: NDArray[np.uint8], colours: str = TRUE_COLOUR) -> Cells:
    """A picture of shape (2·rows, 2·columns, 3) in quadrant blocks.

    Each cell's four pixels are split into a bright and a dark set at the middle of their brightness; each set
    has its mean colour.
    """
    rows, columns = pixels.shape[0] // 2, pixels.shape[1] // 2
    if colours == NO_COLOUR:
        return _dithered(pixels[: rows * 2, : columns * 2])
    cells = pixels[: rows * 2, : columns * 2].reshape(rows, 2, columns, 2, 3).transpose(0, 2, 1, 3, 4)
    four = cells.reshape(rows, columns, 4, 3).astype(np.float32)
    brightness = four @ np.array([0.299, 0.587, 0.114], np.float32)
    low, high = brightness.min(axis=2), brightness.max(axis=2)
    bright = brightness > ((low + high) / 2)[:, :, None]
    # A cell that is nearly even needs no shape, which noise alone would make flicker.
    bright[(high - low) < 6] = False
    counts = bright.sum(axis=2)
    total = four.sum(axis=2)
    upper = (four * bright[..., None]).sum(axis=2)
    foreground = upper / np.maximum(counts, 1)[..., None]
    background = (total - upper) / np.maximum(4 - counts, 1)[..., None]
    glyph = (bright * np.array([1, 2, 4, 8], np.uint8)).sum(axis=2).astype(np.uint8)
    codes = _code(foreground, colours)
    codes[counts == 0] = -1
    return Cells(glyph, codes, _code(background, colours))


def halves(pixels: NDArray[np.uint8], colours: str = TRUE_COLOUR) -> Cells:
    """A picture of shape (2·rows, columns, 3) in half blocks: every pixel has its own colour."""
    rows = pixels.shape[0] // 2
    if colours == NO_COLOUR:
        return _dithered(np.repeat(pixels[: rows * 2], 2, axis=1))
    top, bottom = pixels[0 : rows * 2 : 2].astype(np.float32), pixels[1 : rows * 2 : 2].astype(np.float32)
    foreground, background = _code(top, colours), _code(bottom, colours)
    glyph = np.where(foreground == background, 0, 3).astype(np.uint8)
    return Cells(glyph, np.where(glyph == 0, -1, foreground), background)


def prepare(colours: str) -> None:
    """Makes what else the first picture has to wait for."""
    if colours in (PALETTE, SIXTEEN):
        nearest_table(colours)


def padded(pixels: NDArray[np.uint8], width: int, height: int) -> NDArray[np.uint8]:
    """A picture that fills its last cells too: what is missing is like its edge."""
    down, across = max(0, height - pixels.shape[0]), max(0, width - pixels.shape[1])
    return np.pad(pixels, ((0, down), (0, across), (0, 0)), mode="edge") if down or across else pixels


def encode(cells: Cells, before: Cells | None, row: int, column: int, colours: str = TRUE_COLOUR) -> str:
    """What to write to the terminal so that it shows ``cells``, given that it shows ``before``.

    Only cells that differ are written, each run of them with one move of the cursor.

    Args:
        before: of the same size; None where what is on the terminal isn't known.
        row, column: where the top left cell is, from 0.
    """
    rows, columns = cells.glyph.shape
    if before is None or before.glyph.shape != cells.glyph.shape:
        changed = np.ones((rows, columns), bool)
    else:
        changed = (
            (cells.glyph != before.glyph)
            | (cells.foreground != before.foreground)
            | (cells.background != before.background)
        )
    parts: list[str] = []
    for y in np.flatnonzero(changed.any(axis=1)).tolist():
        places = np.flatnonzero(changed[y])
        # Short gaps are cheaper to write than to jump over.
        breaks = np.flatnonzero(np.diff(places) > 4) + 1
        for run in np.split(places, breaks):
            first, last = int(run[0]), int(run[-1]) + 1
            parts.append(f"\x1b[{row + y + 1};{column + first + 1}H")
            parts.append(_row(cells, y, first, last, colours))
    if parts:
        parts.append("\x1b[0m")
    return "".join(parts)


def _row(cells: Cells, y: int, first: int, last: int, colours: str) -> str:
    parts: list[str] = []
    add = parts.append
    foreground = background = -2
    glyphs = cells.glyph[y, first:last].tolist()
    fronts = cells.foreground[y, first:last].tolist()
    backs = cells.background[y, first:last].tolist()
    for glyph, front, back in zip(glyphs, fronts, backs, strict=True):
        new_front = glyph != 0 and front != foreground
        new_back = glyph != 15 and back != background
        if new_front:
            foreground = front
            if new_back:
                background = back
                add(_both(front, back, colours))
            else:
                add(_one(front, 38, colours))
        elif new_back:
            background = back
            add(_one(back, 48, colours))
        add(QUADRANTS[glyph])
    return "".join(parts)


@lru_cache(1 << 15)
def _both(front: int, back: int, colours: str) -> str:
    codes = [code for code in (_sgr(front, 38, colours), _sgr(back, 48, colours)) if code]
    return f"\x1b[{';'.join(codes)}m" if codes else ""


@lru_cache(1 << 15)
def _one(colour: int, layer: int, colours: str) -> str:
    code = _sgr(colour, layer, colours)
    return f"\x1b[{code}m" if code else ""


def _sgr(code: int, layer: int, colours: str) -> str:
    if code < 0 or colours == NO_COLOUR:
        return ""
    if colours == SIXTEEN:
        return str(layer - 8 + code if code < 8 else layer + 52 + code - 8)
    if colours == PALETTE:
        return f"{layer};5;{code}"
    return f"{layer};2;{code >> 16};{code >> 8 & 255};{code & 255}"


def _code(values: NDArray[np.float32], colours: str) -> NDArray[np.int32]:
    if colours == PALETTE:
        return nearest(values, PALETTE)
    if colours == SIXTEEN:
        return _sixteen(values)
    steps = (1 << _STEPS) - 1
    reduced = np.rint(np.rint(values * (steps / 255)) * (255 / steps)).astype(np.int32)
    code: NDArray[np.int32] = (reduced[..., 0] << 16) | (reduced[..., 1] << 8) | reduced[..., 2]
    return code


def _sixteen(values: NDArray[np.float32]) -> NDArray[np.int32]:
    """The nearest of sixteen colours, shades in a pattern: with four greys a street would be one plain."""
    height, width = values.shape[:2]
    pattern = np.tile(_BAYER, (height // 4 + 1, width // 4 + 1))[:height, :width, None] - 0.5
    return nearest((values + pattern * 64).astype(np.float32), SIXTEEN)


def _dithered(pixels: NDArray[np.uint8]) -> Cells:
    """Black and white, the shades in a pattern (Bayer 1973, ordered dithering)."""
    rows, columns = pixels.shape[0] // 2, pixels.shape[1] // 2
    brightness = pixels.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32) / 255
    pattern = np.tile(_BAYER, (rows // 2 + 1, columns // 2 + 1))[: rows * 2, : columns * 2]
    on = (brightness > pattern).reshape(rows, 2, columns, 2).transpose(0, 2, 1, 3).reshape(rows, columns, 4)
    glyph = (on * np.array([1, 2, 4, 8], np.uint8)).sum(axis=2).astype(np.uint8)
    none = np.full((rows, columns), -1, np.int32)
    return Cells(glyph, none, none)
