"""The command line, spelled as Claude Code's, with one flag of our own: `--script`.

Read by hand: the standard parser costs more start-up time than all the rest together.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

MODES = ("default", "acceptEdits", "plan", "bypassPermissions", "dontAsk")
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)

HELP = """Usage: windlass.standin [options] [prompt]

The stand-in agent: behaves outwardly like Claude Code and plays a script instead of a model.

Options:
  -p, --print                      answer the prompt, print, and exit
  --output-format FORMAT           text, json or stream-json (with --print)
  --input-format FORMAT            text or stream-json (with --print)
  --session-id UUID                the id of the new session
  -r, --resume ID|FILE             go on with an earlier session, by id or transcript
  --fork-session                   with --resume: under a new id
  --settings FILE|JSON             hooks and permissions
  --plugin-dir DIR                 hooks of a plugin
  --max-turns N                    end with an error after so many replies of one turn
  --max-budget-usd DOLLARS         end with an error once so much is spent
  --permission-prompt-tool stdio   ask over the JSON lines whether a tool may run
  --permission-mode MODE           default, acceptEdits, plan, bypassPermissions or dontAsk
  --allowedTools, --disallowedTools TOOLS...
  --script FILE                    what to play (docs/scripts.md)
  -v, --version                    print the version
  -h, --help                       print this"""


class UsageError(Exception):
    """The command line is wrong; the text is what the program prints."""


class Flags(msgspec.Struct, kw_only=True):
    """What the command line said."""

    prompt: str | None = None
    print: bool = False
    help: bool = False
    version: bool = False
    verbose: bool = False
    output_format: str = "text"
    input_format: str = "text"
    session_id: str | None = None
    resume: str | None = None
    fork_session: bool = False
    settings: str | None = None
    plugin_dirs: list[str] = []
    model: str | None = None
    append_system_prompt: str | None = None
    append_system_prompt_file: str | None = None
    permission_mode: str | None = None
    permission_prompt_tool: str | None = None
    allowed_tools: list[str] = []
    disallowed_tools: list[str] = []
    skip_permissions: bool = False
    replay_user_messages: bool = False
    max_turns: int | None = None
    max_usd: float | None = None
    script: str | None = None


SWITCHES = {
    "-p": "print",
    "--print": "print",
    "-h": "help",
    "--help": "help",
    "-v": "version",
    "--version": "version",
    "--verbose": "verbose",
    "--fork-session": "fork_session",
    "--dangerously-skip-permissions": "skip_permissions",
    "--replay-user-messages": "replay_user_messages",
}
VALUES = {
    "--output-format": "output_format",
    "--input-format": "input_format",
    "--session-id": "session_id",
    "-r": "resume",
    "--resume": "resume",
    "--settings": "settings",
    "--model": "model",
    "--append-system-prompt": "append_system_prompt",
    "--append-system-prompt-file": "append_system_prompt_file",
    "--permission-mode": "permission_mode",
    "--permission-prompt-tool": "permission_prompt_tool",
    "--max-turns": "max_turns",
    "--max-budget-usd": "max_usd",
    "--script": "script",
}
LISTS = {
    "--plugin-dir": "plugin_dirs",
    "--allowedTools": "allowed_tools",
    "--allowed-tools": "allowed_tools",
    "--disallowedTools": "disallowed_tools",
    "--disallowed-tools": "disallowed_tools",
}
CHOICES = {
    "--output-format": ("text", "json", "stream-json"),
    "--input-format": ("text", "stream-json"),
    "--permission-mode": MODES,
}


def parse_flags(argv: Sequence[str]) -> Flags:
    """Reads the command line; raises UsageError with what to print."""
    flags = Flags()
    words = [*argv]
    while words:
        word = words.pop(0)
        if word == "--":
            _positional(flags, words)
            break
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        if equals:
            words.insert(0, value)
        if flag in SWITCHES:
            setattr(flags, SWITCHES[flag], True)
        elif flag in VALUES:
            _set(flags, flag, words)
        elif flag in LISTS:
            getattr(flags, LISTS[flag]).extend(_listed(flag, words, single=bool(equals)))
        elif word.startswith("-") and word != "-":
            raise UsageError(f"error: unknown option '{flag}'")
        else:
            _positional(flags, [word])
    _check(flags)
    return flags


def _set(flags: Flags, flag: str, words: list[str]) -> None:
    if not words:
        raise UsageError(f"error: option '{flag} <value>' argument missing")
    value = words.pop(0)
    choices = CHOICES.get(flag)
    if choices and value not in choices:
        raise UsageError(
            f"error: option '{flag} <value>' argument '{value}' is invalid. "
            f"Allowed choices are {', '.join(choices)}."
        )
    if flag == "--max-turns":
        if not value.isdigit() or int(value) == 0:
            raise UsageError(f"error: option '{flag}' must be a positive number, not '{value}'")
        flags.max_turns = int(value)
        return
    if flag == "--max-budget-usd":
        if not re.fullmatch(r"\d*\.?\d+", value) or float(value) == 0:
            raise UsageError(f"error: option '{flag}' must be a positive number, not '{value}'")
        flags.max_usd = float(value)
        return
    setattr(flags, VALUES[flag], value)


def _listed(flag: str, words: list[str], *, single: bool) -> list[str]:
    """Takes the values of a flag that accepts several, as separate words or separated by commas."""
    taken: list[str] = []
    while words and (not words[0].startswith("-") or (single and not taken)):
        taken.append(words.pop(0))
        if single or flag == "--plugin-dir":
            break
    if flag == "--plugin-dir":
        return taken
    return [rule for word in taken for rule in split_rules(word)]


def split_rules(text: str) -> list[str]:
    """Splits `Read,Bash(git log:*) Write` at commas and spaces outside of brackets."""
    return re.findall(r"(?:[^\s,(]+(?:\([^)]*\))?)", text)


def _positional(flags: Flags, words: list[str]) -> None:
    for word in words:
        if flags.prompt is not None:
            raise UsageError("error: too many arguments. Expected 1 argument.")
        flags.prompt = word


def _check(flags: Flags) -> None:
    if flags.session_id is not None and not UUID.fullmatch(flags.session_id):
        raise UsageError("Error: Invalid session ID. Must be a valid UUID.")
    if flags.session_id and flags.resume and not flags.fork_session:
        raise UsageError(
            "Error: --session-id can only be used with --continue or --resume "
            "if --fork-session is also specified."
        )
    if flags.input_format == "stream-json" and flags.output_format != "stream-json":
        raise UsageError("Error: --input-format=stream-json requires output-format=stream-json.")
    if flags.print and flags.output_format == "stream-json" and not flags.verbose:
        raise UsageError(
            "Error: When using --print, --output-format=stream-json requires --verbose"
        )
