"""The one exception tree. Errors of libraries are translated where the library is called.

::

    SentrySearchError            every error a user may meet; str() is one printable line
    ├── BadInput                 what the user gave is wrong (exit status 2)
    │   └── FootageError         footage that is missing, unreadable or not video
    ├── EmbedderError            a model cannot run or failed; other models go on (exit status 1)
    │   ├── EmbedderUnavailable  not installed, no key, no such hardware
    │   └── EmbedderFailed       failed during a pass: out of memory, service down, unusable vector
    ├── StoreError               a collection cannot be written or read
    └── Cancelled                the user asked to stop
"""

from __future__ import annotations

from sentrysearch.text import printable


class SentrySearchError(Exception):
    """An error to show as it is.

    Args:
        what: what is wrong, without a full stop.
        where: the file, with a line where one is known ("benchmark.yaml:7"), or the setting.
        hint: what to do about it; for a missing package the install command.
    """

    def __init__(self, what: str, *, where: object = None, hint: str | None = None) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.hint = hint

    def __str__(self) -> str:
        message = self.what if self.where is None else f"{self.where}: {self.what}"
        return printable(message if self.hint is None else f"{message}; {self.hint}")


class BadInput(SentrySearchError):
    """What the user gave is wrong; nothing on disk was changed."""


class FootageError(BadInput):
    """Footage that is missing, unreadable or not video."""


class EmbedderError(SentrySearchError):
    """A model cannot run, or failed; the other models go on."""


class EmbedderUnavailable(EmbedderError):
    """A model cannot run here: a package, a key or hardware is missing. ``hint`` is what changes that."""


class EmbedderFailed(EmbedderError):
    """A model failed during its pass: out of memory, service down, unusable vector."""


class StoreError(SentrySearchError):
    """A vector collection cannot be written or read."""


class Cancelled(SentrySearchError):
    """The user asked to stop."""

    def __init__(self, what: str = "cancelled") -> None:
        super().__init__(what)
