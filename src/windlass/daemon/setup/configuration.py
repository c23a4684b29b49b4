"""`wl config`: what is configured, where that comes from, and changes of it."""

from __future__ import annotations

from pathlib import Path

from windlass.api.verbs import Caller
from windlass.api.wire.setup import ConfigRequest, ConfigView
from windlass.core import config, config_roles
from windlass.core.errors import UserError
from windlass.daemon.kernel import lookup, settings
from windlass.daemon.kernel.context import Context


class Configuration:
    """Reads and changes the configuration of a repository, or the person's own."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: ConfigRequest) -> dict[str, ConfigView]:
        """The value in force of every key or of one, and which file it comes from."""
        root = lookup.root(self._context, caller, request)
        home = self._context.folders.home
        inforce = settings.load(home, root)
        origins = settings.origins(home, root)
        wanted = request.get("config_key")
        keys = [config.require_key(wanted)] if wanted else dict.fromkeys([*config.ABOUT, *origins])
        return {
            key: {
                "value": config.value(inforce, key),
                "origin": origins.get(key, "default"),
                "about": config.about(key) or "",
            }
            for key in keys
        }

    def set(self, caller: Caller, request: ConfigRequest) -> dict[str, ConfigView]:
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
        if config_roles.widens(key, value) and not request.get("user"):
            raise UserError(
                f"{key} = {str(value).lower()} counts only in your own configuration: a repository"
                " may take from a role, and not give to it",
                f"wl config set --global {key} {str(value).lower()}",
            )
        settings.put(path, key, value)
        return self.view(caller, request)

    def add(self, caller: Caller, request: ConfigRequest) -> dict[str, ConfigView]:
        """Adds a value to a list."""
        key, path = self._target(caller, request)
        if not config.is_list(key):
            raise UserError(f"{key} is not a list", f"wl config set {key} VALUE")
        settings.add(path, key, request.get("value", ""))
        return self.view(caller, request)

    def remove(self, caller: Caller, request: ConfigRequest) -> dict[str, ConfigView]:
        """Takes a value from a list, or a key from the file."""
        key, path = self._target(caller, request)
        value = request.get("value")
        if value is None:
            settings.remove(path, key)
            return self.view(caller, request)
        settings.take(path, key, value)
        return self.view(caller, request)

    def _target(self, caller: Caller, request: ConfigRequest) -> tuple[str, Path]:
        """The key that is meant, and the file that it is to be changed in."""
        key = config.require_key(request.get("config_key", ""))
        root = lookup.root(self._context, caller, request)
        user = request.get("user", False)
        return key, settings.file(self._context.folders.home, root, user=user)
