"""Events for the person: notices, and the files that show how the crew is."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from windlass.core.events.catalogue import EventData
from windlass.core.states import State


def notice_subject(number: int) -> str:
    """The subject of the posting of one notice."""
    return f"notice:{number}"


class NoticePosted(EventData, kind="notice.posted"):
    """There is a notice for the person's own agent; `state` is there if it tells of one."""

    number: int
    sender: str
    type: str
    text: str
    state: State | None = None
    by_hand: bool = False

    def subject(self) -> str:
        """The notice: by it its posting is found, whatever else its agent did."""
        return notice_subject(self.number)


class NotifyFailed(EventData, kind="notify.failed"):
    """The person's notify command failed on a notice, or the configuration could not be read."""

    notice: int | UnsetType = UNSET
    code: int | UnsetType | None = UNSET
    how: str
    tail: str | UnsetType = UNSET


class StatusNodeSkipped(EventData, kind="status_node.skipped"):
    """The status of the crew in the person's CLAUDE.md could not be renewed."""

    path: str
    why: str


class StatusFileSkipped(EventData, kind="status_file.skipped"):
    """The status of the crew in .windlass/STATUS.md could not be written."""

    path: str
    why: str
