"""Commands of git that take from others what a linked worktree shares with its repository.

Branches, tags, stashes, reflogs, objects, worktrees and remotes are one for the main tree and all
agents without a box. Making new ones is everybody's work; deleting and moving them is not. A boxed
agent has a clone of its own, and is not asked. What programs do and what a variable hides is not
seen, as everywhere below a box.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from windlass.core.shell import git_lines
from windlass.core.shell.options import Options
from windlass.core.shell.runs import Words

_REFS = "branches and tags"
_STASHES = "stashes"
_OBJECTS = "objects and reflogs"
_CONFIGURATION = "configuration"
_INSTEAD = {
    _REFS: "commit on your own branch, and make new branches under new names",
    _STASHES: "git stash pop takes what you put there",
    _OBJECTS: "there is no need to tidy up",
    "worktrees": "remove a folder of your own with rm",
    "remotes": "name another address where you need it",
    _CONFIGURATION: "give it to each command that needs it: git -c key=value",
}
_WHOLE = {
    **dict.fromkeys(("update-ref", "send-pack", "fast-import", "replace", "http-push"), _REFS),
    **dict.fromkeys(("gc", "prune", "repack"), _OBJECTS),
}
"""Commands that do nothing else."""
_FIRST = {
    "stash": (re.compile("drop|clear"), _STASHES),
    "reflog": (re.compile("expire|delete|drop"), _OBJECTS),
    # git finds a worktree by the last part of its path, which looks like a name in this folder.
    "worktree": (re.compile("remove|move|prune|repair|unlock"), "worktrees"),
    "remote": (re.compile("remove|rm|rename|set-url"), "remotes"),
    "notes": (re.compile("remove|prune"), _REFS),
}
"""Commands with commands of their own, and which of these it is."""
_ELSEWHERE = ("--ignore-other-worktrees",)
_ANYWHERE = {
    "branch": Options(("--delete", "--move", "--force"), "dDmMCf", valued="u"),
    "tag": Options(("--delete", "--force"), "df", valued="mFun"),
    "checkout": Options(_ELSEWHERE, "B", valued="b"),
    "switch": Options(("--force-create", *_ELSEWHERE), "C", valued="c", others=("--force",)),
    "symbolic-ref": Options(("--delete",), "d", valued="m"),
    "rebase": Options(("--update-refs",)),
    "push": Options(
        ("--repo", "--delete", "--mirror", "--prune", "--all", "--branches"), "d", valued="o"
    ),
    "worktree": Options(("--force",), "Bf", valued="b"),
    "remote": Options(("--mirror",)),
    **dict.fromkeys(
        ("fetch", "pull"),
        Options(("--stdin", "--refmap", "--prune-tags"), "P", others=("--prune",)),
    ),
}
"""Options that make a command delete or move branches and tags."""
_NAMING = {
    "symbolic-ref": re.compile("refs/(?:heads|tags)/"),
    # A path leads back to the repository itself; no remote and no branch is called like that. A
    # ref with nothing before its colon is deleted.
    "push": re.compile(r"[./~]|file:|\+?:.|(?s:.*)\.\."),
}
"""Words that do the same."""
_EVERYBODYS = re.compile(r"main|master|trunk|develop|release(?:[/-].*)?")
"""What branches are usually called to which changes land."""
_ADDRESS = re.compile(r"[^/]+:(?!$)")
_FETCHING = ("fetch", "pull")
_VALUED = re.compile(
    r"-C|-c|--git-dir|--work-tree|--namespace"
    r"|-[jo]|--(?:depth|deepen|shallow-\w+|jobs|server-option|negotiation-tip|filter)"
)
"""Options whose value is the next word."""

_SAYABLE = re.compile(r"[A-Za-z0-9_./+@%=:-]*[A-Za-z0-9_./-]")
"""Words that can stand in a pattern which a person is told to type."""


class SharedChange(NamedTuple):
    """What a command would take from others, and at which of its words that can be seen."""

    at: int
    reason: str
    patterns: list[str]
    """What a person would allow to have it nevertheless."""


def shared_change(words: Words, *, own: str) -> SharedChange | None:
    """Whether a command deletes or moves what is shared; `own` is the agent's own branch."""
    if words[0].text.rpartition("/")[2] != "git":
        return None
    plain = list(_plain(words))
    if not plain:
        return None
    start = plain[0]
    command = words[start].text
    if command in _WHOLE:
        return _change(words, start, _WHOLE[command])
    if command in _FIRST and len(plain) > 1:
        telling, what = _FIRST[command]
        if telling.fullmatch(words[plain[1]].text):
            return _change(words, plain[1], what)
    if command == "remote" and (at := _leads_back(words, plain)):
        return _change(words, at, "remotes", instead="name an address, not a path")
    if command == "config" and _writes_shared(words[start + 1 :]):
        return _change(words, plain[1] if len(plain) > 1 else start, _CONFIGURATION)
    if command in _FETCHING and (at := _fetched(words, plain)):
        return _change(words, at, _REFS, instead="fetch without a target, and use FETCH_HEAD")
    if command == "stash" and (at := _taken(words, plain)):
        instead = "git stash apply leaves it there"
        return _change(words, at, _STASHES, instead=instead)
    if command == "push" and (at := _pushed(words, plain, own)):
        return _change(words, at, _REFS, instead="push your own branch: git push origin HEAD")
    return _change(words, at, _REFS) if (at := _telling_word(words, start, own)) else None


