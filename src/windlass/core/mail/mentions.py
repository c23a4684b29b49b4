"""What agents write and an agent CLI would take for more than text: files named, commands given.

Pure. Claude Code puts what a file holds into the conversation whose path follows an `@`, and takes
a prompt that begins with `/` for a command. No policy is asked about either, however the text came:
as a prompt, by typing, or from a hook that woke the session (measured).
"""

from __future__ import annotations

import re

MENTION = re.compile(r"(?<!\w)@(?![ \t\r\n]|\Z)")
"""Wider than any CLI reads it: not after a letter or digit, as in an address of mail."""
_COMMAND = re.compile(r"\W*?[/!#]")
"""What a CLI takes for blanks before it is not what Python does."""


def unmentioned(text: str) -> str:
    """A text that names no file to be read along: a blank stands after the sign."""
    return MENTION.sub("@ ", text)


def as_prompt(text: str) -> str:
    """The same for a text that is the whole prompt: it is no command either."""
    lead = "Goal: " if _COMMAND.match(text) else ""
    return lead + unmentioned(text)
