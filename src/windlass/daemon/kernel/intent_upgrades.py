"""Open intents of other releases: how far they are in the words of this one.

An intent keeps the names of its steps that are done, and the version of its operation. Where the
version is an older one, a rule of the operation brings it up to date, one version after the other;
where there is no rule, or the version is a newer one, nothing is guessed: whoever asks is told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from windlass.core.errors import Conflict
from windlass.store.rows import Intent


class Progress(NamedTuple):
    """What an open intent knows, and the names of its steps that are done."""

    data: dict[str, Any]
    done: tuple[str, ...]


Upgrade = Callable[[Progress], Progress]
"""From the words of one version of an operation to those of the next; or `give_up`."""


class GivenUp(Exception):
    """What an older release began is not finished: what it had done is taken back."""


def give_up(progress: Progress) -> Progress:
    """Is the rule for a version whose intents are not worth finishing."""
    raise GivenUp(", ".join(progress.done))


def upgraded(
    intent: Intent,
    *,
    version: int,
    steps: Sequence[str],
    counted: Sequence[str],
    upgrades: Mapping[int, Upgrade],
) -> Progress:
    """Returns how far an intent is; raises Conflict where this release cannot know.

    `counted` are the steps in the order in which releases counted them that kept no names.
    """
    done = intent.done
    if not done and intent.step > 0:
        if intent.step > len(counted):
            raise unknown(intent, f"{intent.step} of its steps are done, of {len(counted)}")
        done = tuple(counted[: intent.step])
    progress = Progress(intent.data, done)
    if intent.version > version:
        raise unknown(intent, f"it is of version {intent.version}, this one knows {version}")
    for older in range(intent.version, version):
        rule = upgrades.get(older)
        if rule is None:
            raise unknown(intent, f"there is no rule for version {older}")
        progress = rule(progress)
    if strange := [name for name in progress.done if name not in steps]:
        raise unknown(intent, f"nobody knows its steps {', '.join(strange)}")
    return progress


def unknown(intent: Intent, why: str) -> Conflict:
    """Makes the error that tells of an intent which another release has to finish."""
    far = f", after {', '.join(intent.done)}" if intent.done else ""
    return Conflict(
        f"{intent.kind} was begun by another release of Windlass and is not finished{far}: {why}",
        "what it had done is left as it is: look with `wl list` and `wl log`, and do the rest anew",
    )
