"""The conversation in a terminal: a prompt, what was said above it, and the state below it."""

from __future__ import annotations

import os
import signal
import sys
import termios
from time import monotonic
from types import TracebackType
from typing import Any

from windlass import __version__
from windlass.core.script.format import ApiError
from windlass.standin import layout
from windlass.standin.compaction import compact, is_command
from windlass.standin.conversation import Conversation
from windlass.standin.draft import Draft
from windlass.standin.face import Answer, Ended, Hooked, HookedCall, Interrupted, Turn, UserMessage
from windlass.standin.files import ToolResult
from windlass.standin.keys import Decoder, Key
from windlass.standin.loop import LoopTimer
from windlass.standin.player import play_turn
from windlass.standin.screen import Screen, width
from windlass.standin.status import StatusFile

ESCAPE_DELAY = 0.05
PERMISSION_NOTICE = 6.0
EXIT_WORDS = frozenset({"/exit", "/quit", "exit", "quit"})
PAST = 12


class Live:
    """A person's view of a session, and their hands."""

    live = True

    def __init__(self, talk: Conversation, status: StatusFile, *, idle_notice: float) -> None:
        self._talk = talk
        self._status = status
        self._idle_notice = idle_notice
        self._fd = sys.stdin.fileno()
        self._screen = Screen(sys.stdout.fileno())
        self._keys = Decoder()
        self._draft = Draft()
        self._before: list[Any] | None = None
        self._escape: LoopTimer | None = None
        self._busy_since: float | None = None
        self._verb = layout.WORKING
        self._prompt: UserMessage | None = None
        self._doing: list[str] = []
        self._hint = ""
        self._question: HookedCall | None = None
        self._selected = 1
        self._answer: Answer | None = None

    def __enter__(self) -> None:
        self._before = termios.tcgetattr(self._fd)
        raw = termios.tcgetattr(self._fd)
        raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IXON | termios.ISTRIP)
        raw[1] &= ~termios.OPOST
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(self._fd, termios.TCSANOW, raw)
        self._screen.write("\x1b[?2004h")
        self._screen.say(layout.banner(__version__, str(self._talk.cwd), self._screen.columns), "")
        loop = self._talk.loop
        loop.on_readable(self._fd, self._read)
        loop.on_signal(signal.SIGWINCH, self._resized)
        loop.on_signal(signal.SIGINT, self._leave)  # a key is another thing: it comes as a byte
        self._show_past()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._status.remove()
        self._talk.loop.forget(self._fd)
        self._screen.leave()
        said = f"Resume this session with:\r\n--resume {self._talk.session}\r\n"
        self._screen.write(f"\x1b[?2004l{said if self._talk.cursor.begun else ''}")
        if self._before is not None and not self._screen.gone:
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._before)

    def run(self, prompt: str | None, *, goes_on: bool) -> int:
        """Takes messages until the person leaves."""
        self._draw()
        if prompt:
            self._talk.inbox.append(UserMessage(prompt))
        elif goes_on:
            self._turn(None)
        while True:
            self._await_message()
            self._turn(self._talk.inbox.popleft())

    def begun(self, prompt: UserMessage) -> None:
        """Shows a message that starts a turn."""
        self._prompt = prompt
        self._show_message(prompt)

    def slipped_in(self, message: UserMessage) -> None:
        """Shows a message taken in the middle of a turn."""
        self._show_message(message)

    def said(self, block: dict[str, Any], line: dict[str, Any]) -> None:
        """Shows a block of the model's reply."""
        del line
        self._prompt, self._doing = None, []
        if block["type"] == "text":
            self._screen.say(f"● {block['text']}\n")
        elif block["type"] == "thinking":
            self._screen.say("  Thought for 1s (ctrl+o to expand)\n")
        elif block["type"] == "tool_use":
            call = HookedCall(block["id"], block["name"], block["input"])
            title = layout.titled(call, str(self._talk.cwd))
            self._doing = [f"  {title}", "  ⎿  Running…"]
        self._draw()

    def acted(self, call: HookedCall, result: ToolResult, line: dict[str, Any]) -> None:
        """Shows what came of a tool call."""
        del line
        self._doing = []
        title = layout.titled(call, str(self._talk.cwd))
        self._screen.say(f"● {title}", "  ")
        self._screen.say(layout.outcome(call, result) + "\n", "     ")
        self._draw()

    def retrying(self, error: ApiError, attempt: int) -> None:
        """Shows that the model cannot be reached for a while."""
        wait = int(error.retry_after or 0)
        self._doing = [f"✻ API error · Retrying in {wait}s · attempt {attempt}/10"]
        self._draw()

    def noted(self, text: str) -> None:
        """Shows a remark."""
        self._screen.say(f"● {text}\n")

    def interjected(self, line: dict[str, Any]) -> None:
        """Shows nothing: what happened is on the screen already."""

    def ask(self, call: HookedCall, suggestions: list[dict[str, Any]], hooks: Hooked) -> Answer:
        """Opens the dialog, unless hooks answer, and waits for a key."""
        del suggestions
        hooked = hooks()
        if hooked:
            return hooked
        self._question, self._selected, self._answer = call, 1, None
        self._doing = [f"● {layout.titled(call, str(self._talk.cwd))}", "  ⎿  Waiting…", ""]
        self._draw()
        try:
            if not self._talk.loop.wait(lambda: self._answer is not None, PERMISSION_NOTICE):
                self._notify("permission_prompt", "needs your permission")
            self._talk.loop.wait(lambda: self._answer is not None)
        finally:
            self._question = None
            self._doing = [self._doing[0], "  ⎿  Running…"]
            self._draw()
        return self._answer or Answer(allowed=False, ends_turn=True)

    def finished(self, turn: Turn) -> None:
        """Shows that the turn is over."""
        self._doing = []
        if turn.interrupted:
            if self._prompt and self._prompt.origin == "prompt" and not self._draft.text:
                self._draft.type(self._prompt.shown or self._prompt.text)
            elif turn.terminal_reason == "aborted_streaming":
                self._screen.say(f"{layout.INTERRUPTED}\n")
        else:
            shells = len(self._talk.shell.tasks)
            still = f" · {shells} shell{'s' * (shells > 1)} still running" if shells else ""
            self._screen.say(f"✻ Worked for {turn.duration_ms // 1000}s{still}\n")
        self._prompt = None

    def _turn(self, message: UserMessage | None) -> None:
        self._busy_since = monotonic()
        self._draw()
        try:
            if message and is_command(message):
                self._compact(message)
            else:
                self.finished(play_turn(self._talk, message))
        finally:
            self._busy_since = None
        self._draw()

    def _compact(self, message: UserMessage) -> None:
        self._show_message(message)
        self._verb = layout.COMPACTING
        self._draw()
        try:
            done = compact(self._talk, message)
            said = "Compacted (ctrl+o to see full summary)"
            self._screen.say(f"  ⎿  {said if done else 'Not enough messages to compact.'}\n")
        except Interrupted:
            self._screen.say(f"{layout.INTERRUPTED}\n")
        finally:
            self._verb = layout.WORKING

    def _await_message(self) -> None:
        inbox = self._talk.inbox
        notice = self._idle_notice if self._talk.hooks.wants("Notification") else None
        if not self._talk.loop.wait(lambda: bool(inbox), notice):
            self._notify("idle_prompt", "is waiting for your input")
        self._talk.loop.wait(lambda: bool(inbox))

    def _notify(self, kind: str, words: str) -> None:
        self._talk.fire("Notification", message=f"{layout.NAME} {words}", notification_type=kind)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, 65536)
        except OSError:
            data = b""
        if not data:
            self._screen.gone = True
            raise Ended(129)
        if self._escape:
            self._escape.cancel()
        keys = self._keys.feed(data)
        if self._keys.escaping:
            self._escape = self._talk.loop.later(
                ESCAPE_DELAY, lambda: self._handle(self._keys.flush())
            )
        self._handle(keys)

    def _handle(self, keys: list[Key]) -> None:
        """Acts on keys; what ends a turn or the session is raised after the last of them."""
        stop: Exception | None = None
        for key in keys:
            try:
                if self._question:
                    self._decide(key)
                else:
                    self._press(key)
            except (Interrupted, Ended) as raised:
                stop = stop if isinstance(stop, Ended) else raised
        self._draw()
        if stop:
            raise stop

    def _decide(self, key: Key) -> None:
        choice = {"1": 1, "y": 1, "2": 2, "3": 3, "n": 3}.get(key.text[:1])
        if key.name == "enter":
            choice = self._selected
        elif key.name in {"escape", "ctrl-c"}:
            choice = 3
        elif key.name in {"up", "down"}:
            step = 1 if key.name == "down" else -1
            self._selected = (self._selected - 1 + step) % layout.CHOICES + 1
        if choice and self._answer is None:
            self._answer = Answer(choice != 3, always=choice == 2, ends_turn=choice == 3)

    def _press(self, key: Key) -> None:
        warned, self._hint = self._hint, ""
        match key.name:
            case "text":
                self._draft.type(key.text)
            case "paste":
                self._draft.paste(key.text)
            case "newline" | "backspace" | "ctrl-u" | "ctrl-w":
                self._draft.edit(key.name)
            case "ctrl-l":
                self._screen.redraw()
            case "enter":
                self._submit()
            case "up":
                self._edit_queued()
            case "escape":
                self._interrupt()
            case "ctrl-d":
                if not self._draft.text:
                    raise Ended(0, "prompt_input_exit")
            case "ctrl-c":
                self._cancel(warned)

    def _cancel(self, warned: str) -> None:
        self._interrupt()
        if self._draft.text:
            self._draft.clear()
        elif warned:
            raise Ended(0, "prompt_input_exit")
        self._hint = "Press Ctrl-C again to exit"

    def _interrupt(self) -> None:
        if self._busy_since is not None:
            raise Interrupted

    def _submit(self) -> None:
        message = self._draft.take()
        if message is None:
            return
        if message.text in EXIT_WORDS:
            raise Ended(0, "prompt_input_exit")
        self._talk.inbox.append(message)

    def _edit_queued(self) -> None:
        queued = [message for message in self._talk.inbox if message.origin == "prompt"]
        if self._busy_since is None or not queued or self._draft.text:
            return
        for message in queued:
            self._talk.inbox.remove(message)
        self._draft.type("\n".join(message.text for message in queued))

    def _leave(self) -> None:
        raise Ended(0)

    def _resized(self) -> None:
        self._screen.measure()
        self._draw()
        self._screen.redraw()

    def _show_message(self, message: UserMessage) -> None:
        if message.origin == "prompt":
            self._screen.say(f"{layout.POINTER} {message.shown or message.text}\n")
        else:
            self._screen.say(f"● {message.shown}\n")
        self._draw()

    def _show_past(self) -> None:
        for role, text in self._talk.past[-PAST:]:
            self._screen.say(f"{layout.POINTER if role == 'user' else '●'} {text}\n")

    def _draw(self) -> None:
        """Draws the block at the bottom: the state that a person sees."""
        columns, busy = self._screen.columns, self._busy_since is not None
        shells = len(self._talk.shell.tasks)
        if self._question:
            self._status.set("waiting", "permission prompt")
            self._screen.title(f"✳ {layout.NAME}")
            asked = layout.dialog(self._question, columns=columns, selected=self._selected)
            self._screen.show([*self._doing, *asked], (len(self._doing) + len(asked) - 1, 0))
            return
        self._status.set("busy" if busy else "shell" if shells else "idle")
        self._screen.title(f"{'⠂' if busy else '✳'} {layout.NAME}")
        above: list[str] = []
        queued = [message for message in self._talk.inbox if message.origin == "prompt"]
        if self._busy_since is not None:
            spent = int(monotonic() - self._busy_since)
            above = layout.working(spent, self._doing, self._verb)
            above += [f"  {layout.POINTER} {(m.shown or m.text).splitlines()[0]}" for m in queued]
        text = self._draft.text
        shown = text or ("Press up to edit queued messages" if queued and busy else "")
        box = layout.prompt_box(shown, columns=columns, most=max(1, self._screen.lines // 2 - 2))
        foot = layout.footer(self._talk.rules.mode, busy=busy, shells=shells, hint=self._hint)
        row = len(above) + len(box) - 2
        column = width(box[-2]) if text else 2
        self._screen.show([*above, *box, foot], (row, column))
