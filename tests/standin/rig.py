"""Runs the real stand-in in temporary folders: over pipes, or in a terminal of its own."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Any

ARGV = [sys.executable, "-I", "-m", "windlass.standin"]
SESSION = "11111111-2222-4333-8444-555555555555"
DEADLINE = 20.0
POINTER = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"
EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "PreCompact",
    "PostCompact",
    "SessionEnd",
)
HOOK = r"""#!/bin/sh
# Records its input, then answers as the files say: NAME.once, NAME.out, or NAME.err with exit 2.
D=$(dirname "$0")
{ cat; echo; } >> "$D/events"
if [ -f "$D/kill_at" ] && [ "$(wc -l < "$D/events")" -eq "$(cat "$D/kill_at")" ]; then
  rm "$D/kill_at"
  kill -9 $PPID
fi
if [ -f "$D/$1.once" ]; then cat "$D/$1.once"; rm "$D/$1.once"; exit 0; fi
if [ -f "$D/$1.out" ]; then cat "$D/$1.out"; fi
if [ -f "$D/$1.err" ]; then cat "$D/$1.err" >&2; exit 2; fi
exit 0
"""
_ESCAPES = re.compile(r"\x1b\][^\x07]*\x07|\x1b\[[0-?]*[ -/]*[@-~]")


def text(words: str) -> dict[str, Any]:
    return {"text": words}


def bash(command: str, **more: Any) -> dict[str, Any]:
    return {"tool": "Bash", "input": {"command": command, **more}}


def write(path: str, content: str) -> dict[str, Any]:
    return {"tool": "Write", "input": {"file_path": path, "content": content}}


AWAIT = {"await": "message"}


class Rig:
    """A workspace, a configuration folder and a hook that records."""

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "work"
        self.config = folder / "config"
        self.hooks = folder / "hooks"
        self.workspace.mkdir()
        self.hooks.mkdir()
        hook = self.hooks / "hook"
        hook.write_text(HOOK)
        hook.chmod(0o755)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "CLAUDE_CONFIG_DIR": str(self.config),
        }
        self.settings: dict[str, Any] = {
            "hooks": {
                event: [{"hooks": [{"type": "command", "command": f"exec {hook} {event}"}]}]
                for event in EVENTS
            }
        }
        self._scripts = folder / "scripts"
        self._scripts.mkdir()

    def script(self, turns: Sequence[Any], on: Sequence[Any] = ()) -> str:
        """Writes a script and returns its path."""
        path = self._scripts / "script.json"
        path.write_text(json.dumps({"turns": turns, "on": on}))
        return str(path)

    def answer(self, event: str, reply: object, *, once: bool = False) -> None:
        """Makes the hook of an event answer with JSON."""
        (self.hooks / f"{event}.{'once' if once else 'out'}").write_text(json.dumps(reply))

    def refuse(self, event: str, reason: str) -> None:
        """Makes the hook of an event exit with 2."""
        (self.hooks / f"{event}.err").write_text(reason)

    def events(self) -> list[dict[str, Any]]:
        """Returns the inputs that the hooks got, in order."""
        path = self.hooks / "events"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line]

    def event_names(self) -> list[str]:
        """Returns which events fired, in order."""
        return [event["hook_event_name"] for event in self.events()]

    def event(self, name: str) -> dict[str, Any]:
        """Returns the first input of an event."""
        return next(event for event in self.events() if event["hook_event_name"] == name)

    def transcript(self) -> Path:
        """Returns where the conversation is kept."""
        slug = re.sub(r"[^A-Za-z0-9]", "-", str(self.workspace.resolve()))
        return self.config / "projects" / slug / f"{SESSION}.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        """Returns the conversation."""
        return [json.loads(line) for line in self.transcript().read_text().splitlines()]

    def argv(self, *args: str) -> list[str]:
        """Returns the whole command line."""
        named = [] if {"--session-id", "--resume"} & {*args} else ["--session-id", SESSION]
        return [*ARGV, "--settings", json.dumps(self.settings), *named, *args]

    def run(self, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """Runs a session to its end."""
        return subprocess.run(
            self.argv(*args),
            cwd=self.workspace,
            env=self.env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )

    def stream(self, *args: str, stdin: str = "") -> tuple[int, list[dict[str, Any]]]:
        """Runs with JSON lines out and returns the exit code and the lines."""
        done = self.run("-p", "--output-format", "stream-json", "--verbose", *args, stdin=stdin)
        return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


class Pipes:
    """A headless session that takes messages."""

    def __init__(self, rig: Rig, *args: str) -> None:
        formats = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        self.process = subprocess.Popen(
            rig.argv("-p", *formats, *args),
            cwd=rig.workspace,
            env=rig.env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.lines: list[dict[str, Any]] = []
        self._held = b""

    def send(self, line: dict[str, Any]) -> None:
        """Sends one line."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(line).encode() + b"\n")
        self.process.stdin.flush()

    def say(self, words: str) -> None:
        """Sends a message."""
        content = [{"type": "text", "text": words}]
        self.send({"type": "user", "message": {"role": "user", "content": content}})

    def expect(self, **wanted: Any) -> dict[str, Any]:
        """Reads on until a line has these fields."""
        end = monotonic() + DEADLINE
        while monotonic() < end:
            line = self._next(end)
            self.lines.append(line)
            if all(line.get(key) == value for key, value in wanted.items()):
                return line
        raise AssertionError(f"no line with {wanted} among {self.lines}")

    def close(self) -> int:
        """Closes the input, reads the rest, and returns the exit code."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        for raw in (self._held + self.process.stdout.read()).splitlines():
            self.lines.append(json.loads(raw))
        self.process.stdout.close()
        return self.process.wait(DEADLINE)

    def _next(self, end: float) -> dict[str, Any]:
        assert self.process.stdout
        while b"\n" not in self._held:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, end - monotonic()))
            data = os.read(self.process.stdout.fileno(), 65536) if ready else b""
            if not data:
                raise AssertionError(f"nothing more to read after {self.lines}")
            self._held += data
        raw, _, self._held = self._held.partition(b"\n")
        line: dict[str, Any] = json.loads(raw)
        return line


class Terminal:
    """A live session in a pseudo-terminal."""

    def __init__(self, rig: Rig, *args: str, columns: int = 100, lines: int = 30) -> None:
        argv = rig.argv(*args)
        self.pid, self._fd = pty.fork()
        if self.pid == 0:  # pragma: no cover - the child becomes another program
            try:
                os.chdir(rig.workspace)
                fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
                os.execve(argv[0], argv, rig.env)  # noqa: S606 - no shell is the point
            finally:
                os._exit(127)
        self._raw = ""
        self._mark = 0
        self.code: int | None = None

    def type(self, keys: str) -> None:
        """Presses keys."""
        os.write(self._fd, keys.encode())

    def say(self, words: str) -> None:
        """Types a message and Enter."""
        self.type(f"{words}\r")

    def paste(self, words: str) -> None:
        """Pastes as a terminal does."""
        self.type(f"\x1b[200~{words}\x1b[201~")

    def resize(self, columns: int, lines: int) -> None:
        """Changes the size of the terminal."""
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def signal(self, number: int) -> None:
        """Sends a signal."""
        os.kill(self.pid, number)

    def expect(self, words: str) -> str:
        """Reads on until these words were drawn after what was last expected."""
        end = monotonic() + DEADLINE
        while True:
            plain = _ESCAPES.sub("", self._raw).replace("\xa0", " ")
            found = plain.find(words, self._mark)
            if found >= 0:
                self._mark = found + len(words)
                return plain
            if not self._read(end):
                tail = plain[self._mark :][-1500:]
                raise AssertionError(f"{words!r} was not drawn; since the last find:\n{tail}")

    def expect_idle(self) -> None:
        """Waits until the bottom of the screen says that the session waits for a message."""
        self.expect("? for shortcuts")

    def block(self) -> str:
        """Returns what stands at the bottom of the screen: the last thing drawn."""
        return _ESCAPES.sub("", re.split(r"\x1b\[J|\x1b\[2J", self._raw)[-1]).replace("\xa0", " ")

    def drawn(self) -> str:
        """Returns everything drawn so far, without escapes."""
        return _ESCAPES.sub("", self._raw)

    def wait(self) -> int:
        """Waits for the exit; returns the code, negative for a signal."""
        end = monotonic() + DEADLINE
        while self._read(end):
            pass
        if self.code is None:
            _, status = os.waitpid(self.pid, 0)
            self.code = os.waitstatus_to_exitcode(status)
            os.close(self._fd)
        return self.code

    def hang_up(self) -> int:
        """Takes the terminal away and waits for the exit."""
        os.close(self._fd)
        _, status = os.waitpid(self.pid, 0)
        self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def end(self) -> None:
        """Kills what is left."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            self.wait()

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0, end - monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            return False
        self._raw += data.decode("utf-8", "replace")
        return bool(data)
