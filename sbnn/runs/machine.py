"""What a run was made on, for whoever judges its times or repeats it."""

import os
import platform
import re
from contextlib import suppress
from pathlib import Path

import torch


def machine() -> dict[str, str | int | float | None]:
    """Processor, cores, memory, operating system and the library of matrix products."""
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": memory_gib(),
        "os": platform.platform(),
        "blas": blas(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    with suppress(OSError):
        found = re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text())
        if found:
            return found[1]
    return platform.processor() or platform.machine()


def memory_gib() -> float | None:
    with suppress(ValueError, OSError, AttributeError):
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    return None


def blas() -> str:
    found = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    return found[1] if found else "unknown"