def _plain(words: Words) -> list[int]:
    """Where the words are that are neither options nor the values of some."""
    positions: list[int] = []
    at = 1
    while at < len(words):
        text = words[at].text
        if not text.startswith("-"):
            positions.append(at)
        at += 2 if _VALUED.fullmatch(text) else 1
    return positions


def _telling_word(words: Words, start: int, own: str) -> int | None:
    command = words[start].text
    options, naming = _ANYWHERE.get(command), _NAMING.get(command)
    for at, word in enumerate(words[start + 1 :], start + 1):
        if word.literal == "--" and command != "push":
            return None
        tells = options is not None and options.has(word.text)
        if not tells and (naming is None or not naming.match(word.text)):
            continue
        if not _goes_home(words, start, at, own):
            return at
    return None


def _leads_back(words: Words, plain: list[int]) -> int | None:
    """Where a remote is added whose address is a path: pushing there is moving what is here."""
    if len(plain) < 4 or words[plain[1]].text != "add":
        return None
    address = words[plain[-1]]
    leads = address.text.startswith("file:") or not _ADDRESS.match(address.text)
    return plain[-1] if leads and not address.dynamic else None


def _writes_shared(rest: Words) -> bool:
    return git_lines.configures(rest) and not any(word.literal == "--worktree" for word in rest)


def _goes_home(words: Words, start: int, at: int, own: str) -> bool:
    """`git checkout -B` of the agent's own branch brings commits there that were made beside it."""
    follows = words[at + 1].literal if at + 1 < len(words) else None
    return words[start].text in ("checkout", "switch") and follows == own


def _fetched(words: Words, plain: list[int]) -> int | None:
    """Where a refspec says which ref of this repository to write; behind the remote's name."""
    for at in plain[2:]:
        target = words[at].text.partition(":")[2]
        if target and not target.startswith("refs/remotes/"):
            return at
    return None


def _taken(words: Words, plain: list[int]) -> int | None:
    """Where a stash is taken by its number: the last may be one's own, others are anybody's."""
    pops = len(plain) > 2 and words[plain[1]].text == "pop"
    return plain[2] if pops and words[plain[2]].text not in ("stash@{0}", "0") else None


def _pushed(words: Words, plain: list[int], own: str) -> int | None:
    """Where a push goes to a branch of everybody's, or of another agent's."""
    for at in plain[2:]:
        target = words[at].text.rpartition(":")[2].removeprefix("+").removeprefix("refs/heads/")
        others = target.startswith("agent/") and target != own
        if others or _EVERYBODYS.fullmatch(target):
            return at
    return None


def _change(words: Words, at: int, what: str, *, instead: str = "") -> SharedChange:
    telling = words[: at + 1]
    said = " ".join(word.text for word in telling)
    sayable = all(_SAYABLE.fullmatch(word.literal or "") for word in telling)
    return SharedChange(
        at,
        f"{said} deletes or changes what others work with: this workspace shares its {what} with"
        f" the main repository and with other agents; {instead or _INSTEAD[what]}",
        [f"Bash({said}:*)"] if sayable else [],
    )
