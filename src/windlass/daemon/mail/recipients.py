"""Who is meant by the words that mail is sent to."""

from __future__ import annotations

from collections.abc import Callable

from windlass.core.crew import Agent
from windlass.core.errors import NotFound, UserError
from windlass.daemon.kernel import lookup, role_files, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import receipts
from windlass.daemon.mail.receipts import PERSON, Party

_PERSON = ("user", "user-claude")


def is_person(word: str) -> bool:
    """Whether a word means whoever runs the crew."""
    return word in _PERSON


def caller(where: lookup.Scope) -> Party:
    """Whoever calls: an agent, or the person."""
    return Party(where.caller.uid, where.caller.id) if where.caller else PERSON


def meant(context: Context, where: lookup.Scope, wanted: str) -> list[Party]:
    """Everybody whom words with commas between them mean, each once."""
    found: dict[str, Party] = {}
    for word in (part.strip() for part in wanted.split(",")):
        if word:
            found |= {party.uid: party for party in _named(context, where, word)}
    if not found:
        raise UserError("to whom?", "name an agent, several with commas, or user, parent, all")
    return list(found.values())


def above(context: Context, where: lookup.Scope) -> Party:
    """Whom the caller answers to."""
    if where.caller is None:
        raise UserError("a person has no parent", "name an agent; `wl list` shows who is there")
    caller = where.caller
    return context.store.read(lambda c: receipts.manager_or_person(c, caller))


def _named(context: Context, where: lookup.Scope, word: str) -> list[Party]:
    if is_person(word):
        return [PERSON]
    if word == "parent":
        return [above(context, where)]
    present = lookup.live(context, where)
    others = [one for one in present if one.uid != where.caller_uid]
    by_word: dict[str, Callable[[Agent], bool]] = {
        "all": lambda _: True,
        "children": lambda one: one.parent == where.caller_uid,
    }
    if word in by_word:
        return _some([one for one in others if by_word[word](one)], word)
    if word not in {one.id for one in present} and _is_role(context, where, present, word):
        return _some([one for one in others if one.role == word], word)
    agent = lookup.agent(context, where, word)
    return [Party(agent.uid, agent.id)]


def _is_role(context: Context, where: lookup.Scope, present: list[Agent], word: str) -> bool:
    """Whether a word is a role that somebody has, or could have."""
    if any(one.role == word for one in present):
        return True
    root = where.repo.root if where.repo else None
    return word in role_files.known(settings.load(context.folders.home, root), root)


def _some(agents: list[Agent], word: str) -> list[Party]:
    if not agents:
        raise NotFound(f"{word}: there is nobody", "`wl list` shows who is there")
    return [Party(one.uid, one.id) for one in agents]
