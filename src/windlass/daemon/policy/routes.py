"""The verbs about what agents may do."""

from __future__ import annotations

from windlass.api.verbs import LARGEST_CALL, Refusal, Verb, Wait
from windlass.api.wire import policy as wire
from windlass.api.wire.hooks import HookInput, HookOutput
from windlass.daemon.kernel.context import Context
from windlass.daemon.policy.decisions import Decisions, Mail
from windlass.daemon.policy.denials import Denials
from windlass.daemon.policy.explain import Explanations

_HOOKS = Refusal("only the hooks of an agent ask this", "`wl info` shows what one may use")


def routes(context: Context, mail: Mail) -> dict[str, Verb | Wait]:
    """The verbs of this room; `mail` is what is said to an agent with the answer about a call."""
    return {
        "decide": Verb(
            HookInput,
            HookOutput,
            Decisions(context, mail).decide,
            callers="agent",
            refusal=_HOOKS,
            largest=LARGEST_CALL,
            needs="store",
        ),
        "denials": Verb(
            wire.DenialsRequest,
            list[wire.DenialView],
            Denials(context).view,
            callers="both",
            needs="store",
        ),
        "explain.tool": Verb(
            wire.ExplainToolRequest,
            wire.ExplainToolReply,
            Explanations(context).tool,
            callers="both",
            largest=LARGEST_CALL,
            needs="store",
        ),
    }
