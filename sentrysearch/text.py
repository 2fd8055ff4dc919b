"""Makes text from outside (queries, file names, model output) safe to show on a terminal."""

from __future__ import annotations

import re

# C0 and C1 control characters, DEL, line and paragraph separators, the bidirectional overrides that can
# make a file name read as another, and lone surrogates (undecodable bytes of a file name).
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_SURROGATE = re.compile("[\ud800-\udfff]")


def printable(text: object) -> str:
    r"""The text on one line with every character a terminal could act on shown as an escape (``\x1b``)."""
    return _UNSAFE.sub(lambda match: _escape(match.group()), str(text))


def holds_surrogate(text: str) -> bool:
    """Whether it holds half a surrogate pair, as undecodable bytes become: no UTF-8 file can keep that."""
    return _SURROGATE.search(text) is not None


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # surrogateescape: the byte it stands for
        return f"\\x{code - 0xDC00:02x}"
    return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(
        character, f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )
