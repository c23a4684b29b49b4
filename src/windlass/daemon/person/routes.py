"""The verbs of the person's own agent session: its hooks, and what they are answered."""

from __future__ import annotations

from collections.abc import Callable

from windlass.api.verbs import LARGEST_CALL, Refusal, Verb, Wait
from windlass.api.wire import person as wire
from windlass.api.wire.hooks import HookInput, HookOutput
from windlass.api.wire.request import AnyRequest
from windlass.core.ids import RepoId
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail.questions import Questions
from windlass.daemon.person.primary import Primary
from windlass.daemon.person.primary_hooks import PrimaryHooks
from windlass.daemon.person.uninstall import Uninstalls
from windlass.daemon.views.agents import AgentViews

_INSTALL = Refusal("agents do not install hooks for a person")
_UNINSTALL = Refusal("agents do not uninstall Windlass", "ask the person")
_SESSION = Refusal("only the person's own session asks this", "`wl list` shows the crew")


def routes(
    context: Context, agents: AgentViews, *, questions: Questions, armed: Callable[[RepoId], bool]
) -> dict[str, Verb | Wait]:
    """What answers each verb of the person's session, and who may call it.

    `armed` says whether somebody waits for news of a repository.
    """
    hooks = PrimaryHooks(context)
    uninstalls = Uninstalls(context, hooks)
    return {
        "hooks.install": Verb(wire.HooksRequest, wire.HooksReply, hooks.install, refusal=_INSTALL),
        "hooks.status": Verb(
            wire.HooksRequest, list[wire.HooksPlace], hooks.status, refusal=_INSTALL
        ),
        "hooks.uninstall": Verb(
            wire.HooksRequest, wire.HooksReply, hooks.uninstall, refusal=_INSTALL
        ),
        "uninstall.look": Verb(AnyRequest, wire.UninstallLook, uninstalls.look, refusal=_UNINSTALL),
        "uninstall": Verb(
            wire.UninstallRequest, wire.UninstallReply, uninstalls.uninstall, refusal=_UNINSTALL
        ),
        "primary": Verb(
            HookInput,
            HookOutput,
            Primary(context, agents, questions, armed).answer,
            refusal=_SESSION,
            largest=LARGEST_CALL,
        ),
    }
