"""Who plays which script: one per session, by the first prompt, or the one for everybody."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec

from windlass.core.errors import UserError
from windlass.core.script.format import Script, default_script, parse
from windlass.model.conversation import ScriptedConversation
from windlass.model.request import Asked

Playable: TypeAlias = Script | Mapping[str, Any]
"""A script, or the object that a script file holds."""


def as_script(script: Playable) -> Script:
    """Checks a script that may still be plain data."""
    if isinstance(script, Script):
        return script
    return parse(msgspec.json.encode(script))


class Cast:
    """Finds or begins the conversation that a request belongs to."""

    def __init__(self, default: Script | None, *, salt: str) -> None:
        self.default = default
        self.sessions: dict[str, Script] = {}
        self._prompts: list[tuple[re.Pattern[str], Script]] = []
        self._salt = salt
        self._conversations: dict[tuple[str, str], ScriptedConversation] = {}

    def add_prompt(self, pattern: str, script: Script) -> None:
        """Lets conversations whose first prompt matches play this script; later ones come first."""
        try:
            self._prompts.insert(0, (re.compile(pattern), script))
        except re.error as error:
            raise UserError(f"bad regular expression {pattern!r}: {error}") from None

    def conversation(self, asked: Asked) -> ScriptedConversation:
        """Returns the conversation of a request, begun with the script that it should play.

        A script given to a session that is under way begins with its next message.
        """
        key = (asked.session, asked.subagent)
        known = self._conversations.get(key)
        if known is None:
            known = self._conversations[key] = self._begin(asked)
        script = self.sessions.get(asked.session) if not asked.subagent else None
        if script is not None and script is not known.script and _message(known, asked):
            known.begin(script)
        return known

    def known(self, asked: Asked) -> ScriptedConversation | None:
        """Returns the conversation of a request, if it has begun."""
        return self._conversations.get((asked.session, asked.subagent))

    def _begin(self, asked: Asked) -> ScriptedConversation:
        """A subagent plays a script of its own, or the rules of its session's script."""
        script = self.sessions.get(asked.session) if not asked.subagent else None
        prompt = first_message(asked)
        if script is None:
            script = next((script for match, script in self._prompts if match.search(prompt)), None)
        if script is None and asked.subagent:
            above = self._conversations.get((asked.session, ""))
            rules = Script((), above.script.on if above else ())
            return ScriptedConversation(rules, begun=True, salt=self._salt)
        script = script or self.default or default_script(prompt, asked.agent or "agent")
        return ScriptedConversation(script, begun=False, salt=self._salt)


def first_message(asked: Asked) -> str:
    """Returns the prompt that begins a conversation: what is said first after any history."""
    fresh = ScriptedConversation(Script(()), begun=False, salt="")
    return _message(fresh, asked)


def _message(conversation: ScriptedConversation, asked: Asked) -> str:
    """Returns the first message that a request brings, or nothing."""
    said = (item.text for item in conversation.news(asked) if item.kind == "message")
    return next(said, "")
