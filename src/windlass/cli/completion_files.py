"""What a shell offers of the repository's own files: the tasks of its board, its pipelines."""

from __future__ import annotations

from contextlib import suppress

from windlass.core.errors import WindlassError
from windlass.project import boards, folder


def tasks() -> list[str]:
    """The ids of the board's tasks, in its order."""
    with suppress(WindlassError, OSError):
        return list(boards.read().board.by_id)
    return []


def pipelines() -> list[str]:
    """The names of the pipelines that there are."""
    from windlass.project import pipelines as kept  # noqa: PLC0415 - schemas: tasks need none

    with suppress(WindlassError, OSError):
        return [found.name for found in kept.listed(folder.find())]
    return []
