"""What goes wrong in an intent, told in other words."""

from __future__ import annotations

import pytest

from windlass.core.errors import Conflict, GitError, WindlassError
from windlass.daemon.kernel import intent_errors
from windlass.git.arrival import TooLarge
from windlass.git.path_count import TooManyPaths


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Conflict("it is in the way", "move it"), Conflict),
        (TooLarge("it adds too much", "commit less", "added"), GitError),
        (TooManyPaths("0123456789"), GitError),
    ],
)
def test_an_error_in_other_words_is_of_the_same_kind(
    error: WindlassError, kind: type[WindlassError]
) -> None:
    told = intent_errors.reworded(error, "it landed, but more failed", "wl kill api")
    assert type(told) is kind
    assert (told.message, told.hint) == ("it landed, but more failed", "wl kill api")
