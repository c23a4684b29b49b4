"""`wl config`: what is configured, where that comes from, and changes of it.

A change is an intent: asked for twice under one key, it is made once, and a value that was taken
away is not missed the second time.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.setup import (
    ConfigProblem,
    ConfigReply,
    ConfigRequest,
    ConfigView,
    LineView,
)
from windlass.core import config, config_roles
from windlass.core.config_layers import Usable
from windlass.core.errors import ConfigError, NotFound, UserError
from windlass.daemon.kernel import lookup, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import NOWHERE, IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.setup import trust

log = logging.getLogger(__name__)
KIND = "config"
Change = Literal["set", "add", "take", "remove"]


class Configuration:
    """Reads and changes the configuration of a repository, or the person's own."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def operation(self) -> Operation:
        """One step, which a file that has the change already is fine with."""
        return Operation(KIND, (Step("write", self._write),), lambda _: [], self._changed)

    def view(self, caller: Caller, request: ConfigRequest) -> ConfigReply:
        """The value in force of every key or of one, and which file it comes from.

        Beside something wrong as well: who is to mend it has to see what there is.
        """
        root = lookup.root(self._context, caller, request)
        return self._view(root, request.get("config_key"))

    def _view(self, root: str | None, wanted: str | None) -> ConfigReply:
        known, origins = settings.sourced(self._context.folders.home, root)
        keys = [_known_key(known, wanted)] if wanted else dict.fromkeys([*config.ABOUT, *origins])
        return {
            "settings": {
                key: ConfigView(
                    value=config.value(known.config, key),
                    origin=origins.get(key, "default"),
                    about=config.about(key) or "",
                )
                for key in keys
            },
            "problems": _problems(known),
            "waiting": _waiting(known, wanted),
        }

    def set(self, caller: Caller, request: ConfigRequest) -> IntentDraft:
        """Gives a key a value."""
        key = config.require_key(request.get("config_key", ""))
        if config.is_list(key):
            raise UserError(f"{key} is a list", f"wl config add {key} VALUE")
        if key in config.PERSONAL and not request.get("user"):
            raise UserError(
                f"{key} counts only in your own configuration, never in a repository's",
                f"wl config set --global {key} VALUE",
            )
        value = config.parse(key, request.get("value", ""))
        if key == "driver" or (value and config_roles.names_driver(key)):
            _require_driver(key, value)
        return self._draft(caller, request, "set", key, value)

    def add(self, caller: Caller, request: ConfigRequest) -> IntentDraft:
        """Adds a value to a list."""
        key = config.require_key(request.get("config_key", ""))
        if not config.is_list(key):
            raise UserError(f"{key} is not a list", f"wl config set {key} VALUE")
        return self._draft(caller, request, "add", key, request.get("value", ""))

    def remove(self, caller: Caller, request: ConfigRequest) -> IntentDraft:
        """Takes a value from a list, or a key from the file, also one that should not be there."""
        key, value = request.get("config_key", ""), request.get("value")
        if value is None:
            return self._draft(caller, request, "remove", key, None)
        return self._draft(caller, request, "take", config.require_key(key), value)

    def _draft(
        self, caller: Caller, request: ConfigRequest, change: Change, key: str, value: object
    ) -> IntentDraft:
        repo = lookup.scope(self._context, caller, request).repo
        root = lookup.root(self._context, caller, request)
        user = request.get("user", False)
        settings.file(self._context.folders.home, root, user=user)  # refused before it is begun
        data = {"change": change, "key": key, "value": value, "root": root, "user": user}
        return IntentDraft(repo.id if repo else NOWHERE, None, lambda _: data)

    def _write(self, work: RunningIntent) -> None:
        with settings.changing:
            is_begun = "words" in work.data
            if not is_begun:
                work.keep(words=self._words(work.data))
            try:
                self._change(work.data)
            except NotFound:
                if not is_begun:
                    raise
                log.info("%s was taken away before a daemon died", work.data["key"])

    def _words(self, data: Mapping[str, Any]) -> list[str] | None:
        """The words of a list that are in force; after the change those of a file may wait."""
        if data["change"] not in ("add", "take"):
            return None
        in_force = settings.usable(self._context.folders.home, data["root"]).config
        words: list[str] = config.value(in_force, data["key"])
        return words

    def _change(self, data: Mapping[str, Any]) -> None:
        """Changes the file, and lets count what the person typed: who writes a line has seen it."""
        key, value, root, words = data["key"], data["value"], data["root"], data["words"]
        path = settings.file(self._context.folders.home, root, user=data["user"])
        written: object = value
        match data["change"]:
            case "remove":
                settings.remove(path, key)
                return
            case "add":
                written, words = settings.add(path, key, value), [*words, value]
            case "take":
                written = settings.take(path, key, value)
            case _:
                settings.put(path, key, value)
        if root is not None and not data["user"]:
            trust.accept_typed(self._context, root, key, written, words=words)

    def _changed(self, work: RunningIntent) -> ConfigReply:
        root, key = work.data["root"], work.data["key"]
        if config.about(key) is not None:
            return self._view(root, key)
        known = settings.usable(self._context.folders.home, root)
        return {"settings": {}, "problems": _problems(known), "waiting": _waiting(known, key)}


def _known_key(known: Usable, key: str) -> str:
    """Returns a key that exists; of one that stands in a file all the same, says in which."""
    for problem in known.problems:
        if problem.key == key and config.about(key) is None:
            raise problem.error
    return config.require_key(key)


def _require_driver(key: str, name: str) -> None:
    """Refuses the name of a driver that is not there, before `wl new` fails by it."""
    if name not in drivers.known():
        raise ConfigError(
            f"{key}: no driver named {name!r}", f"known: {', '.join(drivers.known())}; `wl drivers`"
        )


def _problems(known: Usable) -> list[ConfigProblem]:
    return [
        ConfigProblem(key=problem.key, message=problem.error.message, hint=problem.error.hint)
        for problem in known.problems
    ]


def _waiting(known: Usable, key: str | None) -> list[LineView]:
    return trust.views(line for line in known.waiting if key in (None, line.key))
