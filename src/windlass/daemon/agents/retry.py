"""What was set aside or halted is tried once more, or taken back: the person decides."""

from __future__ import annotations

from windlass.api.verbs import Caller
from windlass.api.wire.agents import RetryReply, RetryRequest
from windlass.core.errors import NotFound
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.kernel.requests import own_key
from windlass.store import rows


def retry(context: Context, intents: Intents, caller: Caller, request: RetryRequest) -> RetryReply:
    """Tries an intent once more, or takes back what can be of it; raises how that ends."""
    key, back = request["intent"], request.get("back", False)
    intent = context.store.read(lambda c: rows.intent(c, key))
    if intent is None:
        raise NotFound(f"there is no intent {key}", "`wl doctor` lists what is set aside or halted")
    if back:
        intents.take_back(intent, request=own_key(caller, request))
    else:
        intents.retry(intent, request=own_key(caller, request))
    return {"id": intent.id, "kind": intent.kind, "back": back}
