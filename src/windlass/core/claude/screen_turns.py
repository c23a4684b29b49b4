"""How the last turn ended, on a screen whose program is idle. Pure.

The last block of the conversation decides, and only if it is the agent's own words can it say
that the goal is reached: prompts, tools' output and what stands further up are never asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from windlass.core.claude.screen_layout import BULLETS, POINTERS, Block, Found, Layout
from windlass.core.reasons import Reason, sentence
from windlass.core.states import State, from_last_message

_LIMIT = re.compile(
    r"you['\u2019]ve (?:hit|reached) your\b.{0,60}\blimit\b|you['\u2019]re out of (?:extra )?usage"
    r"|your org is out of usage|(?:claude (?:ai )?|your )?"
    r"(?:usage|\d+-hour|session|weekly|(?:opus|sonnet)(?: weekly)?) limit"
    r"(?: has been| was| is)? reached\b|limit reached\s*[·∙•.|]?\s*resets?\b",
    re.IGNORECASE,
)
_USED = re.compile(r"you['\u2019]ve used \d{1,3}% of your\b", re.IGNORECASE)
_LIMITED = re.compile(r"\b429\b|rate.?limit", re.IGNORECASE)
_REFUSED = re.compile(
    r"(?:(?:http|error|status|api)\b[\w :/.]{0,12}[ (:])?429\b"
    r"|request failed with status code 429\b|rate[ _]limit(?:[ _]error| (?:reached|exceeded))\b",
    re.IGNORECASE,
)
"""What older versions say of a request that was refused, without calling it an API error."""
_FAILURES = (
    (
        "login-needed",
        (
            r"not logged in|invalid api key|oauth token|(?:.{0,200}[·.] ?)?please run /login"
            r"|failed to authenticate|authentication.error|api error:? \(?401\b"
        ),
    ),
    (
        "context-exhausted",
        r"(?:api error: )?(?:context limit reached|(?:prompt|input) is too long)",
    ),
    ("api-error", r"api error\b|credit balance (?:is )?too low|request timed out"),
)
_BROKEN_OFF = (
    ("interrupted", r"interrupted\b|\[request interrupted by user"),
    ("rejected", r"user rejected|(?:no \()?tool use rejected"),
)
_CONTEXT_LOW = re.compile(r"context low \(\d+%[^)]{0,30}\)|context limit reached", re.IGNORECASE)
_STILL = re.compile(
    r"(?:^|[\s·])(\d+ (?:[a-z]+ )?(?:shells?|bash(?:es)?|tasks?|agents?|monitors?))(?=$|[\s·,])"
)
_SPEAKING = BULLETS | POINTERS | frozenset("\u203a_\N{REPLACEMENT CHARACTER}")
FINISHED = re.compile(r"[^\W\d_]+ for \d.*")
_ASIDE = re.compile(r"ran \d+ .{0,80}hooks?\b|how is claude doing", re.IGNORECASE)


def last_said(seen: Layout) -> Block | None:
    """The block that says how the last turn ended; None where there was none."""
    for block in seen.blocks():
        if "\u2500" <= block.mark <= "\u259f":  # the banner is drawn with these
            return None
        spoken = not block.mark or block.mark in _SPEAKING
        if spoken and not _ASIDE.match(block.first):
            return block
    return None


def blocks_since_prompt(seen: Layout) -> Iterator[Block]:
    """What came after the last prompt, from the bottom."""
    for block in seen.blocks():
        if block.mark and block.mark in POINTERS and block.first:
            return
        yield block


def is_message(block: Block) -> bool:
    """Whether a block is the agent's own words."""
    if block.is_tool or block.mark in POINTERS | {"\u203a"}:
        return False
    return bool(block.mark) or not block.words[-1:] or not block.words[-1].startswith("   ")


def hidden(seen: Layout) -> Found | None:
    """The transcript is shown instead of the prompt: it tells of dialogs, not of a turn."""
    if not seen.transcript:
        return None
    if "dialog waiting" in seen.footer:
        return State.ASKING, "dialog-behind", seen.footer
    blocks = seen.blocks()
    if blocks and FINISHED.fullmatch(blocks[0].first) and blocks[0].mark not in _SPEAKING:
        return None
    return State.UNKNOWN, "transcript-view", seen.footer


def limited(seen: Layout) -> Found | None:
    """A subscription's limit is reached; a notice below the prompt says so too."""
    for said in (*_reports(seen), *_segments(seen)):
        if _LIMIT.match(said):
            return State.RATE_LIMITED, "usage-limit", _with_reset(seen, said)
    return None


def usage_window(seen: Layout) -> str:
    """What a notice below the prompt says of how much of a limit is used; nothing if none does."""
    return next((said for said in _segments(seen) if _USED.match(said)), "")


