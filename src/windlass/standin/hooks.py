"""Runs hooks and folds what they answered into one outcome.

Fails open, as measured on the real program: a hook that errs, times out or answers nonsense is as
if it were not there. Hooks of one event run side by side.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from windlass.standin.children import Child, Children
from windlass.standin.http_client import PostError, post
from windlass.standin.permissions import matches
from windlass.standin.settings import ConfiguredHook

SUBJECTS = {
    "SessionStart": "source",
    "SessionEnd": "reason",
    "Notification": "notification_type",
    "StopFailure": "error",
}
HTTPLESS = frozenset({"SessionStart", "Setup"})


class Outcome(msgspec.Struct):
    """What the hooks of one event said together; the strictest answer wins.

    `erred` tells a hook that exited with 2 from one that answered.
    """

    decision: str | None = None
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    contexts: list[str] = []
    blocked: bool = False
    erred: bool = False
    ended: bool = False


_RANK = {"deny": 3, "ask": 2, "allow": 1}


class HookRunner:
    """The hooks of a session; `woken` is called with the text of a rewake hook."""

    def __init__(
        self,
        hooks: Sequence[ConfiguredHook],
        *,
        children: Children,
        cwd: str,
        env: Mapping[str, str],
        woken: Callable[[ConfiguredHook, str], None],
    ) -> None:
        self._hooks = hooks
        self._children = children
        self._cwd = cwd
        self._env = {**env, "CLAUDE_PROJECT_DIR": cwd}
        self._woken = woken

    def wants(self, event: str) -> bool:
        """Says whether anybody listens to an event."""
        return any(hook.event == event for hook in self._hooks)

    def fire(self, event: str, payload: Mapping[str, Any]) -> Outcome:
        """Runs every hook that the event concerns and returns what they said."""
        outcome = Outcome()
        chosen = dict.fromkeys(
            hook for hook in map(_Hashed, self._hooks) if _concerns(hook.hook, event, payload)
        )
        if not chosen:
            return outcome
        body = msgspec.json.encode(payload)
        started = [
            (item.hook, self._start(item.hook, body)) for item in chosen if item.hook.command
        ]
        for item in chosen:
            if item.hook.url and event not in HTTPLESS:
                self._post(item.hook, body, outcome)
        for hook, child in started:
            if child is None or hook.background:
                continue
            if child.wait(hook.timeout):
                _fold(outcome, hook, child)
            else:
                child.end()
        return outcome

    def _start(self, hook: ConfiguredHook, body: bytes) -> Child | None:
        env = {**self._env, "CLAUDE_PLUGIN_ROOT": hook.plugin} if hook.plugin else self._env
        command = hook.command.replace("${CLAUDE_PLUGIN_ROOT}", hook.plugin or "")
        argv = ["/bin/sh", "-c", command] if hook.args is None else [command, *hook.args]
        try:
            child = Child(self._children, argv, cwd=self._cwd, env=env, stdin=body)
        except OSError:
            return None
        if hook.background:
            timer = self._children.loop.later(hook.timeout, child.end)

            def finished(ended: Child) -> None:
                timer.cancel()
                if hook.rewake and ended.returncode == 2:
                    self._woken(hook, _text(ended.stderr) or _text(ended.stdout))

            child.on_exit = finished
        return child

    def _post(self, hook: ConfiguredHook, body: bytes, outcome: Outcome) -> None:
        headers = {key: self._expanded(value, hook) for key, value in hook.headers.items()}
        loop = self._children.loop
        try:
            status, answer = post(loop, hook.url, body, headers=headers, timeout=hook.timeout)
        except PostError:
            return
        if 200 <= status < 300 and answer.lstrip().startswith(b"{"):
            _fold_json(outcome, hook.event, answer)

    def _expanded(self, value: str, hook: ConfiguredHook) -> str:
        def replaced(variable: re.Match[str]) -> str:
            return self._env.get(variable[1], "") if variable[1] in hook.allowed_env else ""

        return re.sub(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", replaced, value)


class _Hashed:
    """A hook seen by what it runs: the same command twice runs once."""

    def __init__(self, hook: ConfiguredHook) -> None:
        self.hook = hook
        self._key = (hook.command, hook.args, hook.url, hook.background)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Hashed) and self._key == other._key


def _concerns(hook: ConfiguredHook, event: str, payload: Mapping[str, Any]) -> bool:
    if hook.event != event:
        return False
    tool = payload.get("tool_name")
    if hook.condition and not (
        tool and matches(hook.condition, str(tool), payload.get("tool_input", {}), every=False)
    ):
        return False
    subject = tool if tool is not None else payload.get(SUBJECTS.get(event, ""))
    if subject is None or hook.matcher in {"", "*"}:
        return True
    if re.fullmatch(r"[A-Za-z0-9_|]+", hook.matcher):
        return subject in hook.matcher.split("|")
    try:
        return bool(re.search(hook.matcher, str(subject)))
    except re.error:
        return False


def _fold(outcome: Outcome, hook: ConfiguredHook, child: Child) -> None:
    if child.returncode == 2:
        outcome.blocked = outcome.erred = True
        outcome.reason = outcome.reason or f"[{hook.command}]: {_text(child.stderr)}"
        outcome.decision = "deny"
    elif child.returncode == 0:
        _fold_json(outcome, hook.event, bytes(child.stdout))


def _fold_json(outcome: Outcome, event: str, answer: bytes) -> None:
    text = answer.strip()
    if not text:
        return
    try:
        data = msgspec.json.decode(text) if text.startswith(b"{") else None
    except msgspec.DecodeError:
        data = None
    if not isinstance(data, dict):
        if event in {"SessionStart", "UserPromptSubmit"}:
            outcome.contexts.append(_text(answer))
        return
    reason = str(data.get("reason", ""))
    if data.get("continue") is False:
        outcome.ended = True
        reason = reason or str(data.get("stopReason", ""))
    if data.get("decision") == "block":
        outcome.blocked = True
        outcome.decision = "deny"
    elif data.get("decision") == "approve":
        outcome.decision = outcome.decision or "allow"
    outcome.reason = outcome.reason or reason
    specific = data.get("hookSpecificOutput")
    if isinstance(specific, dict) and specific.get("hookEventName", event) == event:
        _fold_specific(outcome, specific)


def _fold_specific(outcome: Outcome, specific: dict[str, Any]) -> None:
    context = specific.get("additionalContext")
    if isinstance(context, str) and context:
        outcome.contexts.append(context)
    decision = specific.get("permissionDecision")
    reason = specific.get("permissionDecisionReason", "")
    updated = specific.get("updatedInput")
    ruling = specific.get("decision")
    if isinstance(ruling, dict):
        decision, reason = ruling.get("behavior"), ruling.get("message", "")
        updated = ruling.get("updatedInput")
    if isinstance(updated, dict):
        outcome.updated_input = updated
    if decision in _RANK and _RANK[decision] > _RANK.get(outcome.decision or "", 0):
        outcome.decision = decision
        outcome.reason = str(reason or "") or outcome.reason


def _text(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").rstrip(os.linesep)
