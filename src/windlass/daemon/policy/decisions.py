"""Decisions about calls of tools, and the file that a policy hook decides by without a daemon.

Who asks is known by the socket. What is decided is `core.policy`'s; here is which agent, which
policy and which places. Mail for the agent goes with the answer. Nothing else is written: denials
are recorded by the hook, in the session's events, so that those made without a daemon are told of
in the same way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import cast

import msgspec

from windlass import drivers, whole_file
from windlass.api.verbs import Caller
from windlass.api.wire.hooks import HookInput, HookOutput
from windlass.core.box_spec import Level
from windlass.core.crew import Agent, Policy
from windlass.core.errors import Denied
from windlass.core.ids import RepoId, RoleName, Uid
from windlass.core.policy import tool_policy
from windlass.core.policy.tool_calls import Decision, ToolCall
from windlass.core.shell.reach import Places, composed
from windlass.daemon.kernel.context import Context
from windlass.store import rows

_OURS = ("settings.json", "plugin", "sessions")
"""In an agent's folder, but not the agent's to touch: what it may do, and what it did."""


_MOST_LINKS = 40
"""As many as Linux follows in one path."""
_LONGEST_PATH = 8192
"""Twice what can be opened at once."""

Mail = Callable[[Uid, str], str | None]
"""What is to be said to an agent with the answer about the call of that id."""


class Decisions:
    """Answers the policy hook."""

    def __init__(self, context: Context, mail: Mail | None = None) -> None:
        self._context = context
        self._mail = mail

    def decide(self, caller: Caller, request: HookInput) -> HookOutput:
        """Decides about one call, in the form that the hook prints."""
        uid = caller.require_agent()
        agent = self._context.store.read(lambda c: rows.agent(c, uid))
        if agent is None or agent.ended_at is not None:
            raise Denied("the calling agent has ended", "its socket means nothing any more")
        dialect = drivers.dialect(agent.driver)
        decision = decide_for_agent(self._context, agent, dialect.tool_call(request))
        answer = dialect.decision_answer(request, decision)
        call = dialect.call_with_mail(request) if self._mail is not None else None
        if self._mail is not None and call is not None and (said := self._mail(uid, call)):
            answer = dialect.answer_with_mail(answer, said)
        return cast("HookOutput", answer)


def decide_for_agent(context: Context, agent: Agent, call: ToolCall | None) -> Decision:
    """Decides about a call of an agent; what is none is denied."""
    temp = "/tmp" if agent.isolation == "box" else str(context.folders.temporary(agent.uid))  # noqa: S108
    home = context.folders.private_home(agent.uid) if agent.isolation == "box" else None
    decision = _decide(
        call,
        agent.policy,
        around=places(context, agent),
        workspace=agent.workspace,
        home=str(home or context.env.get("HOME", "/")),
        temp=temp,
        role=agent.role,
        level=agent.isolation,
        variables=_variables(context, agent.repo),
    )
    return _with_who_lifts(agent, decision)


def _with_who_lifts(agent: Agent, decision: Decision) -> Decision:
    """Says how a person would allow it to this very agent."""
    if decision.verdict != "deny" or not decision.patterns:
        return decision
    said = " ".join(f"'{pattern}'" for pattern in decision.patterns)
    lifts = f"; to you, at once: wl allow {agent.id} {said}"
    return msgspec.structs.replace(decision, reason=f"{decision.reason}{lifts}")


def decide_in_folder(
    context: Context, call: ToolCall | None, *, role: RoleName, level: Level, policy: Policy
) -> Decision:
    """Decides about a call of somebody who works in the call's own folder."""
    workspace = call.cwd if call is not None else "/"
    return _decide(
        call,
        policy,
        around=_around(context, level, (workspace,), ()),
        workspace=workspace,
        home=context.env.get("HOME", "/"),
        temp="",
        role=role,
        level=level,
        variables=_variables(context, None),
    )


def _decide(
    call: ToolCall | None,
    policy: Policy,
    *,
    around: Places,
    workspace: str,
    home: str,
    temp: str,
    role: RoleName,
    level: Level,
    variables: Mapping[str, str],
) -> Decision:
    if call is None:
        return Decision(
            verdict="deny",
            reason="no call of a tool: it needs tool_name, tool_input and cwd",
            rule="unclear",
        )
    reach = tool_policy.Reach(
        inside=partial(inside, around),
        closed=partial(_shut, around),
        holds=partial(_holds, around),
        shut=around.closed,
        there=os.path.lexists,
        workspace=workspace,
        home=home,
        temp=temp,
        variables=variables,
        boxed=level == "box",
        real=os.path.normpath if level == "box" else followed,
    )
    return tool_policy.decide(call, policy, inside=reach, role=role)


