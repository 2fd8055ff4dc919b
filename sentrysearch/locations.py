"""The one file that knows where things are kept. Each folder can be moved by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

from sentrysearch.errors import BadInput


def data_folder() -> Path:
    """Kept collections and the demo's working copy; moved by ``SENTRYSEARCH_DATA``."""
    return _folder("SENTRYSEARCH_DATA", platformdirs.user_data_path("sentrysearch", appauthor=False))


def collections_folder() -> Path:
    """Where collections of vectors are kept."""
    return data_folder() / "collections"


def cache_folder() -> Path:
    """What can be made again: downloads, converted weights; moved by ``SENTRYSEARCH_CACHE``."""
    return _folder("SENTRYSEARCH_CACHE", platformdirs.user_cache_path("sentrysearch", appauthor=False))


def _folder(variable: str, default: Path) -> Path:
    folder = Path(os.environ.get(variable) or default)
    try:
        return folder.expanduser().absolute()
    except RuntimeError:  # "~" of an unknown user, or of one without a home folder
        raise BadInput(
            f"there is no home folder {folder.parts[0]} here", hint=f"set {variable} to a folder"
        ) from None
