"""The conversation on disk: JSON lines under the configuration folder, appended as things happen.

Every line goes out in one write on an O_APPEND descriptor, so a kill leaves at most one broken line
at the end, which reading skips. Lines that move the script carry its cursor. Those that find no
room on a full disk wait for it, as the real program's do, which goes on meanwhile.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from time import gmtime, strftime, time
from typing import Any

import msgspec

from windlass import __version__
from windlass.core import shapes
from windlass.core.claude.transcript import file_name
from windlass.core.script import cursor as play
from windlass.core.script.cursor import Cursor

INTERRUPTED = "[Request interrupted by user"


def new_id() -> str:
    """Returns a random UUID; the standard module is slow to import."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def transcript_path(config: Path, cwd: str, session: str) -> Path:
    """Returns where a session's conversation lives."""
    return config / file_name(cwd, session)


class History(msgspec.Struct):
    """What a transcript says about a session so far."""

    cursor: Cursor = Cursor()
    goal: str = ""
    message: str = ""
    last_uuid: str | None = None
    lines: list[dict[str, Any]] = []

    def texts(self) -> list[tuple[str, str]]:
        """Returns what was said, as pairs of role and text."""
        return [(role, text) for line in self.lines for role, text in _said(line)]


def _said(line: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns the texts of a line, but not what the program itself put in."""
    kind = line.get("type")
    if kind == "attachment" and line.get("attachment", {}).get("type") == "queued_command":
        return [("user", text) for text in _texts(line["attachment"].get("prompt"))]
    if kind not in {"user", "assistant"} or line.get("isMeta"):
        return []
    texts = _texts(line.get("message", {}).get("content"))
    return [(kind, text) for text in texts if not text.startswith(INTERRUPTED)]


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    return [str(block["text"]) for block in blocks if block.get("type") == "text"]


def read_history(path: Path) -> History:
    """Reads a transcript back; an unfinished tool call simply does not count as played."""
    history = History()
    for line in _lines(path):
        history.lines.append(line)
        history.last_uuid = line.get("uuid", history.last_uuid)
        if "cursor" in line:
            history.cursor = shapes.convert(line["cursor"], Cursor, strict=False)
        heard = "\n".join(text for role, text in _said(line) if role == "user")
        if heard:
            history.goal = history.goal or heard
            history.message = play.message(heard)
    return history


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        for raw in file:
            try:
                line = msgspec.json.decode(raw)
            except msgspec.DecodeError:
                continue
            if isinstance(line, dict):
                yield line


class Transcript:
    """The file of one session, open for appending once there is something to say."""

    def __init__(self, path: Path, *, session: str, cwd: str) -> None:
        self.path = path
        self.session = session
        self._cwd = cwd
        self._fd: int | None = None
        self._parent: str | None = None
        self._held: list[dict[str, Any]] = []
        self._unwritten = b""

    def resume(self, history: History) -> None:
        """Continues a file after its last line; a line broken by a kill is closed off."""
        self._parent = history.last_uuid
        with self.path.open("rb") as file:
            if file.seek(0, os.SEEK_END) and file.seek(-1, os.SEEK_END) and file.read(1) != b"\n":
                os.write(self._open(), b"\n")

    def copy(self, history: History) -> None:
        """Writes another session's lines under this one's name."""
        for line in history.lines:
            self._write({**line, "sessionId": self.session, "cwd": self._cwd})
        self._parent = history.last_uuid

    def add(self, kind: str, *, hold: bool = False, **fields: Any) -> str:
        """Appends a line and returns its id.

        A held line waits for the next one: a session in which nothing was said has no file.
        """
        uuid = new_id()
        line = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": self._cwd,
            "sessionId": self.session,
            "version": __version__,
            "type": kind,
            **fields,
            "uuid": uuid,
            "timestamp": _timestamp(),
        }
        self._parent = uuid
        if hold and self._fd is None:
            self._held.append(line)
            return uuid
        for held in self._held:
            self._write(held)
        self._held.clear()
        self._write(line)
        return uuid

    def _write(self, line: dict[str, Any]) -> None:
        self._unwritten += msgspec.json.encode(line) + b"\n"
        try:
            fd = self._open()
            while self._unwritten:
                self._unwritten = self._unwritten[os.write(fd, self._unwritten) :]
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                raise

    def _open(self) -> int:
        if self._fd is None:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
            self._fd = os.open(self.path, flags, 0o600)
        return self._fd


def _timestamp() -> str:
    now = time()
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(now)) + f".{int(now % 1 * 1000):03d}Z"
