"""GitHub, by the person's own `gh`: it has their token, which passes through nothing of ours."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from typing import Any

import msgspec

from windlass.core.errors import Unavailable, program_failed
from windlass.core.forge import Draft, Home, PullRequest, State
from windlass.core.ports import Forge
from windlass.core.printable import printable_line

PATIENCE = 60.0
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
}
_FIELDS = "number,url,state"
_STATES: dict[str, State] = {"OPEN": "open", "MERGED": "merged", "CLOSED": "closed"}
_OPENED = re.compile(r"https?://\S+/pull/(\d+)")


class GitHub:
    """One repository there; what `gh` cannot do is left to `otherwise`."""

    def __init__(self, where: Home, *, env: Mapping[str, str], otherwise: Forge) -> None:
        self._where = where
        self._env = {**env, **_QUIET}
        self._otherwise = otherwise

    def open(self, draft: Draft) -> PullRequest:
        """Opens a pull request, or finds the one that is open for the branch already."""
        if shutil.which("gh", path=self._env.get("PATH")) is None:
            return self._by_hand(draft, "gh is not on PATH")
        try:
            return self._find(draft) or self._create(draft)
        except Unavailable as error:
            with contextlib.suppress(Unavailable):
                if found := self._find(draft):
                    return found
            return self._by_hand(draft, error.message)

    def look(self, request: PullRequest) -> PullRequest:
        """How it stands; as it was known where `gh` does not say. Raises Unavailable there."""
        if not request.number:
            return self._otherwise.look(request)
        said = self._gh("pr", "view", str(request.number), "--json", _FIELDS)
        return self._read(_parsed(said))

    def _by_hand(self, draft: Draft, why: str) -> PullRequest:
        return msgspec.structs.replace(self._otherwise.open(draft), why=why)

    def _find(self, draft: Draft) -> PullRequest | None:
        asked = ("--head", draft.branch, "--base", draft.base, "--state", "open")
        found = _parsed(self._gh("pr", "list", *asked, "--json", _FIELDS))
        return self._read(found[0]) if found else None

    def _create(self, draft: Draft) -> PullRequest:
        words = ("--head", draft.branch, "--base", draft.base, "--title", draft.title)
        said = self._gh("pr", "create", *words, "--body-file", "-", stdin=draft.body)
        opened = _OPENED.search(said)
        if opened is None:
            raise Unavailable(f"gh does not say which it opened: {printable_line(said[-200:])}")
        return PullRequest(address=opened[0], number=int(opened[1]))

    def _read(self, found: Any) -> PullRequest:
        try:
            number, address = int(found["number"]), printable_line(str(found["url"]))
            return PullRequest(address=address, number=number, state=_STATES[found["state"]])
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(f"gh answers with something else: {error}") from error

    def _gh(self, *words: str, stdin: str = "") -> str:
        """Runs `gh`, for a limited time; raises Unavailable where it fails."""
        args = ["gh", *words, "--repo", f"{self._where.host}/{self._where.path}"]
        try:
            program = subprocess.Popen(
                args,
                env=self._env,
                cwd="/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"gh cannot be started: {error.strerror}") from error
        with program:
            try:
                out, err = program.communicate(stdin.encode(), timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                raise Unavailable(f"gh did not finish within {PATIENCE:.0f} s") from None
            finally:
                if program.returncode is None:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(program.pid, signal.SIGKILL)
        if program.returncode != 0:
            said = program_failed(args[:3], program.returncode, err.decode(errors="replace"))
            raise Unavailable(printable_line(said))
        return out.decode(errors="replace")


def _parsed(said: str) -> Any:
    try:
        return json.loads(said)
    except ValueError as error:
        raise Unavailable(f"gh answers with no JSON: {error}") from error
