"""The one file that knows where things are kept. Each folder can be moved by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """Kept collections and the demo's working copy; moved by ``SENTRYSEARCH_DATA``."""
    return _folder("SENTRYSEARCH_DATA", platformdirs.user_data_path("sentrysearch", appauthor=False))


def cache_folder() -> Path:
    """What can be made again: downloads, converted weights; moved by ``SENTRYSEARCH_CACHE``."""
    return _folder("SENTRYSEARCH_CACHE", platformdirs.user_cache_path("sentrysearch", appauthor=False))


def _folder(variable: str, default: Path) -> Path:
    given = os.environ.get(variable)
    return Path(given).expanduser().absolute() if given else default
