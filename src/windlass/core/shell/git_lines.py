"""git's own ways to run other programs: configuration, `--exec` and its kin, commands that run.

What a repository's configuration already says is not looked at: agents cannot change that of the
main repository, and `-c` and `git config` only for what runs nothing and pushes nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from windlass.core.shell.options import Options
from windlass.core.shell.runs import Doubt, Settled, Words
from windlass.core.shell.tree import Word, lead, may_be_option, splits

_GLOBAL = frozenset(
    ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "-h")
)
_HARMLESS = re.compile(
    r"user\.(?:name|email)|color\..*|advice\..*|log\..*|init\.defaultbranch|gc\.auto"
    r"|core\.(?:quotepath|autocrlf|safecrlf|filemode|ignorecase|eol|abbrev)"
    r"|(?:commit|tag)\.gpgsign|merge\.(?:conflictstyle|ff)|diff\.(?:algorithm|renames|noprefix)"
    r"|pull\.(?:rebase|ff)|push\.autosetupremote|rebase\.auto(?:stash|squash)"
    r"|fetch\.prune|rerere\..*",
    re.IGNORECASE,
)
_NOTHING = re.compile(
    r"core\.(?:editor=(?:true|:)|pager=(?:cat)?)|push\.default=(?:simple|current|nothing)",
    re.IGNORECASE,
)
_COMMAND = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
"""With a / in it, git runs a file of that name; with --, it is one of git's own helpers."""
_RUNNING = frozenset(
    (
        *("filter-branch", "difftool", "mergetool", "instaweb", "daemon", "send-email", "shell"),
        *("hook", "for-each-repo", "p4", "svn", "cvsimport", "cvsserver"),
        *(
            "credential",
            "upload-pack",
            "receive-pack",
            "upload-archive",
            "citool",
            "cvsexportcommit",
        ),
        *("maintenance", "gui", "http-backend", "scalar", "merge-index", "imap-send", "archimport"),
    )
)
_SECTIONS = ("--rename-section", "--remove-section")
_OPTIONS = {
    "rebase": Options(("--exec",), "x"),
    "grep": Options(("--open-files-in-pager",), "O"),
    **dict.fromkeys(
        ("fetch", "pull", "ls-remote", "fetch-pack", "remote"), Options(("--upload-pack", "--exec"))
    ),
    **dict.fromkeys(("push", "send-pack"), Options(("--receive-pack", "--exec"))),
    "archive": Options(("--exec", "--remote")),
    "clone": Options(("--upload-pack", "--config", "--template"), "uc"),
    "init": Options(("--template",)),
    "apply": Options(("--unsafe-paths",)),
    "config": Options(
        ("--global", "--system", "--file", "--blob", "--edit", *_SECTIONS), letters="fe"
    ),
    "bisect": Options(),
    "submodule": Options(),
}
_WORDS = {"bisect": "run", "submodule": "foreach"}
_STRATEGY = Options(("--strategy",), "s")
_MERGING = ("merge", "rebase", "pull", "cherry-pick", "revert")
_READING = frozenset(("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l"))
_SHOWING = re.compile(
    r"--(?:local|worktree|bool|int|path|null|show-\w+|name-only|(?:no-)?includes|type=\w+)|-z"
)
_CONFIG_VERBS = ("get", "list", "set", "unset", "edit", "rename-section", "remove-section")


def check(words: Words) -> None:
    """Raises Doubt if git may be told to run something."""
    rest = _behind_options(words)
    if not rest:
        return
    command = rest.pop(0).literal
    if command is None:
        raise Doubt("which command of git is not written out")
    runs = command in _RUNNING or command.startswith(("credential-", "remote-"))
    if runs or not (command.startswith("-") or _COMMAND.fullmatch(command)):
        raise Settled(f"git {command} may run other programs")
    if any("ext::" in word.text for word in rest):
        raise Settled("ext:: runs a program")
    if command in _MERGING:
        _require_strategies(command, rest)
    if command == "config" and configures(rest):
        _require_harmless_key(rest)
    elif command == "config":
        return
    forbidden = _OPTIONS.get(command)
    if forbidden is not None:
        _require_none_of(forbidden, command, rest)


def _require_none_of(forbidden: Options, command: str, rest: list[Word]) -> None:
    for word in rest:
        if word.literal == "--":
            return
        if may_be_option(word) or forbidden.has(word.text) or word.text == _WORDS.get(command):
            if word.literal is None:
                raise Doubt(f"git {command} with words that are not written out")
            raise Settled(f"git {command} with {word.literal} may run other programs")


def _require_strategies(command: str, rest: list[Word]) -> None:
    """Of a strategy called x/y git runs the file git-merge-x/y."""
    for word, behind in zip_longest(rest, rest[1:]):
        value = behind.text if behind is not None and "=" not in word.text else ""
        if _STRATEGY.has(word.text) and "/" in word.text + value:
            raise Settled(f"git {command} with {word.text} {value} may run other programs")


def _behind_options(words: Words) -> list[Word]:
    """Git's command and what follows; its own options in front are judged."""
    rest = list(words[1:])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).literal
        if option in ("-C", "-c") and rest and splits(rest[0]):
            raise Doubt(f"git {option} with a value that may be more than one word; quote it")
        if option == "-C" and rest:
            if rest.pop(0).text.startswith("-"):
                raise Doubt("git -C with an option")
        elif option == "-c" and rest:
            _require_harmless(rest.pop(0))
        elif option not in _GLOBAL:
            raise Doubt(f"git with {option or 'an option that is not written out'}")
    return rest


def configures(rest: Sequence[Word]) -> bool:
    """Whether what follows `git config` sets something, or may."""
    options = [word.text for word in rest if word.text.startswith("-")]
    said = [word.text for word in rest if not word.text.startswith("-")]
    if said[:1] in (["get"], ["list"]) or not _READING.isdisjoint(options):
        return any(map(may_be_option, rest))
    shows = len(said) < 2 and said[:1] != ["edit"] and all(map(_SHOWING.fullmatch, options))
    return not shows or any(map(may_be_option, rest))


def sets_own(words: Words) -> bool:
    """Whether a command sets a configuration that can as well be the agent's own: `git config k v`.

    Not where it says itself which configuration it means, nor for keys that make git run programs.
    """
    said = [word.text for word in words]
    if "config" not in said or said.index("config") > 3:
        return False
    rest = words[said.index("config") + 1 :]
    elsewhere = Options(
        ("--global", "--system", "--local", "--worktree", "--file", "--blob", "--edit", *_SECTIONS),
        letters="fe",
    )
    if any(map(elsewhere.has, (word.text for word in rest))) or not configures(rest):
        return False
    try:
        _require_harmless_key(list(rest))
    except Doubt:
        return False
    return True


def _require_harmless_key(rest: list[Word]) -> None:
    said = [word.text for word in rest if not word.text.startswith("-")]
    if said[:1] and said[0] in _CONFIG_VERBS:
        verb, *said = said
        if verb in ("edit", "rename-section", "remove-section"):
            raise Settled(f"git config {verb} may make git run other programs")
    key = said[0] if said else ""
    if not (_HARMLESS.fullmatch(key) or _NOTHING.fullmatch("=".join(said))):
        raise Settled(f"git config {key} may make git run other programs")


def _require_harmless(word: Word) -> None:
    key = word.text.partition("=")[0]
    first = lead(word)
    known = first is not None and first.kind == "text" and "=" in first.text
    if not known or not (_HARMLESS.fullmatch(key) or _NOTHING.fullmatch(word.literal or "")):
        raise Settled(f"git -c {key} may make git run other programs")
