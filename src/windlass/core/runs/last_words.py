"""What a step's last message says: its result, its report, and whether it is done."""

from __future__ import annotations

import re
from collections.abc import Collection

from windlass.core.pipeline.steps import GIVEN

_RESULT = re.compile(r"<result>\s*([A-Za-z]+)\s*</result>")
_BEGINS, _ENDS = "<report>", "</report>"
_LONGEST_REASON = 300
OUT_OF_TURNS = "It used up the turns of its session, and said nothing more."
"""What a run hears of a turn that was ended because of that."""
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
    found, at = None, 0
    # No pattern: one that is begun again at each mark reads a message without an end so many times.
    while (begin := said.find(_BEGINS, at)) >= 0 and (end := said.find(_ENDS, begin)) >= 0:
        found, at = said[begin + len(_BEGINS) : end], end + len(_ENDS)
    return (_RESULT.sub("", said) if found is None else found).strip()


def reason(said: str) -> str:
    """What the report of a step that ends its run begins with, to be put behind how it ended."""
    first = report(said).partition("\n")[0]
    return f": {first[:_LONGEST_REASON]}" if first else ""


def is_done(said: str) -> bool:
    """Whether the last line of a message says that nothing is left to do."""
    lines = said.strip().splitlines()
    return bool(lines) and (lines[-1].strip() == _DONE or lines[-1].strip().endswith(_CLAIM))


def decision(said: str) -> str:
    """The first word of a report, as somebody gives it who decides about a run; else nothing."""
    words = report(said).split(maxsplit=1)
    return words[0].strip("`*:.,").lower() if words else ""
