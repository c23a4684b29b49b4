"""The shell commands that `wl notify setup` writes as `notify.command`, one for each kind. Pure.

A notice's text is an agent's: it is only ever a value, never a part of the line, a name of a file
(`curl -d @...`) or an option.
"""

from __future__ import annotations

import shlex
from urllib.parse import urlsplit

from windlass.core.errors import UserError

KINDS = ("ntfy", "slack", "desktop", "command")
_CURL = "curl -fsS -m 20"
_AS_SLACK = (
    "import json, sys; n = json.load(sys.stdin);"
    ' print(json.dumps({"text": n["from"] + ": " + n["msg"]}))'
)
_OSASCRIPT = (
    "osascript -e 'on run a' -e 'display notification (item 2 of a) with title (item 1 of a)'"
    ' -e \'end run\' -- "$WINDLASS_NOTICE_FROM" "$WINDLASS_NOTICE_TEXT"'
)


def line(kind: str, target: str, *, platform: str, python: str) -> str:
    """The command of a kind for an address or, of `command`, the line itself."""
    match kind:
        case "ntfy":
            title = '-H "Title: $WINDLASS_NOTICE_FROM"'
            return f'{_CURL} {title} --data-raw "$WINDLASS_NOTICE_TEXT" {_address(kind, target)}'
        case "slack":
            json_type = "-H 'Content-Type: application/json'"
            body = f"{shlex.quote(python)} -c {shlex.quote(_AS_SLACK)}"
            return f"{body} | {_CURL} {json_type} --data-binary @- {_address(kind, target)}"
        case "desktop":
            if target:
                raise UserError("a desktop has no address", "wl notify setup desktop")
            if platform == "darwin":
                return _OSASCRIPT
            return 'notify-send -- "$WINDLASS_NOTICE_FROM" "$WINDLASS_NOTICE_TEXT"'
        case "command" if target.strip():
            return target
    raise UserError("no command is given", "wl notify setup command 'my-program'")


def _address(kind: str, target: str) -> str:
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https") or not parts.netloc or not target.isprintable():
        raise UserError(
            f"{target!r} is no address that {kind} could be told at",
            f"wl notify setup {kind} https://...",
        )
    return shlex.quote(target)
