"""Whether this machine has room for one agent more. Pure: what there is somebody else measures."""

from __future__ import annotations

LEAST_MEMORY = 512
"""MiB that have to be free for another agent to begin."""
LEAST_DISK = 1024
"""MiB that a disk has to have left."""


def lacks(*, memory: int | None, disk: int | None) -> str:
    """What there is too little of, in MiB; nothing where there is enough, or nobody knows."""
    if memory is not None and memory < LEAST_MEMORY:
        return f"{memory} MiB of memory are free, and {LEAST_MEMORY} are needed to begin more"
    if disk is not None and disk < LEAST_DISK:
        return f"{disk} MiB of disk are free, and {LEAST_DISK} are needed to begin more"
    return ""
