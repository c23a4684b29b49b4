"""`wl notify setup`: has notices reach the person's phone, chat or desktop, once that was tried."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from windlass.cli.call import Call
from windlass.core import notify_commands
from windlass.core.errors import Denied, Unavailable, UserError
from windlass.core.printable import printable_line

_TEXT = "Windlass reaches you here."
_PATIENCE = 30.0


def run(call: Call, words: list[str]) -> int:
    """Tries the command with a test message, and writes it to the person's own configuration."""
    if os.environ.get("WINDLASS_SOCKET"):
        raise Denied("agents do not say how the person is reached", "ask the person")
    if not words or words[0] not in notify_commands.KINDS:
        raise UserError("by which way?", f"wl notify setup {'|'.join(notify_commands.KINDS)}")
    kind, target = words[0], " ".join(words[1:])
    command = notify_commands.line(kind, target, platform=sys.platform, python=sys.executable)
    _try(command)
    call.ask("config.set", config_key="notify.command", value=command, user=True)
    call.data({"kind": kind, "command": command})
    call.tell(f"a test message was sent; notices come by {kind} from now on")
    call.tell("  wl config remove notify.command --global   takes that back")
    return 0


def _try(command: str) -> None:
    """Runs the command as the daemon does for a notice; raises what it says if it fails."""
    notice = {"ts": "", "from": "windlass", "type": "complete", "msg": _TEXT}
    told = {
        "WINDLASS_NOTICE_TYPE": "complete",
        "WINDLASS_NOTICE_FROM": "windlass",
        "WINDLASS_NOTICE_TEXT": _TEXT,
        "WINDLASS_REPO": "",
    }
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=json.dumps(notice) + "\n",
            env={**os.environ, **told},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"it took longer than {_PATIENCE:g} s: {command}", "nothing was changed"
        ) from None
    if done.returncode != 0:
        said = printable_line(" ".join((done.stderr or done.stdout).split()[-40:]))
        raise Unavailable(
            f"the test message failed ({done.returncode}): {said or command}", "nothing was changed"
        )
