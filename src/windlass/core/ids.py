"""Ids: their types, what makes one valid, and how a unique prefix finds one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import NewType

from windlass.core.errors import NotFound, UserError

AgentId = NewType("AgentId", str)
"""What people call an agent; unique among the live agents of a repo."""

Uid = NewType("Uid", str)
"""What the store calls an agent; never used twice, so ended agents keep their history."""

RepoId = NewType("RepoId", str)
"""Eight hex digits, made when a clone is first seen."""

RoleName = NewType("RoleName", str)
"""What a role is called: in `.windlass/roles/<name>.md`, in `[roles.<name>]`, in `wl send`."""

_ROLE_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")
_AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,47}")
_CHANGE_ID = re.compile(r"c[1-9][0-9]{0,8}")
_LIKE_CHANGES = re.compile(r"[cC][0-9]+")
_TASK_ID = re.compile(r"[A-Za-z]{2,10}-[0-9]{1,4}")
_PARTIES = {"all", "user", "user-claude", "parent", "children", "windlass"}
_ROLES = {"manager", "worker", "supervisor"}
_PERSON = {"person", "you", "human", "owner"}
"""How agents are told of whoever they work for: mail of an agent of that name would be theirs."""
_RESERVED = frozenset({"none", "self", "run", *_PERSON, *_PARTIES, *_ROLES})
"""What `wl send` and others take for something else than an agent, and who speaks for others."""
_NO_ROLES = frozenset({"none", "self", *_PERSON, *_PARTIES})
"""What cannot be a role: `all.md` is told to everybody, and the rest means somebody else."""
MESSAGE = "msg-"
"""How the id of every message begins; where both may stand, this tells them from agents."""


def agent_id(text: str) -> AgentId:
    """Returns the text as an agent id, or says what is wrong with it.

    Ids become branch names, folder names and tmux session names, so the rule is narrow.
    """
    if not _AGENT_ID.fullmatch(text):
        raise UserError(
            f"{text!r} cannot be an agent's name",
            "use 1 to 48 letters, digits, '-' or '_', beginning with a letter or digit",
        )
    if text.lower() in _RESERVED:
        raise UserError(f"{text!r} is a reserved word, not an agent's name", "choose another name")
    if text.lower().startswith(MESSAGE):
        raise UserError(
            f"{text!r} cannot be an agent's name: ids of messages begin with {MESSAGE}",
            "choose another name",
        )
    if _LIKE_CHANGES.fullmatch(text):
        raise UserError(
            f"{text!r} cannot be an agent's name: changes are called like that",
            "choose another name",
        )
    if _TASK_ID.fullmatch(text):
        raise UserError(
            f"{text!r} cannot be an agent's name: tasks are called like that",
            f"choose another name: {numbered(*text.split('-'))}",
        )
    return AgentId(text)


def numbered(name: str, number: int | str) -> AgentId:
    """A name for one more agent like another: no task is called like that."""
    wanted = f"{name}-{number}"
    return AgentId(f"{name}_{number}" if _TASK_ID.fullmatch(wanted) else wanted)


def is_change(text: str) -> bool:
    """Whether that is how a change is called; where several may stand, this tells them apart."""
    return _CHANGE_ID.fullmatch(text) is not None


def is_task(text: str) -> bool:
    """Whether that is how a task of the board is called."""
    return _TASK_ID.fullmatch(text) is not None


def role_name(text: str) -> RoleName:
    """Returns the text as a role's name, or says what is wrong with it.

    Small letters alone: on some file systems `Worker.md` is `worker.md`.
    """
    if not _ROLE_NAME.fullmatch(text):
        raise UserError(
            f"{text!r} cannot be a role's name",
            "use 1 to 32 small letters, digits or '-', beginning with a letter",
        )
    if text in _NO_ROLES or text.startswith(MESSAGE):
        raise UserError(f"{text!r} is a reserved word, not a role's name", "choose another name")
    return RoleName(text)


def with_article(name: str) -> str:
    """A role in a sentence: `a worker`, `an auditor`."""
    return f"{'an' if name[:1] in 'aeiou' else 'a'} {name}"


SHORTEST = 3
"""Letters of a prefix that is enough to end or delete something by."""


def require_long(wanted: str, found: str) -> None:
    """Refuses a beginning of an id that is too short for what cannot simply be done again."""
    if wanted != found and len(wanted) < SHORTEST:
        raise UserError(
            f"{wanted!r} is {found}, but too short for what ends or deletes",
            f"type it, or at least {SHORTEST} letters of it: {found}",
        )


def match(wanted: str, candidates: Iterable[str], *, what: str, hint: str = "") -> str:
    """Finds the one candidate that is `wanted` or begins with it."""
    known = sorted(set(candidates))
    if wanted in known:
        return wanted
    matching = [name for name in known if wanted and name.startswith(wanted)]
    if len(matching) == 1:
        return matching[0]
    if not matching:
        close = get_close_matches(wanted, known, n=1)
        guess = [f"did you mean {close[0]}?"] if close else []
        raise NotFound(f"no {what} {wanted!r}", " ".join([*guess, hint]).strip())
    shown = ", ".join(matching[:8]) + (", ..." if len(matching) > 8 else "")
    raise UserError(f"{wanted!r} fits {len(matching)} {what}s: {shown}", "type more of the id")
