"""No forge that could be asked: a person opens the pull request, and the upstream says the rest."""

from __future__ import annotations

from windlass.core import forge as core
from windlass.core.forge import Draft, Home, PullRequest


class Local:
    """Knows at most the page on which a person opens a pull request."""

    def __init__(self, where: Home | None) -> None:
        self._where = where

    def open(self, draft: Draft) -> PullRequest:
        """Gives that page; none where the remote is on no forge."""
        address = core.page(self._where, draft) if self._where is not None else ""
        return PullRequest(address=address)

    def look(self, request: PullRequest) -> PullRequest:
        """Knows nothing new."""
        return request
