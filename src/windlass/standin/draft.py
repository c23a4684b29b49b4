"""The text in the prompt box while it is being written. Pure."""

from __future__ import annotations

import re

from windlass.standin.face import UserMessage

LONG_LINES = 3
LONG_CHARACTERS = 800


class Draft:
    """What was typed and pasted so far; a long paste is shown as a placeholder."""

    def __init__(self) -> None:
        self.text = ""
        self._pastes: dict[str, str] = {}
        self._count = 0

    def type(self, text: str) -> None:
        """Adds typed text."""
        self.text += text

    def paste(self, text: str) -> None:
        """Adds pasted text, in full or as a placeholder."""
        lines = text.count("\n")
        if lines < LONG_LINES and len(text) <= LONG_CHARACTERS:
            self.text += text
            return
        self._count += 1
        extra = f" +{lines} lines" if lines else ""
        placeholder = f"[Pasted text #{self._count}{extra}]"
        self._pastes[placeholder] = text
        self.text += placeholder

    def edit(self, key: str) -> None:
        """Acts on a key that changes the text."""
        if key == "newline":
            self.text += "\n"
        elif key == "backspace":
            self._backspace()
        elif key == "ctrl-w":
            self.text = re.sub(r"\S*\s*$", "", self.text)
        elif key == "ctrl-u":
            self.clear()

    def _backspace(self) -> None:
        for placeholder in self._pastes:
            if self.text.endswith(placeholder):
                self.text = self.text[: -len(placeholder)]
                return
        self.text = self.text[:-1]

    def clear(self) -> None:
        """Empties the box."""
        self.text = ""
        self._pastes.clear()

    def take(self) -> UserMessage | None:
        """Empties the box and returns what it meant; None if there was nothing but blanks."""
        shown, pastes = self.text, dict(self._pastes)
        self.clear()
        text = re.sub(
            r"\[Pasted text #\d+(?: \+\d+ lines)?\]",
            lambda match: pastes.get(match[0], match[0]),
            shown,
        )
        return UserMessage(text.strip(), shown=shown.strip()) if text.strip() else None
