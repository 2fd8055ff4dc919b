"""Pictures as characters: decoded again from what is written to the terminal."""

import numpy as np
import pytest

from accuracy_tui.player.blocks import QUADRANTS, encode, halves, padded, quadrants
from accuracy_tui.player.colours import NO_COLOUR, PALETTE, SIXTEEN, TRUE_COLOUR
from accuracy_tui.player.palette import rgb
from support.drawn import DrawnTerminal

ROWS, COLUMNS = 6, 9
FIVE_BITS = np.rint(np.arange(32) * 255 / 31).astype(np.uint8)
EVERY = [TRUE_COLOUR, PALETTE, SIXTEEN, NO_COLOUR]


def noise(seed, rows=ROWS * 2, columns=COLUMNS * 2):
    return FIVE_BITS[np.random.default_rng(seed).integers(0, 32, (rows, columns, 3))]


def colour(code, colours=TRUE_COLOUR):
    return code if isinstance(code, tuple) else rgb(code, colours)


def shown(terminal, row, column, rows=ROWS, columns=COLUMNS, colours=TRUE_COLOUR):
    """The pixels that a terminal shows, two by two in a cell."""
    pixels = np.zeros((rows * 2, columns * 2, 3), np.uint8)
    for y in range(rows):
        for x in range(columns):
            glyph = QUADRANTS.index(terminal.characters[row + y, column + x])
            for part in range(4):
                layer = terminal.foreground if glyph >> part & 1 else terminal.background
                pixels[y * 2 + part // 2, x * 2 + part % 2] = colour(layer[row + y, column + x], colours)
    return pixels


def test_two_colours_in_a_cell_are_shown_as_they_are():
    generator = np.random.default_rng(1)
    dark = FIVE_BITS[generator.integers(0, 12, (ROWS, COLUMNS, 1, 3))]
    bright = FIVE_BITS[generator.integers(18, 32, (ROWS, COLUMNS, 1, 3))]
    cells = np.where(generator.random((ROWS, COLUMNS, 4, 1)) < 0.5, dark, bright)
    pixels = cells.reshape(ROWS, COLUMNS, 2, 2, 3).transpose(0, 2, 1, 3, 4).reshape(ROWS * 2, COLUMNS * 2, 3)
    terminal = DrawnTerminal(40, 20)
    terminal.write(encode(quadrants(pixels), None, 3, 5))
    assert np.array_equal(shown(terminal, 3, 5), pixels)
    assert set(terminal.characters[:3].ravel()) == {" "}  # nothing elsewhere


def test_of_more_colours_each_cell_keeps_its_mean():
    pixels = noise(2)
    terminal = DrawnTerminal(COLUMNS, ROWS)
    terminal.write(encode(quadrants(pixels), None, 0, 0))
    means = shown(terminal, 0, 0).reshape(ROWS, 2, COLUMNS, 2, 3).mean(axis=(1, 3))
    assert np.abs(means - pixels.reshape(ROWS, 2, COLUMNS, 2, 3).mean(axis=(1, 3))).max() <= 5


def test_halves_show_every_pixel():
    pixels = noise(3, columns=COLUMNS)
    terminal = DrawnTerminal(COLUMNS, ROWS)
    terminal.write(encode(halves(pixels), None, 0, 0))
    assert np.array_equal(shown(terminal, 0, 0)[:, ::2], pixels)
    assert np.array_equal(shown(terminal, 0, 0)[:, 1::2], pixels)


@pytest.mark.parametrize("colours", EVERY)
@pytest.mark.parametrize("draw", [quadrants, halves])
def test_only_what_changes_is_written(draw, colours):
    before, after = noise(4), noise(5)
    after[:, :10] = before[:, :10]
    kept, new = draw(before, colours), draw(after, colours)
    columns = kept.glyph.shape[1]
    told, anew = DrawnTerminal(columns, ROWS), DrawnTerminal(columns, ROWS)
    told.write(encode(kept, None, 0, 0, colours))
    update, whole = encode(new, kept, 0, 0, colours), encode(new, None, 0, 0, colours)
    told.write(update)
    anew.write(whole)
    for y, x in np.ndindex(told.characters.shape):
        assert told.characters[y, x] == anew.characters[y, x]
        if told.characters[y, x] != " ":
            assert told.foreground[y, x] == anew.foreground[y, x]
        if told.characters[y, x] != "█":
            assert told.background[y, x] == anew.background[y, x]
    assert len(update) < len(whole)
    assert encode(new, new, 0, 0, colours) == ""


def test_one_cell_takes_one_move_and_its_colours():
    before = np.full((ROWS * 2, COLUMNS * 2, 3), FIVE_BITS[4], np.uint8)
    after = before.copy()
    after[4:6, 6:8] = FIVE_BITS[20]
    assert encode(quadrants(after), quadrants(before), 1, 2) == "\x1b[4;6H\x1b[48;2;165;165;165m \x1b[0m"


@pytest.mark.parametrize(("colours", "codes"), [(PALETTE, range(16, 256)), (SIXTEEN, range(16))])
def test_what_is_in_the_palette_is_found_in_it(colours, codes):
    for code in codes:
        plain = np.full((8, 8, 3), rgb(code, colours), np.uint8)
        if colours == SIXTEEN:  # shades come in a pattern: most of the cells are the colour itself
            found = quadrants(plain, colours).background.ravel()
            assert np.bincount(found, minlength=16).argmax() == code
        else:
            found = rgb(int(quadrants(plain, colours).background[0, 0]), colours)
            assert np.abs(np.subtract(found, plain[0, 0])).max() <= 10


@pytest.mark.parametrize("red", [(110, 30, 40), (90, 10, 20), (200, 60, 60)])
def test_a_red_car_is_red_with_256_colours(red):
    found = quadrants(np.full((4, 4, 3), red, np.uint8), PALETTE).background[0, 0]
    assert rgb(int(found), PALETTE)[0] > 1.5 * max(rgb(int(found), PALETTE)[1:])


def test_without_colours_none_are_asked_for():
    ramp = np.repeat(np.linspace(0, 255, 64).astype(np.uint8)[None, :, None], 32, axis=0).repeat(3, axis=2)
    text = encode(quadrants(ramp, NO_COLOUR), None, 0, 0, NO_COLOUR)
    assert text.count("m") == text.count("\x1b[0m") == 1
    terminal = DrawnTerminal(32, 16)
    terminal.write(text)
    lit = np.vectorize(lambda character: QUADRANTS.index(character).bit_count())(terminal.characters)
    by_column = lit.mean(axis=0)
    assert by_column[0] == 0 and by_column[-1] == 4
    assert np.all(np.diff(by_column.reshape(8, 4).mean(axis=1)) > 0)


def test_a_picture_of_odd_size_fills_its_cells():
    pixels = noise(6, 5, 7)
    filled = padded(pixels, 8, 6)
    assert filled.shape == (6, 8, 3)
    assert np.array_equal(filled[:5, :7], pixels)
    assert np.array_equal(filled[5], filled[4]) and np.array_equal(filled[:, 7], filled[:, 6])