def _variables(context: Context, repo: RepoId | None) -> dict[str, str]:
    """What the variables of every agent say about places that are not its own."""
    home, runtime = str(context.folders.home), str(context.folders.runtime)
    variables = {
        "WINDLASS_HOME": home,
        "XDG_RUNTIME_DIR": context.env.get("XDG_RUNTIME_DIR", runtime),
    }
    roots = [row.root for row in context.store.read(rows.repos) if row.id == repo]
    return {**variables, **({"WINDLASS_REPO": roots[0]} if roots else {})}


def places(context: Context, agent: Agent) -> Places:
    """An agent's workspace, its folder and its temporary one; not the crew's, nor the main tree.

    In a box what is there may be read: the box is the limit, and hides the rest.
    """
    folder = context.folders.agent(agent.uid)
    own = (agent.workspace, str(folder))
    ours = (*(str(folder / name) for name in _OURS), str(context.folders.policy(agent.uid)))
    return _around(context, agent.isolation, own, ours)


def _around(context: Context, level: Level, own: tuple[str, ...], ours: tuple[str, ...]) -> Places:
    repos = context.store.read(rows.repos)
    roots = (*own, "/") if level == "box" else own
    folders = context.folders
    closed = (str(folders.home), str(folders.runtime), *(repo.root for repo in repos), *ours)
    return Places(
        roots=tuple(map(os.path.realpath, roots)),
        closed=tuple(map(os.path.realpath, closed)),
        folded=_takes_any_case(context.folders.home),
    )


def _takes_any_case(home: Path) -> bool:
    """Whether a and A are the same here, as on the usual file systems of macOS."""
    other = home.with_name(home.name.swapcase())
    return other.name != home.name and other.exists() and other.samefile(home)


def inside(around: Places, path: str) -> bool:
    """Whether a path is in one of the places, whatever links and `..` it goes through."""
    # Agent CLIs may compose accents before they open: both names have to be inside.
    reals = [_real(name) for name in {path, composed(path)}]
    return all(real is not None and around.inside(real) for real in reals)


def _shut(around: Places, path: str) -> bool:
    """Whether a path is in a place that is not the agent's."""
    real = _real(path)
    return real is not None and around.shut(real)


def _holds(around: Places, path: str) -> bool:
    """Whether a place that is not the agent's lies below a path."""
    real = _real(path)
    return real is not None and around.holds(real)


def _real(path: str) -> str | None:
    """A path with every link followed, also through folders that do not exist.

    None where no system would get to: links are an agent's to make, and following as many as it
    likes could take for ever.
    """
    if len(path) > _LONGEST_PATH:
        return None
    before: list[str] = []
    rest, links = path.split("/")[::-1], 0
    while rest:
        name = rest.pop()
        if name == "..":
            del before[-1:]
        if name in ("", ".", ".."):
            continue
        try:
            target = os.readlink(f"/{'/'.join((*before, name))}")  # noqa: PTH115 - as bytes say
        except OSError:  # no link, not there, or a name that this system cannot have
            before.append(name)
            continue
        except ValueError:  # a NUL
            return None
        links += 1
        if links > _MOST_LINKS:
            return None
        if target.startswith("/"):
            before = []
        rest += target.split("/")[::-1]
    return f"/{'/'.join(before)}"


def write_policy_file(context: Context, agent: Agent) -> Path:
    """Writes what the policy hook decides by when no daemon answers it."""
    around = places(context, agent)
    path = context.folders.policy(agent.uid)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    policy = {
        "workspace": agent.workspace,
        "boxed": agent.isolation == "box",
        **around._asdict(),
        **msgspec.to_builtins(agent.policy),
    }
    # msgspec refuses the surrogates that stand for bytes that are no UTF-8.
    whole_file.replace(path, json.dumps(policy, indent=1).encode("ascii"))
    return path


def followed(path: str) -> str:
    """Where a path leads; itself where that cannot be found out.

    The links in `/proc` of a process that has ended, and that nobody has taken note of, are there
    and lead nowhere: realpath fails on them.
    """
    try:
        return os.path.realpath(path)
    except OSError:
        return os.path.normpath(path)
