"""Pictures as pixels on a terminal: decoded again, as a terminal would."""

import base64
import re
import zlib

import numpy as np
import pytest

from accuracy_tui.player.pictures import kitty, kitty_gone, sixel


def decode_sixel(text):
    """The picture in a sixel string, by DEC's VT330/VT340 manual."""
    begin = re.fullmatch(r'\x1bP0;1;0q"1;1;(\d+);(\d+)(.*)\x1b\\', text, re.DOTALL)
    width, height = int(begin[1]), int(begin[2])
    picture = np.full((-(-height // 6) * 6, width, 3), -1)
    palette, colour, x, y = {}, None, 0, 0
    for number, share, count, sign in re.findall(r"#(\d+)((?:;\d+){4})?|(?:!(\d+))?([?-~$-])", begin[3]):
        if number:
            colour = int(number)
            if share:
                palette[colour] = [int(part) * 255 // 100 for part in share.split(";")[2:]]
        elif sign == "$":
            x = 0
        elif sign == "-":
            x, y = 0, y + 6
        else:
            length = int(count or 1)
            for bit in range(6):
                if ord(sign) - 63 >> bit & 1:
                    picture[y + bit, x : x + length] = palette[colour]
            x += length
    return picture[:height]


def of_six_levels(height, width, seed):
    return (np.random.default_rng(seed).integers(0, 6, (height, width, 3)) * 51).astype(np.uint8)


@pytest.mark.parametrize(("height", "width"), [(6, 6), (13, 7), (48, 64), (1, 1)])
def test_colours_of_the_sixel_palette_come_back(height, width):
    pixels = of_six_levels(height, width, height)
    assert np.array_equal(decode_sixel(sixel(pixels)), pixels)


def test_plain_areas_of_a_sixel_take_little():
    plain = np.full((120, 300, 3), 102, np.uint8)
    plain[40:80] = 204
    text = sixel(plain)
    assert np.array_equal(decode_sixel(text), plain)
    assert len(text) < 500


def test_other_colours_are_mixed_in_a_sixel():
    pixels = np.full((48, 48, 3), (70, 120, 200), np.uint8)
    found = decode_sixel(sixel(pixels))
    assert found.min() >= 0  # every pixel is painted
    assert np.abs(found.mean(axis=(0, 1)) - (70, 120, 200)).max() < 6


def test_a_kitty_picture_comes_back():
    pixels = np.random.default_rng(0).integers(0, 256, (90, 160, 3)).astype(np.uint8)
    chunks = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", kitty(pixels, 80, 22))
    control = dict(part.split("=") for part in chunks[0][0].split(","))
    assert (control["s"], control["v"], control["c"], control["r"]) == ("160", "90", "80", "22")
    assert control["C"] == "1" and control["q"] == "2"  # the cursor stays, no answers
    assert len(chunks) > 2 and all(len(data) <= 4096 for _, data in chunks)
    assert [part[-1] for part, _ in chunks] == ["1"] * (len(chunks) - 1) + ["0"]
    data = zlib.decompress(base64.b64decode("".join(data for _, data in chunks)))
    found = np.frombuffer(data, np.uint8).reshape(pixels.shape)
    assert np.abs(found.astype(int) - pixels).max() <= 4


def test_a_kitty_picture_is_taken_away_by_its_number():
    number = re.search(r"i=(\d+)", kitty(np.zeros((2, 2, 3), np.uint8), 1, 1))[1]
    assert f"a=d,d=I,i={number}," in kitty_gone()
