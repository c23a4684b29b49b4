"""`wl`: finds the command, runs it, and turns what went wrong into words and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import (
    PARSER,
    REMAINDER,
    SUPPRESS,
    ArgumentParser,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from functools import partial
from importlib import import_module
from typing import Any, NoReturn

from windlass.cli.call import Call
from windlass.cli.index import EXPERTS, HOME, NAMES, CommandEntry
from windlass.cli.output import coloured, flush, paint, write, write_error
from windlass.core.errors import Internal, Unavailable, UserError, WindlassError
from windlass.core.printable import printable, printable_line

_COMMON = frozenset(("-v", "-q", "--verbose", "--quiet", "--json", "-C"))
_SHORTHANDS = {"-h": "help", "--help": "help", "-V": "version", "--version": "version"}


def main(argv: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code."""
    words = sys.argv[1:] if argv is None else argv
    _open_closed_streams()
    try:
        code = _run(words)
        flush()
    except WindlassError as error:
        _complain(error, words)
        code = error.exit_code
    except BrokenPipeError:  # the reader (`| head`) went away, which is no news to anybody
        code = 141
    except KeyboardInterrupt:
        code = 130
    except Exception as error:  # noqa: BLE001 - the last place before a traceback
        code = _own_up(error, words)
    _drop_unwritten()
    return code


def _run(words: list[str]) -> int:
    """Finds the command; options that every command takes may also stand before it."""
    front, rest = _parted(words)
    if not rest:
        return _command(HOME, front)
    name, *rest = rest
    if name == "dev":
        between, left = _parted(rest)
        if left and left[0] in EXPERTS:
            return _command(EXPERTS[left[0]], [*front, *between, *left[1:]])
    if name == "__complete":
        from windlass.cli import completion_words  # noqa: PLC0415 - only shells ask for it

        return completion_words.complete(rest)
    entry = NAMES.get(_SHORTHANDS.get(name, name))
    if entry is None:
        raise UserError(f"no command {name!r}", near(name))
    return _command(entry, [*front, *rest])


def _parted(words: list[str]) -> tuple[list[str], list[str]]:
    """The options that every command takes, as far as words begin with them, and what follows."""
    end = 0
    while end < len(words) and words[end] in _COMMON:
        end += 2 if words[end] == "-C" else 1
    return words[:end], words[end:]


def _command(entry: CommandEntry, rest: list[str]) -> int:
    module = import_module(entry.module)
    try:
        args = parsed(parser_of(entry, module), rest)
    except SystemExit:  # the help that was asked for has been printed
        return 0
    if args.directory is not None:
        try:
            os.chdir(args.directory)
        except OSError as error:
            raise UserError(
                f"cannot go to {printable_line(args.directory)}: {error.strerror}"
            ) from None
    return int(module.run(Call(args)) or 0)


def parsed(parser: ArgumentParser, words: list[str]) -> Namespace:
    """Reads the words of a command; options may stand anywhere, also before the last words."""
    plain = [action.nargs for action in parser._actions if not action.option_strings]  # noqa: SLF001 - as below
    if PARSER in plain or REMAINDER in plain:
        return parser.parse_args(words)
    read, left = parser.parse_known_args(words)
    return parser.parse_intermixed_args(words) if left else read


def parser_of(entry: CommandEntry, module: Any) -> ArgumentParser:
    """The parser of a command: its own arguments, and those that every command takes."""
    about, _, more = (module.__doc__ or "").partition("\n")
    parser = Parser(
        prog=f"wl {entry.typed}" if entry.name != "home" else "wl",
        description=f"{about}\n{more}".strip(),
        epilog=_examples(getattr(module, "EXAMPLES", ())),
        formatter_class=_Formatter,
    )
    module.arguments(parser)
    take_common(parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its subcommands
        if isinstance(action, _SubParsersAction):
            for sub in action.choices.values():
                take_common(sub, default=SUPPRESS)
    return parser


def take_common(parser: ArgumentParser, default: Any = None) -> None:
    """Adds what every command takes; below a subcommand, without undoing what stood before it."""
    off = SUPPRESS if default is SUPPRESS else False
    common = parser.add_argument_group("for every command")
    common.add_argument("--json", action="store_true", default=off, help="print JSON")
    common.add_argument("-q", "--quiet", action="store_true", default=off, help="say less")
    common.add_argument("-v", "--verbose", action="store_true", default=off, help="say more")
    common.add_argument(
        "-C", dest="directory", metavar="DIR", default=default, help="act as if run in DIR"
    )


class _Formatter(RawDescriptionHelpFormatter):
    """Keeps our own line breaks where there is room for them, and else breaks between words."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        kept = super()._fill_text(text, width, indent)
        if all(len(line) <= width for line in kept.splitlines()):
            return kept
        import textwrap  # noqa: PLC0415 - only help needs it

        fill = partial(textwrap.fill, width=width, break_long_words=False, break_on_hyphens=False)
        return "\n\n".join(
            "\n".join(fill(line, subsequent_indent="      ") for line in part.splitlines())
            if "\n  " in part
            else fill(" ".join(part.split()))
            for part in text.split("\n\n")
        )


class Parser(ArgumentParser):
    """Raises what argparse would print and exit for, and prints the way we do."""

    def print_help(self, file: Any = None) -> None:
        """Prints help; argparse would keep quiet about a full disk."""
        del file
        write(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Says what is wrong, and where it is written."""
        raise UserError(f"{self.prog}: {message}", f"`{self.prog} --help` shows how it goes")


def _examples(lines: tuple[str, ...]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


def near(name: str) -> str:
    """What to say to who misspelt a command."""
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    close = get_close_matches(name, NAMES, n=1)
    return f"did you mean `wl {close[0]}`?" if close else "`wl help --all` lists every command"


def _complain(error: WindlassError, words: list[str]) -> None:
    with contextlib.suppress(OSError):
        if _said("--json", words):
            import json  # noqa: PLC0415 - the fast path has no use for it

            body = {"kind": error.kind, "message": error.message, "hint": error.hint}
            write_error(json.dumps({"error": body}).replace("\x7f", "\\u007f") + "\n")
            return
        said = f"wl: {printable(error.message)}"
        write_error(f"{paint(said, 'red') if coloured(sys.stderr) else said}\n")
        if error.hint:
            write_error(f"    {printable(error.hint)}\n")


def _own_up(error: Exception, words: list[str]) -> int:
    """Says in one line what nobody foresaw; the traceback is for those who ask for it."""
    if isinstance(error, FileNotFoundError) and _is_nowhere():
        gone = Unavailable("the current folder was deleted", "cd somewhere that exists")
        _complain(gone, words)
        return gone.exit_code
    if _said("-v", words) or _said("--verbose", words):
        import traceback  # noqa: PLC0415 - only defects need it

        with contextlib.suppress(OSError):
            write_error(printable(traceback.format_exc()))
    said = Internal(
        f"{type(error).__name__}: {printable_line(str(error))}",
        "nobody foresaw this: please report it, with what -v shows",
    )
    _complain(said, words)
    return said.exit_code


def _is_nowhere() -> bool:
    """Whether the folder that we are in was deleted."""
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _said(option: str, words: list[str]) -> bool:
    """Whether an option was given to us, not to a command that `wl exec` is to run."""
    return option in (words[: words.index("--")] if "--" in words else words)


def _open_closed_streams() -> None:
    """A stream that the caller closed is /dev/null, or the next socket would take its number."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            mode = "r" if number == 0 else "w"
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for good


def _drop_unwritten() -> None:
    """What could not be written is not tried again, and complained of, at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
