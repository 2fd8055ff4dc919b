"""What this machine gives a process to work with."""

from __future__ import annotations

import os


def cores() -> int:
    """How many processors this process may run on, at least 1."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
