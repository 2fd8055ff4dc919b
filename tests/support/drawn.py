"""What a terminal shows after what was written to it: as much of one as pictures need."""

from __future__ import annotations

import re

import numpy as np

_TOKEN = re.compile(r"\x1b\[([\d;]*)([A-Za-z])|(.)", re.DOTALL)


class DrawnTerminal:
    """Characters with the two colours as they were asked for: a number, (red, green, blue), or None."""

    def __init__(self, columns: int, rows: int) -> None:
        self.characters = np.full((rows, columns), " ", dtype=object)
        self.foreground = np.full((rows, columns), None, dtype=object)
        self.background = np.full((rows, columns), None, dtype=object)
        self._row = self._column = 0
        self._colours: dict[int, object] = {38: None, 48: None}

    def write(self, text: str) -> None:
        for numbers, kind, character in _TOKEN.findall(text):
            values = [int(number or 0) for number in numbers.split(";")]
            if kind == "H":
                self._row, self._column = values[0] - 1, values[1] - 1
            elif kind == "m":
                self._paint(values)
            elif character:
                self.characters[self._row, self._column] = character
                self.foreground[self._row, self._column] = self._colours[38]
                self.background[self._row, self._column] = self._colours[48]
                self._column += 1
            else:
                assert kind == "n", f"not known: {kind}"

    def _paint(self, values: list[int]) -> None:
        rest = iter(values)
        for value in rest:
            if value == 0:
                self._colours = {38: None, 48: None}
            elif value in (38, 48):
                deep = next(rest) == 2
                self._colours[value] = tuple(next(rest) for _ in range(3)) if deep else next(rest)
            elif 90 <= value < 98 or 100 <= value < 108:
                self._colours[38 if value < 98 else 48] = value % 10 + 8
            else:
                assert 30 <= value < 38 or 40 <= value < 48
                self._colours[38 if value < 38 else 48] = value % 10
