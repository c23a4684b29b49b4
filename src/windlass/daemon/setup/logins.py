"""What stands between a person and boxes where nothing else does: a token for the agent CLI.

An interactive login lies in the person's home, which no box shows. So the person makes a token,
with the CLI's own program, and it is kept here. Its value is never shown, logged or sent anywhere.
"""

from __future__ import annotations

import re

from windlass import drivers, whole_file
from windlass.api.verbs import Caller
from windlass.api.wire.setup import LoginOffer, LoginRequest, LoginView
from windlass.core.box_spec import Network
from windlass.core.config import confinement
from windlass.core.errors import UserError
from windlass.core.ids import RoleName
from windlass.core.roles import USUAL
from windlass.daemon.kernel import kept_tokens, lookup, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch import boxes, session_request

_OFFERED = "offered-token"
"""In the state folder: who was asked once is not asked again unless they ask for it."""
_TOKEN = re.compile(r"[!-~]{20,4096}")


class Logins:
    """Keeps, forgets and offers tokens."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def view(self, caller: Caller, request: LoginRequest) -> LoginView:
        """Whether a token is kept, and whether one is all that a box lacks."""
        root = lookup.root(self._context, caller, request)
        config = settings.usable(self._context.folders.home, root).config
        driver = request.get("driver") or config.driver
        role = RoleName(request.get("role") or USUAL)
        wanted, network = confinement(config, role)
        asked: Network = request.get("network") or network
        draft = session_request.draft(
            self._context,
            driver,
            mode="live",
            root=str(self._context.folders.workspaces),
            config=config,
            boxed=True,
        )
        repo = lookup.scope(self._context, caller, request).repo
        lacks = wanted != "hooks" and boxes.lacks_token(
            network=asked, driver=driver, draft=draft, repo=repo
        )
        return {
            "driver": driver,
            "kept_at": kept_tokens.kept_at(self._context.folders, driver),
            "lacks": lacks,
            "command": list(drivers.get(driver).token_command),
        }

    def offer(self, caller: Caller, request: LoginRequest) -> LoginOffer:
        """Whether the person is to be asked for a token now: once, where that is all it takes."""
        mark = self._context.folders.home / _OFFERED
        if mark.exists():
            return {"offer": False, "driver": "", "command": []}
        known = self.view(caller, request)
        if known["lacks"]:
            whole_file.replace(mark, b"")
        return {"offer": known["lacks"], "driver": known["driver"], "command": known["command"]}

    def keep(self, caller: Caller, request: LoginRequest) -> LoginView:
        """Keeps a token."""
        known = self.view(caller, request)
        token = request.get("token", "").strip()
        if not known["command"]:
            raise UserError(f"{known['driver']} takes no token", "wl drivers lists those that do")
        if not _TOKEN.fullmatch(token):
            raise UserError("this is no token", "copy all of it, and nothing else")
        if problem := drivers.get(known["driver"]).token_problem(token):
            raise UserError(f"this is no token: {problem}", "nothing was kept")
        kept_tokens.keep(self._context.folders, known["driver"], token)
        return self.view(caller, request)

    def forget(self, caller: Caller, request: LoginRequest) -> LoginView:
        """Deletes a token; sessions that run have it until they end."""
        known = self.view(caller, request)
        kept_tokens.forget(self._context.folders, known["driver"])
        return self.view(caller, request)
