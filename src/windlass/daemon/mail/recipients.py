"""Who is meant by the words that mail is sent to."""

from __future__ import annotations

from collections.abc import Callable

from windlass.core.crew import Agent
from windlass.core.errors import NotFound, UserError
from windlass.daemon.kernel import lookup, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail import receipts
from windlass.daemon.mail.receipts import PERSON, Party
from windlass.project import role_files

_PERSON = ("user", "user-claude")
_MOST = 500
"""Names in one request: each is looked up, and whoever calls may be an agent that means harm."""


def is_person(word: str) -> bool:
    """Whether a word means whoever runs the crew."""
    return word in _PERSON


def caller(scope: lookup.Scope) -> Party:
    """Whoever calls: an agent, or the person."""
    return Party(scope.caller.uid, scope.caller.id) if scope.caller else PERSON


def meant(context: Context, scope: lookup.Scope, words: str) -> list[Party]:
    """Everybody whom words with commas between them mean, each once."""
    parties: dict[str, Party] = {}
    named = dict.fromkeys(part.strip() for part in words.split(","))
    if len(named) > _MOST:
        raise UserError(f"{len(named)} names, and {_MOST} are the most", "say `all`, or a role")
    for word in named:
        if word:
            parties |= {party.uid: party for party in _named(context, scope, word)}
    if not parties:
        raise UserError("to whom?", "name an agent, several with commas, or user, parent, all")
    return list(parties.values())


def above(context: Context, scope: lookup.Scope) -> Party:
    """Whom the caller answers to."""
    if scope.caller is None:
        raise UserError("a person has no parent", "name an agent; `wl list` shows who is there")
    caller = scope.caller
    return context.store.read(lambda c: receipts.manager_or_person(c, caller))


def _named(context: Context, scope: lookup.Scope, word: str) -> list[Party]:
    if is_person(word):
        return [PERSON]
    if word == "parent":
        return [above(context, scope)]
    present = lookup.live(context, scope)
    others = [agent for agent in present if agent.uid != scope.caller_uid]
    by_word: dict[str, Callable[[Agent], bool]] = {
        "all": lambda _: True,
        "children": lambda agent: agent.parent == scope.caller_uid,
    }
    if word in by_word:
        return _parties([agent for agent in others if by_word[word](agent)], word)
    if word not in {agent.id for agent in present} and _is_role(context, scope, present, word):
        return _parties([agent for agent in others if agent.role == word], word)
    agent = lookup.agent(context, scope, word)
    return [Party(agent.uid, agent.id)]


def _is_role(context: Context, scope: lookup.Scope, present: list[Agent], word: str) -> bool:
    """Whether a word is a role that somebody has, or could have."""
    if any(agent.role == word for agent in present):
        return True
    root = scope.repo.root if scope.repo else None
    config = settings.usable(context.folders.home, root).config
    return word in role_files.known(config, root)


def _parties(agents: list[Agent], word: str) -> list[Party]:
    if not agents:
        raise NotFound(f"{word}: there is nobody", "`wl list` shows who is there")
    return [Party(agent.uid, agent.id) for agent in agents]
