"""Turns the bytes of a terminal into keys. Pure; the caller decides how long an Escape may wait."""

from __future__ import annotations

import re

import msgspec

PASTE_END = b"\x1b[201~"
_PASTE_START = b"\x1b[200~"
_SEQUENCE = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|O[ -~]|[^\[O\x1b])")
_BEGUN = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|O)?")
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ARROWS = {
    b"\x1b[A": "up",
    b"\x1bOA": "up",
    b"\x1b[B": "down",
    b"\x1bOB": "down",
    b"\x1b\r": "newline",
    b"\x1b[13;2u": "newline",
}
_CONTROLS = {
    "\r": "enter",
    "\n": "newline",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
    "\x04": "ctrl-d",
    "\x15": "ctrl-u",
    "\x17": "ctrl-w",
    "\x0c": "ctrl-l",
    "\t": "tab",
}


class Key(msgspec.Struct, frozen=True):
    """One key or one paste: `text`, `paste`, or the name of a key."""

    name: str
    text: str = ""


class Decoder:
    """Keeps what is incomplete until more comes."""

    def __init__(self) -> None:
        self._held = b""

    @property
    def escaping(self) -> bool:
        """Says whether an Escape is held that may be the key itself."""
        return bool(_BEGUN.fullmatch(self._held))

    def feed(self, data: bytes) -> list[Key]:
        """Takes bytes and returns the keys that they complete."""
        self._held += data
        keys: list[Key] = []
        while self._held:
            taken = self._next(keys)
            if not taken:
                break
            self._held = self._held[taken:]
        return keys

    def flush(self) -> list[Key]:
        """Gives up waiting: a held Escape was the key."""
        held, self._held = self._held[1:], b""
        return [Key("escape"), *self.feed(held)]

    def _next(self, keys: list[Key]) -> int:
        """Appends the first key of what is held; returns how many bytes it took, 0 for none yet."""
        held = self._held
        if held.startswith(_PASTE_START):
            end = held.find(PASTE_END)
            if end < 0:
                return 0
            keys.append(Key("paste", pasted(held[len(_PASTE_START) : end])))
            return end + len(PASTE_END)
        if held[:1] == b"\x1b":
            return self._escape(keys)
        return self._typed(keys)

    def _escape(self, keys: list[Key]) -> int:
        held = self._held
        if held.startswith(b"\x1b\x1b"):
            keys.append(Key("escape"))
            return 1
        sequence = _SEQUENCE.match(held)
        if sequence:
            if sequence[0] in _ARROWS:
                keys.append(Key(_ARROWS[sequence[0]]))
            return sequence.end()
        return 0 if _BEGUN.fullmatch(held) else 1

    def _typed(self, keys: list[Key]) -> int:
        end = re.search(rb"[\x00-\x1f\x7f]", self._held)
        if end and end.start() == 0:
            name = _CONTROLS.get(chr(self._held[0]))
            if name:
                keys.append(Key(name))
            return 1
        data = self._held[: end.start()] if end else self._held
        text = data.decode("utf-8", "ignore")
        if not end and not text and len(data) < 4:
            return 0
        used = len(text.encode())
        if text:
            keys.append(Key("text", text))
        whole = end is not None or len(data) - used >= 4 or used == len(data)
        return len(data) if whole else used


def pasted(data: bytes) -> str:
    """Cleans a paste: line ends are newlines, tabs stay, other control characters go."""
    text = data.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    return _CONTROL_CHARACTERS.sub("", text)
