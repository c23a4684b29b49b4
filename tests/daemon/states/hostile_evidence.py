"""What an agent can make of the files that tell about it: lines of any kind, and no files at all.

Everything comes from dice: the same seed makes the same evidence. What real programs write is where
it begins, because a line that makes no sense at all is passed over at once.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from windlass.core.events.hooks import HOOKS
from windlass.daemon.kernel import line_reader
from windlass.daemon.states import evidence

NUMBERS = (
    *(-1, 0, 1, 1e308, -1e308, 5e-324, 10**18, 10**19, -(10**19), 2**63, 2**63 - 1, 1_790_000_000),
    *(0.1, 10**30, 10**300, 10**400),
    *(253402300800, 32503680000, 32503680001, -62135596801, True, False),
)
WORDS = (
    *("", " ", "x", "\0", "\x1b]52;c;eA==\x07", "nan", "inf", "-1", "..", "/etc/passwd", "\u202e"),
    *("I HAVE COMPLETED THE GOAL", "WAITING", "<synthetic>", "claude-opus-4-8", "rate_limit"),
    *("9999-12-31T23:59:59Z", "0001-01-01T00:00:00+23:59", "2026-13-45T99:99:99Z", "{text}", "%s"),
    *("\U0001f512" * 300, "e\u0301" * 500, "a" * 5000, "a" * 200_000, "\n" * 3000),
    *(run * (60_000 // len(run)) for run in ("[", "(", "<", "[sent by agent ", "claude-", "1m]")),
    "a" + "\u0300\u0316" * 30_000,
)
RAW = (
    *(b"NaN", b"Infinity", b"-Infinity", b"1e999", b"-1e999", b"0" * 500, b"1" * 5000, b"01"),
    *(b'"\\ud800"', b'"\\udfff\\ud800"', b'"\xff\xfe"', b'"\xed\xa0\x80"', b"undefined", b"'x'"),
    *(b"[" * 100_000, b'{"a":' * 50_000, b"[" * 900 + b"]" * 900, b'{"a":1,"a":2}', b'"\\u0000"'),
)
"""JSON that is none, or that programs disagree about."""
_MARK = "\u25b2"
"""Stands in a record for something of `RAW`."""


class Names:
    """Who is there to be spoken of: what a hostile agent may know of others."""

    def __init__(self, *, own: str, others: tuple[str, ...], messages: tuple[str, ...]) -> None:
        self.own = own
        self.others = others
        self.messages = messages


def value(dice: random.Random, names: Names, depth: int = 0) -> Any:
    """Anything that JSON can hold, or a mark for what it cannot."""
    match dice.randrange(9 if depth < 3 else 6):
        case 0:
            return None
        case 1:
            return dice.choice(NUMBERS)
        case 2:
            return dice.choice(WORDS)
        case 3:
            return dice.choice((*names.others, names.own, *names.messages, "agent-x"))
        case 4:
            return _MARK
        case 5:
            return dice.choice(([], {}, "0", dice.random()))
        case 6:
            return [value(dice, names, depth + 1) for _ in range(dice.randrange(4))]
        case 7:
            return [dice.choice(WORDS[:8])] * dice.choice((1, 50, 2000))
        case _:
            keys = dice.sample(("type", "usage", "message", "id", "x", "", "hook_event_name"), 3)
            return {key: value(dice, names, depth + 1) for key in keys}


def answer(dice: random.Random, names: Names) -> Any:
    """A line of a conversation in which a model answers, and says what that took."""
    tokens = dice.choice((1, 1000, 10**6, 10**9, 10**15, -5, 1e18))
    usage = {"input_tokens": tokens, "output_tokens": dice.choice((1, tokens))}
    message = {
        "id": dice.choice(("same", f"m{dice.randrange(10**6)}")),
        "model": dice.choice(("claude-opus-4-8", f"model-{dice.randrange(10**6)}", *WORDS[-9:])),
        "usage": usage,
        "content": [{"type": "text", "text": dice.choice(WORDS)}],
    }
    stamp = dice.choice(("2026-09-21T15:33:20Z", *WORDS[16:19]))
    said = {"type": "assistant", "timestamp": stamp, "message": message, "uuid": names.own}
    return {**said, "isSidechain": dice.random() < 0.1}


def told(dice: random.Random, names: Names) -> Any:
    """A line of a conversation in which the model is told something: mail has arrived, it says."""
    text = " ".join(f"[{name}] message {name}" for name in names.messages)
    blocks = [
        {"type": "text", "text": text},
        {"type": "tool_result", "tool_use_id": dice.choice(names.messages), "content": text},
    ]
    content = dice.choice((text, blocks, [text]))
    if dice.random() < 0.3:
        return {"type": "attachment", "attachment": {"type": "queued_command", "prompt": content}}
    return {"type": "user", "message": {"role": "user", "content": content}}


def result(dice: random.Random, names: Names) -> Any:
    """The line that ends a headless turn."""
    models = [f"m{dice.randrange(10**6)}" for _ in range(dice.choice((0, 1, 3, 40)))]
    models += [dice.choice(WORDS)] * dice.choice((0, 0, 1))
    used = {
        "inputTokens": dice.choice((10, 10**12, 10**20, -1)),
        "outputTokens": 5,
        "costUSD": dice.choice((0.5, 10**5, 10**9, -3)),
    }
    return {
        "type": "result",
        "subtype": dice.choice(("success", "error_max_turns", "error_during_execution")),
        "is_error": dice.choice((True, False, "no")),
        "result": dice.choice(WORDS),
        "num_turns": dice.choice((1, 10**12)),
        "total_cost_usd": dice.choice((0.5, 10**5, 10**300)),
        "modelUsage": dict.fromkeys(models, used),
        "session_id": dice.choice(names.others),
    }


def request(dice: random.Random, names: Names) -> Any:
    """A headless session that asks for permission."""
    asked = {
        "subtype": "can_use_tool",
        "tool_name": dice.choice(("Bash", "Write", "AskUserQuestion", *WORDS)),
        "input": {"command": dice.choice(("ls", "a; " * 3000, *WORDS)), "file_path": names.own},
    }
    return {"type": "control_request", "request_id": dice.choice(names.others), "request": asked}


def printed(dice: random.Random, names: Names) -> Any:
    """Another line of headless output."""
    retry = {"type": "system", "subtype": "api_retry", "error_status": 429, "retry_delay_ms": 10**9}
    begins = {"type": "system", "subtype": "init", "session_id": dice.choice(names.others)}
    return dice.choice((retry, begins, answer(dice, names)))


def hook(dice: random.Random, names: Names) -> Any:
    """A line of hook events, as the receiver of a session writes it."""
    other = f"{dice.randrange(16**8):08x}-0000-4000-8000-00000000dead"
    event = {
        "hook_event_name": dice.choice((*HOOKS, dice.choice(WORDS))),
        "session_id": dice.choice((other, "x")),
        "tool_name": dice.choice(("Bash", *WORDS)),
        "tool_input": {"command": dice.choice(WORDS)},
        "source": dice.choice(("startup", "resume", "clear", "compact", "x")),
        "last_assistant_message": dice.choice(WORDS),
        "background_tasks": [{"status": "running", "description": dice.choice(WORDS)}] * 3,
        "notification_type": "permission_prompt",
        "message": dice.choice(WORDS),
        "trigger": dice.choice(("manual", "auto")),
        "agent_id": dice.choice(names.others),
    }
    return {"at": dice.choice((1_790_000_000.0, 0, 32503680000, *NUMBERS)), "event": event}


def denial(dice: random.Random, names: Names) -> Any:
    """A line of hook events that tells of a dialog which was denied: it becomes a question."""
    questions = [{"question": dice.choice(WORDS), "options": [{"label": "x"}] * 5}] * 3
    asked = {"tool_name": "AskUserQuestion", "tool_input": {"questions": questions}, "cwd": "/"}
    said = {"hookEventName": "PreToolUse", "permissionDecisionReason": dice.choice(WORDS)}
    event = {
        "hook_event_name": "PolicyDecision",
        "by": dice.choice(names.others),
        "asked": asked,
        "answered": {"hookSpecificOutput": said},
    }
    return {"at": 1_790_000_000.0, "event": event}


def status(dice: random.Random, names: Names) -> Any:
    """The status file of a live session."""
    return {
        "status": dice.choice(("idle", "busy", "waiting", "shell", names.own)),
        "statusUpdatedAt": dice.choice((1_790_000_000_000, *NUMBERS)),
        "waitingFor": dice.choice(WORDS[:20]),
        "sessionId": dice.choice(names.others),
    }


Make = Callable[[random.Random, Names], Any]


def spoil(dice: random.Random, names: Names, record: Any) -> Any:
    """Exchanges, leaves out or doubles something of a record, at any depth."""
    if not isinstance(record, dict | list) or not record or dice.random() < 0.2:
        return value(dice, names)
    if isinstance(record, list):
        place = dice.randrange(len(record))
        return [*record[:place], spoil(dice, names, record[place]), *record[place:]]
    key = dice.choice(sorted(record))
    if dice.random() < 0.2:
        return {name: held for name, held in record.items() if name != key}
    return {**record, key: spoil(dice, names, record[key])}


def written(dice: random.Random, record: Any) -> bytes:
    """A record as a line; what JSON cannot say is put where its mark is."""
    line = json.dumps(record, ensure_ascii=dice.random() < 0.5).encode(errors="surrogatepass")
    mark = json.dumps(_MARK).encode(), json.dumps(_MARK, ensure_ascii=False).encode()
    for each in mark:
        line = line.replace(each, dice.choice(RAW))
    match dice.randrange(12):
        case 0:
            line = line[: dice.randrange(len(line) + 1)]
        case 1 if line:
            at = dice.randrange(len(line))
            line = line[:at] + dice.randbytes(3) + line[at:]
        case 2:
            line = dice.choice((b"", b" ", b"\r", b"null", b"[]", b"0", line + line))
    return line


def lines(dice: random.Random, names: Names, *kinds: Make) -> bytes:
    """Some lines of these kinds: as they should be, spoiled, or over and over again."""
    made = []
    for _ in range(dice.choice((1, 5, 20))):
        record = dice.choice(kinds)(dice, names)
        for _ in range(dice.choice((0, 0, 1, 3))):
            record = spoil(dice, names, record)
        made.append(written(dice, record))
        if dice.random() < 0.05:
            made += made[-1:] * dice.choice((2, 100))
    return b"\n".join(made) + dice.choice((b"\n", b"\n", b"", b"\n\n\n"))


def flood(dice: random.Random) -> bytes:
    """Much that says nothing: a line without end, or as many as there is room for."""
    much = dice.choice((100_000, line_reader.LONGEST_LINE + 10))
    return dice.choice((b"\n", b"x", b"\0", b"{}\n", b'{"usage"\n')) * (much // 2) + b"\n"


def exchange(dice: random.Random, path: Path, *, outside: Path) -> None:
    """Puts something in the place of a file that no program of ours would."""
    with suppress(FileNotFoundError):
        path.unlink()
    match dice.randrange(8):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to(outside)
        case 3:
            path.symlink_to(dice.choice(("/dev/zero", "/proc/self/mem", path.name, "..")))
        case 4:
            path.touch()
            os.truncate(path, dice.choice((1 << 20, 300 << 20, evidence.LARGEST + 1)))
        case 5:
            _bind(path)
        case 6:
            _link_above(path, outside)
        case _:
            path.write_bytes(b"\0" * dice.choice((0, 1, 1 << 17)))
            path.chmod(0)


def _bind(path: Path) -> None:
    """Leaves a socket; its path may be too long for one."""
    with socket.socket(socket.AF_UNIX) as made, suppress(OSError):
        made.bind(str(path))


def _link_above(path: Path, outside: Path) -> None:
    """Has the folder of a file be a link to another one, in which there is such a file."""
    away = outside.with_name(f"away-{path.parent.name}")
    if away.exists() or path.parent.is_symlink():
        return
    path.parent.rename(away)
    path.parent.symlink_to(away)
    (away / path.name).symlink_to(outside)
