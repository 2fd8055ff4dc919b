"""Running out of memory: how each device says it, and what can be given back."""

from __future__ import annotations

import gc
from pathlib import Path

_MEMINFO = Path("/proc/meminfo")
# CUDA allocations outside torch's allocator, Metal, and torch's CPU allocator raise plain RuntimeErrors.
_SAYINGS = ("out of memory", "cublas_status_alloc_failed", "can't allocate memory", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Whether the error says that the device, or the machine, has no memory left."""
    import torch

    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    return isinstance(error, RuntimeError) and any(saying in str(error).lower() for saying in _SAYINGS)


def free_memory(device: str) -> None:
    """Returns what torch keeps in reserve to the device ("cuda", "mps" or "cpu")."""
    import torch

    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()
    elif device == "mps":
        torch.mps.empty_cache()


def available_bytes() -> int | None:
    """Main memory that can be had without swapping; None where the system doesn't say (only Linux does)."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None


def gigabytes(size: float) -> str:
    """For messages: ``17.5 GB``."""
    return f"{size / 1e9:.1f} GB"
