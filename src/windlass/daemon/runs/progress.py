"""The wait for the next thing that happens in runs, for whoever follows them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, TypeVar

from windlass.api.verbs import Caller
from windlass.core.events import JobDone
from windlass.daemon.kernel import waits
from windlass.daemon.kernel.context import Context

Asked = TypeVar("Asked", bound=Mapping[str, Any])
Shown = TypeVar("Shown", bound=Mapping[str, Any])


async def of(
    context: Context,
    look: Callable[[Caller, Asked], Shown],
    caller: Caller,
    request: Asked,
    *,
    kinds: Collection[str],
) -> Shown:
    """Tells as soon as something of these kinds happened that the caller does not know.

    Or what is followed is over; at once where nothing is said of what the caller knows.
    """
    return await waits.until(
        context,
        partial(context.pools.look, caller, look, caller, request),
        is_over=lambda shown: bool(shown["events"]) or "after" not in request or shown["is_over"],
        heeds=lambda event: event.kind in kinds or event.kind == JobDone.kind,
        seconds=request.get("seconds"),
    )
