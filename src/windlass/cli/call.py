"""One call of a command: its arguments, where it prints, and how it asks the daemon."""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from windlass.api import calls, client
from windlass.cli import output
from windlass.core import texts
from windlass.core.errors import UserError
from windlass.core.ids import require_long


def take_yes(parser: ArgumentParser) -> None:
    """Takes that the question is answered already."""
    words = ("--yes", "-y", "--force", "-f")
    parser.add_argument(*words, dest="force", action="store_true", help="do not ask")


class Call:
    """What a command gets to work with."""

    def __init__(self, args: Namespace) -> None:
        self.args = args
        self.json: bool = getattr(args, "json", False)
        self.quiet: bool = getattr(args, "quiet", False)
        self.verbose: bool = getattr(args, "verbose", False)
        self.terminal = sys.stdout.isatty()
        self.colour = output.coloured(sys.stdout)

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks the daemon, starting it if need be."""
        if not self.verbose:
            return self._ask(verb, request)
        began = time.monotonic()
        try:
            return self._ask(verb, request)
        finally:
            took = (time.monotonic() - began) * 1000
            output.write_error(f"wl: asked {verb}, {took:.0f} ms\n")

    def _ask(self, verb: str, request: dict[str, Any]) -> Any:
        try:
            return calls.ask(verb, tell=self.remark, **request)
        except client.LetGo:
            from windlass.cli import interrupted  # noqa: PLC0415 - only who interrupts needs it

            if not self.json and (goes_on := interrupted.told(verb, request)) is not None:
                output.write_error(f"wl: {goes_on}\n")  # also to who wants to be told little
            raise

    def say(self, text: str = "") -> None:
        """Prints a line for people."""
        if not self.json:
            output.write(text + "\n")

    def show_screen(self, text: str, *, again: bool = False) -> None:
        """Prints what an agent has on its screen, in its colours; again, in place of the last."""
        if not self.json:
            output.write_screen(text + "\n", colour=self.colour, clear=again)

    def tell(self, text: str) -> None:
        """Prints a line that --quiet silences."""
        if not self.quiet:
            self.say(text)

    def remark(self, text: str) -> None:
        """Says beside the output, which may be for a program, what a person should know of it."""
        if not self.quiet and not self.json:
            output.write_error(f"wl: {text}\n")

    @contextmanager
    def remarks_on_environment(self) -> Iterator[None]:
        """Says afterwards, also of what failed, what sessions have otherwise than this terminal.

        Not before: where no daemon ran, one is started from here.
        """
        from windlass.api import daemon_environment  # noqa: PLC0415 - most commands start no session

        try:
            yield
        finally:
            for difference in daemon_environment.differences():
                self.remark(f"the daemon was started elsewhere: {difference}")
                self.remark(f"  to have it as here: {daemon_environment.REMEDY}")

    @property
    def shows_progress(self) -> bool:
        """Whether somebody watches a terminal, and wants to see what takes long."""
        return sys.stderr.isatty() and not self.quiet and not self.json

    def progress(self, text: str) -> None:
        """Says on a terminal what takes long; never part of the output."""
        if self.shows_progress:
            output.write_error(text + "\n")

    def data(self, value: Any) -> None:
        """Prints JSON if that was asked for."""
        if self.json:
            output.write_json(value, indent=2)

    def paint(self, text: str, colour: str) -> str:
        """Colours text on a terminal."""
        return output.paint(text, colour) if self.colour else text

    @property
    def sure(self) -> bool:
        """Whether nobody is to be asked: -y or --force says so, and an agent decides for itself."""
        return bool(self.args.force or os.environ.get("WINDLASS_SOCKET"))

    def full_ids(self, names: Sequence[str]) -> list[str]:
        """Whom these names or prefixes mean."""
        return [self.ask("why", agent=name)["id"] for name in names]

    def to_be_ended(self, names: Sequence[str]) -> list[str]:
        """Whom these mean, where no prefix may be too short to be ended by."""
        found = self.full_ids(names)
        for name, full in zip(names, found, strict=True):
            require_long(name, full)
        return found

    def confirm(self, question: str) -> None:
        """Asks the person before something ends."""
        if not sys.stdin.isatty():
            raise UserError(f"{question} (no terminal to ask on)", "add -y if you mean it")
        if not self.agrees(question):
            raise UserError("nothing was done", "answer y, or add -y")

    def choice(self, question: str, words: Sequence[str], usual: str) -> str:
        """Has the person choose a word, on the terminal that there is; empty: they leave it."""
        while True:
            output.write_error(f"{question} [{'/'.join(words)}; {usual}] ")
            typed = sys.stdin.readline()
            if not typed.endswith("\n"):  # Ctrl-D leaves the line as it is
                output.write_error("\n")
            word = typed.strip().lower()
            if word in words or not word:
                return word
            output.write_error(f"{word!r} is none of these\n")

    def agrees(self, question: str) -> bool:
        """Asks the person, on the terminal that there is."""
        output.write_error(f"{question} [y/N] ")
        typed = ""
        try:
            typed = sys.stdin.readline()
        finally:
            if not typed.endswith("\n"):  # Ctrl-C and Ctrl-D leave the line as it is
                output.write_error("\n")
        return typed.strip().lower() in ("y", "yes")


_MEBIBYTES = 1
LARGEST = _MEBIBYTES << 20
"""Bytes of text that are read: as much as the daemon takes. A device may have no end."""


def worded(words: Sequence[str]) -> str:
    """A text given as words; `-` alone is stdin, and so is none at all where stdin is piped.

    Where there are words stdin is left alone: who runs a command may never close it.
    """
    if list(words) == ["-"]:
        return texts.require_short(read_text("-"))
    return texts.require_short(" ".join(words) if words else piped())


def piped() -> str:
    """What came on stdin; nothing from a terminal, which would be waited for unseen."""
    return "" if sys.stdin.isatty() else read_text("-")


def read_text(path: str) -> str:
    """A file of text, or stdin for `-`, to the last line end: nothing may translate it."""
    name = "stdin" if path == "-" else path
    try:
        if path == "-":
            return bounded(sys.stdin.buffer, name).decode()
        with open(path, "rb") as file:
            return bounded(file, name).decode()
    except OSError as error:
        hint = "</dev/null gives none" if path == "-" else "name a file of text, or - for stdin"
        raise UserError(f"cannot read {name}: {error.strerror}", hint) from None
    except UnicodeDecodeError:
        raise UserError(f"{name} is not UTF-8 text", "only text can be said to an agent") from None


def bounded(file: BinaryIO, name: str) -> bytes:
    """All of a file, or an error if that is too much: half of it would pass for the whole."""
    text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise UserError(
            f"{name} has more than {_MEBIBYTES} MiB, the most that is read",
            "give a part of it, or say where the file is",
        )
    return text
