"""`wl config`: what is configured, where that comes from, and changes of it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

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
from windlass.core.errors import ConfigError, UserError
from windlass.daemon.kernel import lookup, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup import trust


class Configuration:
    """Reads and changes the configuration of a repository, or the person's own."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: ConfigRequest) -> ConfigReply:
        """The value in force of every key or of one, and which file it comes from.

        Beside something wrong as well: who is to mend it has to see what there is.
        """
        root = lookup.root(self._context, caller, request)
        known, origins = settings.sourced(self._context.folders.home, root)
        wanted = request.get("config_key")
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

    def set(self, caller: Caller, request: ConfigRequest) -> ConfigReply:
        """Gives a key a value."""
        key, path = self._target(caller, request)
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
        with settings.changing:
            settings.put(path, key, value)
            self._accept(caller, request, key, value)
        return self.view(caller, request)

    def add(self, caller: Caller, request: ConfigRequest) -> ConfigReply:
        """Adds a value to a list."""
        key, path = self._target(caller, request)
        if not config.is_list(key):
            raise UserError(f"{key} is not a list", f"wl config set {key} VALUE")
        word = request.get("value", "")
        with settings.changing:
            words = [*self._words(caller, request, key), word]
            self._accept(caller, request, key, settings.add(path, key, word), words=words)
        return self.view(caller, request)

    def remove(self, caller: Caller, request: ConfigRequest) -> ConfigReply:
        """Takes a value from a list, or a key from the file, also one that should not be there."""
        value = request.get("value")
        if value is not None:
            key, path = self._target(caller, request)
            with settings.changing:
                words = self._words(caller, request, key)
                self._accept(caller, request, key, settings.take(path, key, value), words=words)
            return self.view(caller, request)
        key, path = request.get("config_key", ""), self._file(caller, request)
        settings.remove(path, key)
        if config.about(key) is not None:
            return self.view(caller, request)
        root = lookup.root(self._context, caller, request)
        known = settings.usable(self._context.folders.home, root)
        return {"settings": {}, "problems": _problems(known), "waiting": _waiting(known, key)}

    def _words(self, caller: Caller, request: ConfigRequest, key: str) -> list[str]:
        """The words of a list that are in force."""
        root = lookup.root(self._context, caller, request)
        words: list[str] = config.value(
            settings.usable(self._context.folders.home, root).config, key
        )
        return words

    def _accept(
        self,
        caller: Caller,
        request: ConfigRequest,
        key: str,
        value: object,
        *,
        words: Collection[str] | None = None,
    ) -> None:
        """Lets count what the person typed: who writes a line themself has seen it."""
        root = lookup.root(self._context, caller, request)
        if root is not None and not request.get("user"):
            trust.accept_typed(self._context, root, key, value, words=words)

    def _target(self, caller: Caller, request: ConfigRequest) -> tuple[str, Path]:
        """The key that is meant, and the file that it is to be changed in."""
        key = config.require_key(request.get("config_key", ""))
        return key, self._file(caller, request)

    def _file(self, caller: Caller, request: ConfigRequest) -> Path:
        root = lookup.root(self._context, caller, request)
        user = request.get("user", False)
        return settings.file(self._context.folders.home, root, user=user)


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
