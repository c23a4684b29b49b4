"""The crew's status for people and for the person's own agent: as a node in a file, as Markdown.

Pure: bytes of a file in, bytes out, and all but the node byte for byte as it was. Where the files
are and when they are written is `daemon.person.status_files`'.

What agents wrote is in there. Nothing of it can end the node, and nothing of it is read as an
import (`@path`) by a CLI that reads the file as instructions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec

from windlass.core.ages import age
from windlass.core.printable import printable, printable_line
from windlass.core.states import State

SHOWN_AS = {
    State.CREATING: "running",
    State.RUNNING: "running",
    State.COMPACTING: "running",
    State.RATE_LIMITED: "running",
    State.ASKING: "waiting",
    State.WAITING: "waiting",
    State.UNKNOWN: "waiting",
    State.COMPLETE: "complete",
    State.PAUSED: "stopped",
    State.STOPPED: "stopped",
}
"""Ten states as four. Running goes on by itself, waiting needs a look, stopped has no session.

Unknown needs a look, and is never done; a paused one does nothing until somebody resumes it, which
is what readers have to know of a stopped one.
"""
TYPES = ("question", "status", "alert", "complete")
NOBODY = "No active agents"
MAKES_BLOCK = "`wl hooks install --instructions claude-md` makes it"
PROMPT_CHARACTERS = 60
CONTENT_CHARACTERS = 500
MARK = "<!-- windlass:status -->"
"""The first line of the Markdown, which only a file of ours has."""
_KEPT = "Kept up to date by Windlass. Do not edit: what you write here is overwritten."
_UPDATED = "Last updated: "

_OPENS = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*<windlass>", re.MULTILINE)
_CLOSES = re.compile(rb"(?P<end>(?:^[ \t]*)?</windlass>)[ \t]*\r?$", re.MULTILINE)
_BEGIN, _END = b"<windlass-status>", b"</windlass-status>"
_LINE_END = re.compile(rb"[ \t]*(?:\r?\n)?")
_OBJECT = re.compile(rb"^\{", re.MULTILINE)
_UNSAFE = re.compile(r"[<>@]")
_TICKS = re.compile(r"`+")


class Root(msgspec.Struct, frozen=True, kw_only=True):
    """An agent without a manager, and how many it has below it itself."""

    id: str
    state: State
    created_at: float
    goal: str
    children: int = 0
    children_complete: int = 0


class NodeMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent told the person, and nobody has acknowledged."""

    id: str
    sender: str
    at: float
    kind: str
    body: str


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What is shown, oldest first."""

    roots: tuple[Root, ...] = ()
    messages: tuple[NodeMessage, ...] = ()


class Renewed(NamedTuple):
    """What a file is to say; without a text it stays as it is, and `why` says for what reason."""

    text: bytes | None
    why: str = ""


def as_data(
    status: Status, *, now: float, max_messages: int = 50, count_children: bool = True
) -> dict[str, Any]:
    """The status as data. Bodies are whole; of too many messages the oldest are left out.

    The node tells how old an agent is, as its schema wants; Markdown tells when it was started.
    """
    newest = status.messages[-max_messages:] if max_messages else ()
    return {
        "last_updated": _time(now),
        "root_agents": [_root(root, now=now, count=count_children) for root in status.roots],
        "messages": [
            {
                "id": message.id,
                "from": message.sender,
                "timestamp": _time(message.at),
                "type": message.kind if message.kind in TYPES else "status",
                "content": printable(message.body),
            }
            for message in newest
        ],
    }


class _Span(NamedTuple):
    """A part of a file."""

    start: int
    end: int


def _body(text: bytes) -> _Span | None:
    """What is in the first block of a file.

    No one pattern finds both its ends: that would go through the whole file from each beginning.
    """
    opens = _OPENS.search(text)
    closes = _CLOSES.search(text, opens.end()) if opens else None
    return _Span(opens.end(), closes.start()) if opens and closes else None


def _node(text: bytes, body: _Span) -> _Span | None:
    start = text.find(_BEGIN, *body)
    end = text.find(_END, start, body.end) if start >= 0 else -1
    return _Span(start, end + len(_END)) if end >= 0 else None


def renew(text: bytes, data: dict[str, Any]) -> Renewed:
    """Puts the node into the first block of a file, unless it says the same but for times."""
    body = _body(text)
    if body is None:
        return Renewed(None, f"it has no <windlass> block: {MAKES_BLOCK}")
    node = _node(text, body)
    if node is None and text.find(_BEGIN, *body) >= 0:
        return Renewed(None, "its <windlass-status> has no end")
    if node is not None and same(_read(text[slice(*node)]), _in_node(data)):
        return Renewed(None)
    line_end = b"\r\n" if text.find(b"\r\n", *body) >= 0 else b"\n"
    fresh = line_end.join(line.encode() for line in _lines(data))
    if node is not None:
        return Renewed(text[: node.start] + fresh + text[node.end :])
    at = body.end
    before = b"" if text[:at].endswith(b"\n") else line_end
    return Renewed(text[:at] + before + fresh + line_end + text[at:])


def without(text: bytes) -> bytes:
    """The file without the node: to compare a block with what it was when it was written."""
    body = _body(text)
    node = _node(text, body) if body else None
    if body is None or node is None:
        return text
    line = _LINE_END.match(text, node.end, body.end)
    return text[: node.start] + text[line.end() if line else node.end :]


def renew_markdown(text: bytes | None, data: dict[str, Any]) -> Renewed:
    """The whole of the file for people, unless it says the same but for the time.

    A file that is not ours stays: somebody may have had one of that name before.
    """
    if text is not None and not is_ours(text):
        return Renewed(None, f"it is somebody's own: rename it (ours begins with {MARK})")
    fresh = markdown(data).encode()
    if text is not None and _timeless(text) == _timeless(fresh):
        return Renewed(None)
    return Renewed(fresh)


def is_ours(text: bytes) -> bool:
    """Whether a file is one that `markdown` made."""
    return text.partition(b"\n")[0].rstrip(b"\r") == MARK.encode()


def same(old: Any, new: dict[str, Any]) -> bool:
    """Whether two tell the same but for times that pass though nothing happens."""
    return isinstance(old, dict) and _timeless_data(old) == _timeless_data(new)


def markdown(data: dict[str, Any]) -> str:
    """The status in Markdown."""
    lines = [MARK, f"<!-- {_KEPT} -->", "", "# Crew", "", f"{_UPDATED}{data['last_updated']}"]
    for message in data["messages"]:
        head = f"## {message['type'].capitalize()} of {_code(message['from'])}"
        lines += ["", head, "", f"{_code(message['id'])}, {message['timestamp']}"]
        lines += ["", *_fenced(message["content"])]
    if not data["root_agents"]:
        return "\n".join([*lines, "", NOBODY, ""])
    lines += ["", "## Agents", ""]
    return "\n".join([*lines, *(_item(root) for root in data["root_agents"]), ""])


def _root(root: Root, *, now: float, count: bool) -> dict[str, Any]:
    since = now - root.created_at
    shown: dict[str, Any] = {
        "id": root.id,
        "state": SHOWN_AS[root.state],
        "age": age(since) if since >= 60 else "0m",
        "started": _time(root.created_at),
        "prompt": printable_line(next(iter(root.goal.splitlines()), ""))[:PROMPT_CHARACTERS],
    }
    if count:
        shown |= {"children": root.children, "children_complete": root.children_complete}
    return shown


def _lines(data: dict[str, Any]) -> Iterable[str]:
    written = json.dumps(_in_node(data), ensure_ascii=False, indent=2)
    # Only texts have these in them, where JSON has another way to write them.
    safe = _UNSAFE.sub(lambda character: f"\\u{ord(character[0]):04x}", written)
    nobody = [] if data["root_agents"] else [NOBODY]
    comment = f"<!-- {_KEPT} Ages are those at last_updated. -->"
    return (_BEGIN.decode(), comment, *nobody, *safe.split("\n"), _END.decode())


def _in_node(data: dict[str, Any]) -> dict[str, Any]:
    return {
        **data,
        "root_agents": [
            {key: value for key, value in root.items() if key != "started"}
            for root in data["root_agents"]
        ],
        "messages": [
            {**message, "content": _cut(message["content"])} for message in data["messages"]
        ],
    }


def _cut(content: str) -> str:
    whole = len(content) <= CONTENT_CHARACTERS
    return content if whole else content[: CONTENT_CHARACTERS - 1] + "…"


def _read(node: bytes) -> Any:
    begins, end = _OBJECT.search(node), node.rfind(b"\n}")
    if begins is None or end < begins.start():
        return None
    try:
        return json.loads(node[begins.start() : end + 2])
    except ValueError:  # somebody has edited it: it is written again
        return None


def _timeless_data(data: dict[str, Any]) -> dict[str, Any]:
    undated = _blanked(data, "last_updated")
    roots = undated.get("root_agents")
    if not isinstance(roots, list):
        return undated
    ageless = [_blanked(root, "age") if isinstance(root, dict) else root for root in roots]
    return {**undated, "root_agents": ageless}


def _blanked(table: dict[str, Any], key: str) -> dict[str, Any]:
    """The same with an empty text under a key; without that key it stays as it is."""
    return {**table, key: ""} if key in table else table


def _timeless(text: bytes) -> bytes:
    return re.sub(rb"(?m)^" + _UPDATED.encode() + rb".*$", b"", text, count=1)


def _item(root: dict[str, Any]) -> str:
    line = f"- {_code(root['id'])}: {root['state']}, started {root['started']}"
    if root.get("children"):
        line += f", {root['children']} below it, {root['children_complete']} of them complete"
    return f"{line}. {_code(root['prompt'])}" if root["prompt"] else line


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _fenced(text: str) -> list[str]:
    """The text between marks that are longer than any in it."""
    longest = max((len(run) for run in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *text.split("\n"), fence]


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
