"""`wl`: finds the command, runs it, and turns what went wrong into words and an exit code."""

from __future__ import annotations

import contextlib
import os
import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter, _SubParsersAction
from importlib import import_module
from typing import Any, NoReturn

from windlass.cli.call import Call
from windlass.cli.index import NAMES, Entry
from windlass.core.errors import UserError, WindlassError


def main(argv: list[str] | None = None) -> int:
    """Runs one command line and returns its exit code."""
    words = sys.argv[1:] if argv is None else argv
    try:
        code = _run(words)
        sys.stdout.flush()
    except WindlassError as error:
        _complain(error, words)
        return error.exit_code
    except BrokenPipeError:
        # The reader (`| head`) went away; say nothing, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 141
    except KeyboardInterrupt:
        return 130
    return code


def _run(words: list[str]) -> int:
    words = _leading_options(words)
    if not words:
        name, rest = "home", []
    elif words[0] in ("-h", "--help"):
        name, rest = "help", words[1:]
    elif words[0] in ("-V", "--version"):
        name, rest = "version", words[1:]
    elif words[0] == "__complete":
        from windlass.cli import completing  # noqa: PLC0415 - only shells ask for it

        return completing.complete(words[1:])
    else:
        name, rest = words[0], words[1:]
    if name == "home" and not rest:
        return _command(Entry("home", ""), rest)
    entry = NAMES.get(name)
    if entry is None:
        raise _unknown(name)
    return _command(entry, rest)


def _leading_options(words: list[str]) -> list[str]:
    """Options that every command takes may also stand before it: moves them behind."""
    front: list[str] = []
    rest = list(words)
    while rest and rest[0] in ("-v", "-q", "--verbose", "--quiet", "--json", "-C"):
        front.append(rest.pop(0))
        if front[-1] == "-C" and rest:
            front.append(rest.pop(0))
    if not rest and front:
        return ["list" if "--json" in front else "status", *front]
    return [*rest[:1], *front, *rest[1:]]


def _command(entry: Entry, rest: list[str]) -> int:
    module = import_module(entry.module)
    args = parser_of(entry, module).parse_args(rest)
    if args.directory is not None:
        try:
            os.chdir(args.directory)
        except OSError as error:
            raise UserError(f"cannot go to {args.directory}: {error.strerror}") from None
    return int(module.run(Call(args)) or 0)


def parser_of(entry: Entry, module: Any) -> ArgumentParser:
    """The parser of a command: its own arguments, and those that every command takes."""
    about, _, more = (module.__doc__ or "").partition("\n")
    parser = _Parser(
        prog=f"wl {entry.name}" if entry.name != "home" else "wl",
        description=f"{about}\n{more}".strip(),
        epilog=_examples(getattr(module, "EXAMPLES", ())),
        formatter_class=RawDescriptionHelpFormatter,
    )
    module.arguments(parser)
    _take_common(parser)
    for action in parser._actions:  # noqa: SLF001 - argparse has no public way to its subcommands
        if isinstance(action, _SubParsersAction):
            for sub in action.choices.values():
                _take_common(sub, default=SUPPRESS)
    return parser


def _take_common(parser: ArgumentParser, default: Any = None) -> None:
    """Adds what every command takes; below a subcommand, without undoing what stood before it."""
    off = SUPPRESS if default is SUPPRESS else False
    common = parser.add_argument_group("for every command")
    common.add_argument("--json", action="store_true", default=off, help="print JSON")
    common.add_argument("-q", "--quiet", action="store_true", default=off, help="say less")
    common.add_argument("-v", "--verbose", action="store_true", default=off, help="say more")
    common.add_argument(
        "-C", dest="directory", metavar="DIR", default=default, help="act as if run in DIR"
    )


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}", f"`{self.prog} --help` shows how it goes")


def _examples(lines: tuple[str, ...]) -> str:
    return "examples:\n" + "\n".join(f"  {line}" for line in lines) if lines else ""


def _unknown(name: str) -> UserError:
    from difflib import get_close_matches  # noqa: PLC0415 - only mistakes need it

    close = get_close_matches(name, NAMES, n=1)
    hint = f"did you mean `wl {close[0]}`?" if close else "`wl help --all` lists every command"
    return UserError(f"no command {name!r}", hint)


def _complain(error: WindlassError, words: list[str]) -> None:
    with contextlib.suppress(BrokenPipeError):
        if "--json" in words:
            import json  # noqa: PLC0415 - the fast path has no use for it

            body = {"kind": error.kind, "message": error.message, "hint": error.hint}
            sys.stderr.write(json.dumps({"error": body}) + "\n")
            return
        red, plain = ("\x1b[31m", "\x1b[0m") if sys.stderr.isatty() else ("", "")
        sys.stderr.write(f"{red}wl: {error.message}{plain}\n")
        if error.hint:
            sys.stderr.write(f"    {error.hint}\n")
