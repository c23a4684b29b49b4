"""git's own ways to run other programs: configuration, `--exec` and its kin, commands that run.

What a repository's configuration already says is not looked at: agents cannot change that of the
main repository, and `-c` and `git config` only for what runs nothing.
"""

from __future__ import annotations

import re

from windlass.core.shell.runs import Doubt, Settled, Words
from windlass.core.shell.tree import Word, lead, may_be_option

_GLOBAL = frozenset(
    ("--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs", "--version", "--help", "-h")
)
_HARMLESS = re.compile(
    r"user\.(?:name|email)|color\..*|advice\..*|log\..*|init\.defaultbranch|gc\.auto"
    r"|core\.(?:quotepath|autocrlf|safecrlf|filemode|ignorecase|eol|abbrev)"
    r"|(?:commit|tag)\.gpgsign|merge\.(?:conflictstyle|ff)|diff\.(?:algorithm|renames|noprefix)"
    r"|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|rebase\.auto(?:stash|squash)"
    r"|fetch\.prune|rerere\..*|branch\.[^.]*\.(?:remote|merge)",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"core\.(?:editor=(?:true|:)|pager=(?:cat)?)", re.IGNORECASE)
_RUNNING = frozenset(
    (
        *("filter-branch", "difftool", "mergetool", "instaweb", "daemon", "send-email", "shell"),
        *("web--browse", "hook", "for-each-repo", "p4", "svn", "cvsimport", "cvsserver"),
        *("credential", "upload-pack", "receive-pack", "upload-archive", "remote-ext", "citool"),
        *("maintenance", "fsmonitor--daemon", "gui", "remote-fd", "http-backend", "scalar"),
    )
)
_OPTIONS = {
    "rebase": re.compile(r"--ex?e?|--exec.*|-[A-Za-z]*x.*"),
    "bisect": re.compile("run"),
    "submodule": re.compile("foreach"),
    "grep": re.compile(r"-[A-Za-z]*O.*|--o?p?|--open.*"),
    **dict.fromkeys(
        ("fetch", "pull", "ls-remote", "fetch-pack", "remote"),
        re.compile(r"--upl.*|--up?|--exec.*"),
    ),
    **dict.fromkeys(("push", "send-pack"), re.compile(r"--rec(?!u).*|--ex.*")),
    "archive": re.compile(r"--ex.*|--rem.*"),
    "clone": re.compile(r"-[A-Za-z]*[uc].*|--u.*|--con.*|--te.*"),
    "init": re.compile(r"--te.*"),
    "config": re.compile(
        r"--g?l?o?b?a?l?|--sy.*|--f.*|-f.*|-e|--ed.*|--glob.*|--re[nm].*|edit|re(?:name|move)-section"
    ),
}


def check(words: Words) -> None:
    """Raises Doubt if git may be told to run something."""
    rest = _behind_options(words)
    if not rest:
        return
    command = rest.pop(0).literal
    if command is None:
        raise Doubt("which command of git is not written out")
    if command in _RUNNING or command.startswith(("credential-", "remote-")):
        raise Settled(f"git {command} may run other programs")
    if any("ext::" in word.text for word in rest):
        raise Settled("ext:: runs a program")
    forbidden = _OPTIONS.get(command)
    if forbidden is None:
        return
    if command == "config":
        _configured(rest)
    options = True
    for word in rest:
        options = options and word.literal != "--"
        if options and (may_be_option(word) or forbidden.fullmatch(word.text)):
            if word.literal is None:
                raise Doubt(f"git {command} with words that are not written out")
            raise Settled(f"git {command} with {word.literal} may run other programs")


def _behind_options(words: Words) -> list[Word]:
    """Git's command and what follows; its own options in front are judged."""
    rest = list(words[1:])
    while rest and rest[0].text.startswith("-"):
        option = rest.pop(0).literal
        if option == "-C" and rest:
            if rest.pop(0).text.startswith("-"):
                raise Doubt("git -C with an option")
        elif option == "-c" and rest:
            _require_harmless(rest.pop(0))
        elif option not in _GLOBAL:
            raise Doubt(f"git with {option or 'an option that is not written out'}")
    return rest


def _configured(rest: list[Word]) -> None:
    """Reading is free; of what can be set, only what runs nothing."""
    said = [word.text for word in rest if not word.text.startswith("-")]
    if said[:1] in (["get"], ["list"], ["set"], ["unset"]):
        said = said[1:]
    if len(said) > 1 and not (_HARMLESS.fullmatch(said[0]) or _NOTHING.fullmatch("=".join(said))):
        raise Settled(f"git config {said[0]} may make git run other programs")


def _require_harmless(word: Word) -> None:
    key = word.text.partition("=")[0]
    first = lead(word)
    known = first is not None and first.kind == "text" and "=" in first.text
    if not known or not (_HARMLESS.fullmatch(key) or _NOTHING.fullmatch(word.literal or "")):
        raise Settled(f"git -c {key} may make git run other programs")
