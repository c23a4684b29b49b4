"""What this machine has, and who is asking: `wl doctor`, `wl drivers` and `whoami`."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

from windlass import __version__
from windlass.api.verbs import Caller
from windlass.api.wire.request import AnyRequest
from windlass.api.wire.setup import (
    DoctorReply,
    DriverRequest,
    DriversRequest,
    DriverView,
    LoginRequest,
    TrustReply,
    WhoamiReply,
)
from windlass.core.config import Config
from windlass.core.errors import WindlassError
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup import disk_kinds, doctor, drivers
from windlass.daemon.setup.logins import Logins


class Machine:
    """Says what this machine has, and who is asking."""

    def __init__(self, context: Context) -> None:
        self._context = context

    def whoami(self, caller: Caller, request: AnyRequest) -> WhoamiReply:
        """Who is asking, from which repository, and which daemon answers."""
        scope = lookup.scope(self._context, caller, request)
        return {
            "agent": scope.caller.id if scope.caller else None,
            "role": scope.caller.role if scope.caller else "person",
            "repo": scope.repo.root if scope.repo else None,
            "pid": os.getpid(),
            "version": __version__,
        }

    def doctor(self, caller: Caller, request: DriversRequest) -> DoctorReply:
        """Everything that an agent needs, and whether it is there."""
        repo = lookup.scope(self._context, caller, request).repo
        if repo is not None and repos.is_gone(repo):  # named among the orphans
            repo = None
        root = lookup.root(self._context, caller, request)
        report = doctor.examine(self._context, root, repo, driver=request.get("driver"))
        if caller.agent is not None:  # counting takes a while, and the disk is the person's
            return report
        asked: LoginRequest = {"cwd": request.get("cwd", "/"), "driver": report["driver"]}
        with contextlib.suppress(WindlassError):  # a driver that is not there is told above
            report["login"] = Logins(self._context).view(caller, asked)
        return {**report, "disk": disk_kinds.taken(self._context)}

    def drivers(self, caller: Caller, request: DriversRequest) -> list[DriverView]:
        """Every driver, and which one is taken here."""
        configured = self._settings(caller, request).driver
        return drivers.listed(request.get("driver") or configured)

    def trusted(self, caller: Caller, request: DriverRequest) -> TrustReply:
        """Whether a driver's CLI trusts the folder of all workspaces already."""
        return drivers.trusted(self._context, request["driver"], self._settings(caller, request))

    def trust(self, caller: Caller, request: DriverRequest) -> TrustReply:
        """Has a driver's CLI trust the folder of all workspaces."""
        return drivers.trust(self._context, request["driver"], self._settings(caller, request))

    def _settings(self, caller: Caller, request: Mapping[str, Any]) -> Config:
        root = lookup.root(self._context, caller, request)
        return settings.load(self._context.folders.home, root)