def last_limit(seen: Layout) -> str:
    """The last line on a screen that tells of a limit, for a dialog that does not name it."""
    lines = (line.strip("●⏺⎿\N{NO-BREAK SPACE} ") for line in reversed(seen.lines))
    return next((line for line in lines if _LIMIT.match(line)), "")


def refused(seen: Layout) -> Found | None:
    """The program's last word is that a request was refused with a 429.

    Only where it stands as an outcome, or alone: an agent may speak of such errors itself.
    """
    block = last_said(seen)
    if block is None:
        return None
    alone = [block.first] if not block.mark or _is_api_error(block) else []
    for said in (*alone, *(() if block.is_tool and block.mark in BULLETS else _outcomes(block))):
        if _REFUSED.match(said):
            return State.RATE_LIMITED, "api-limited", said
    return None


def _is_api_error(block: Block) -> bool:
    """Whether a bullet tells of an error; behind it in brackets it looks like a tool's call."""
    return block.mark in BULLETS and block.first.lower().startswith("api error (")


def _with_reset(seen: Layout, said: str) -> str:
    """What was said of a limit, with the lines below it: a narrow terminal breaks it."""
    block = last_said(seen)
    lines = [line.strip("⎿\N{NO-BREAK SPACE} ") for line in (block.words if block else ())]
    if said not in lines:
        return said
    at = lines.index(said)
    return " ".join(line for line in lines[at : at + 3] if line and not line.startswith("/"))


def failed(seen: Layout) -> Found | None:
    """The last turn ended without an answer: whatever was said before, nothing is done."""
    for said in _reports(seen):
        for rule, sign in _FAILURES:
            if re.match(sign, said, re.IGNORECASE):
                if rule == "api-error" and _LIMITED.search(said):
                    return State.RATE_LIMITED, "api-limited", said
                return State.WAITING, rule, said
    return None


def broken_off(seen: Layout) -> Found | None:
    """A person stopped the turn or refused a tool."""
    block = last_said(seen) if seen.settled else None
    if block is None:
        return None
    for said in _outcomes(block):
        for rule, sign in _BROKEN_OFF:
            if re.match(sign, said, re.IGNORECASE):
                return State.WAITING, rule, said
    return None


def spoken(seen: Layout) -> Found | None:
    """What the agent's last words mean; a prompt that waits with neither phrase is idle."""
    if not seen.settled:
        return None
    block = last_said(seen)
    state, reason = State.WAITING, Reason(kind="idle")
    if block is not None and is_message(block):
        state, reason = meaning(block.words)
    phrase = sentence(reason)
    if block is None and not _is_fresh(seen):
        phrase = "idle, its last message is not on the screen"
    low = _CONTEXT_LOW.search(" ".join((*seen.above[-3:], seen.footer)))
    notes = "".join(f"; {note}" for note in (_running_still(seen), low[0] if low else "") if note)
    if state is State.COMPLETE:
        return state, "says-complete", phrase + notes
    if reason.kind == "claimed_waiting":
        return state, "says-waiting", phrase + notes
    return state, "context-low" if low else "idle", phrase + notes


def _is_fresh(seen: Layout) -> bool:
    """Whether nothing was said yet: there is only the banner, or nothing, above the prompt."""
    return not any(seen.above) or any("\u2500" <= block.mark <= "\u259f" for block in seen.blocks())


def meaning(words: Sequence[str]) -> tuple[State, Reason]:
    """Reads a message as its hook would, however narrow the terminal that broke its lines."""
    paragraph = [line.strip() for line in _last_paragraph(words)]
    claim = from_last_message("\n".join(words))
    for joined in (" ".join(paragraph), "".join(paragraph)):
        if claim[1].kind == "idle":
            claim = from_last_message(joined)
    return claim


def _last_paragraph(words: Sequence[str]) -> list[str]:
    taken: list[str] = []
    for line in reversed(words):
        if not line.strip():
            break
        taken.append(line)
    return taken[::-1]


def _reports(seen: Layout) -> Iterator[str]:
    """What the program itself may have said last: a bullet's words, or an outcome on its own."""
    block = last_said(seen)
    if block is None:
        return
    if block.mark not in POINTERS and not block.is_tool:
        yield block.first
    if block.mark in POINTERS or not block.is_tool:
        yield from _outcomes(block)


def _outcomes(block: Block) -> list[str]:
    """What stands behind the hooks of a block; behind words only if nothing was said after it."""
    lines = list(block.words)
    hooks = [number for number, line in enumerate(lines) if line.startswith("⎿")]
    if (
        hooks
        and is_message(block)
        and any(line[:1] not in ("", " ") for line in lines[hooks[-1] + 1 :])
    ):
        return []
    return [lines[number].removeprefix("⎿").strip() for number in hooks]


def _segments(seen: Layout) -> list[str]:
    return [part.strip() for line in seen.below[:4] for part in re.split(r"\s{3,}", line)]


def _running_still(seen: Layout) -> str:
    still = _STILL.search(seen.footer)
    return f"{still[1]} still running" if still else ""
