"""Double-quoted YAML on one line, for any text; the inverse for what is written that way."""

from __future__ import annotations

import re

# What YAML calls unprintable or takes for a line break, and the marks that reorder text on a screen: the
# file is read by people in terminals.
_ESCAPED = re.compile(
    '[\\\\"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff0-\uffff\ue000-\uf8ff]'
)
_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0", "\x1b": "\\e"}
_ESCAPE = re.compile(r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_LONG = {
    **{"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"},
    **{" ": " ", "\t": "\t", '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028"},
    "P": "\u2029",
}


def quoted(text: str) -> str:
    """The text in double quotes, on one line, read back exactly by any YAML parser.

    Raises:
        ValueError: the text holds half a surrogate pair, which no UTF-8 file can hold.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("holds half a surrogate pair, which a text file cannot keep") from None
    return f'"{_ESCAPED.sub(_escape, text)}"'


def unquoted(inside: str) -> str:
    """What stands between double quotes on one line, as text.

    Raises:
        ValueError: an escape that YAML does not have.
    """
    return _ESCAPE.sub(_unescape, inside) if "\\" in inside else inside


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    return _SHORT.get(character) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def _unescape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits is None:
        character = _LONG.get(match[4])
        if character is None:
            raise ValueError(f"unknown escape \\{match[4]}")
        return character
    code = int(digits, 16)
    if 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        raise ValueError(f"\\{digits} is no character")
    return chr(code)
