"""What a step's last message says: its result, its report, and whether it is done."""

from __future__ import annotations

import re
from collections.abc import Collection

from windlass.core.pipeline.steps import GIVEN

_RESULT = re.compile(r"<result>\s*([A-Za-z]+)\s*</result>")
_REPORT = re.compile(r"<report>(.*?)</report>", re.DOTALL)
_DONE, _CLAIM = "DONE", "I HAVE COMPLETED THE GOAL"


def result(said: str, allowed: Collection[str] = GIVEN) -> str:
    """The last result that a message gives, if a step of this role may give it; else nothing."""
    last = last_word(said)
    return last if last in GIVEN and last in allowed else ""


def last_word(said: str) -> str:
    """The last word that a message gives as its result, whatever it is; else nothing."""
    found = _RESULT.findall(said)
    return found[-1].upper() if found else ""


def report(said: str) -> str:
    """What is between the last pair of report marks; without one the message without its result."""
    found = _REPORT.findall(said)
    return (found[-1] if found else _RESULT.sub("", said)).strip()


def is_done(said: str) -> bool:
    """Whether the last line of a message says that nothing is left to do."""
    lines = said.strip().splitlines()
    return bool(lines) and (lines[-1].strip() == _DONE or lines[-1].strip().endswith(_CLAIM))
