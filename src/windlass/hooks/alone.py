"""The policy hook's decision when the daemon does not answer: conservative, from the policy file.

Allowed are file tools inside of the agent's places, shell lines that are plain and match an allowed
prefix, and tools that touch nothing but the session; what is on the deny list, and everything else,
is denied. In a box, which is the limit there, every shell line and every tool is allowed that the
allow list has by name. The daemon's own rules (`core.policy`) allow all of this and more: never
less.

The policy file is JSON: `roots` and `closed` (places the agent may and may not touch; the deepest
one around a path counts), `allow`, `deny`, `yolo`, and perhaps `boxed` and `folded` (whether case
means nothing in names of files).
"""

import json
import posixpath
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FILE_TOOLS = {
    "Read": "file_path",
    "Write": "file_path",
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "NotebookEdit": "notebook_path",
    "Glob": "path",
    "Grep": "path",
    "LS": "path",
}
"""Which of its inputs says where a tool works; those with `path` work in the folder by default."""
SESSION_TOOLS = frozenset(
    (
        *("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"),
        *("Skill", "ToolSearch", "BashOutput", "TaskOutput", "KillShell", "TaskStop"),
        *("Agent", "Task"),
    )
)
_READ_ON = frozenset(
    (
        # Words of the shell's grammar, which are no commands.
        *("if", "then", "elif", "else", "fi", "while", "until", "for", "do", "done", "case"),
        *("esac", "in", "time", "function", "select", "coproc"),
        # What runs its arguments, names variables in them or reads programs from them.
        *("eval", "source", ".", "trap", "alias", "unalias", "hash", "enable", "shopt", "let"),
        *("complete", "compgen", "bind", "fc", "history", "mapfile", "readarray", "env", "nice"),
        *("nohup", "setsid", "stdbuf", "ionice", "timeout", "xargs", "command", "builtin"),
        *("exec", "busybox", "sh", "bash", "dash", "zsh", "ksh", "find", "test", "unset", "set"),
        *("getopts", "wait", "read", "printf", "export", "declare", "typeset", "local"),
        *("readonly", "sort", "sed", "awk", "gawk", "mawk", "nawk", "type", "wl", "windlass"),
        *("jobs", "ln"),
    )
)
"""Names that a prefix allows but that have to be read on, which takes the daemon."""
_GIT = frozenset(
    (
        *("add", "blame", "commit", "describe", "diff", "log", "ls-files", "merge", "mv"),
        *("reset", "restore", "rev-parse", "rm", "show", "status"),
    )
)
"""What git does without running what its arguments name, or taking what agents share."""
_PATHS = ("file_path", "notebook_path", "path")
_OPTION_SIGNS = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_PLAIN = re.compile(r"[A-Za-z0-9_./=: -]+")
_BRACKET_OR_GAP = re.compile(r"[()\s]")
_LONGEST_LINE = 128 << 10
_LONGEST_PATH = 8192
_WILD = re.compile(r"[*?\[\]{}]")


class _Denied(Exception):
    """A call is not allowed; the text says why."""


def read(body: bytes) -> "dict[str, Any] | None":
    """Reads what came in; None when it is no JSON object."""
    try:
        call = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return call if isinstance(call, dict) else None


def decide(call: "dict[str, Any]", policy_file: str) -> bytes:
    """Answers a call in the form that its event wants."""
    try:
        why = ""
        _check(call, _policy(policy_file))
    except _Denied as denied:
        why = f"Windlass's daemon does not answer, so little is allowed: {denied}"
    if call.get("hook_event_name") == "PermissionRequest":
        decision = {"behavior": "deny", "message": why} if why else {"behavior": "allow"}
        output: dict[str, Any] = {"hookEventName": "PermissionRequest", "decision": decision}
    else:
        output = {
            "hookEventName": "PreToolUse",
            "permissionDecision": "deny" if why else "allow",
            "permissionDecisionReason": why or "allowed by the policy file",
        }
    return json.dumps({"hookSpecificOutput": output}).encode()


def _policy(path: str) -> "dict[str, Any]":
    try:
        with open(path, "rb") as file:
            policy = json.load(file)
        for name in ("roots", "closed", "allow", "deny"):
            if not all(isinstance(item, str) for item in policy[name] + []):
                raise TypeError
        return {**policy, "yolo": policy["yolo"] is True, "boxed": policy.get("boxed") is True}
    except (OSError, ValueError, RecursionError, KeyError, TypeError):
        raise _Denied("and its policy file cannot be read") from None


def _check(call: "dict[str, Any]", policy: "dict[str, Any]") -> None:
    """Refuses a call that is not allowed."""
    tool, tool_input, cwd = call.get("tool_name"), call.get("tool_input"), call.get("cwd")
    if not isinstance(tool, str) or not isinstance(tool_input, dict) or not isinstance(cwd, str):
        raise _Denied("the call cannot be read")
    for pattern in policy["deny"]:
        if _forbids(pattern, tool, tool_input, cwd):
            raise _Denied(f"{pattern} is denied")
    if tool == "AskUserQuestion":
        raise _Denied(
            "your question was passed on; go on, or end your turn with a last line WAITING"
        )
    if policy["yolo"]:
        return
    if not policy["boxed"] and (
        tool_input.get("isolation") or tool_input.get("dangerouslyDisableSandbox")
    ):
        raise _Denied("nothing leaves its workspace or its sandbox")
    if tool in SESSION_TOOLS:
        return
    if tool in FILE_TOOLS and tool in policy["allow"]:
        for path in _paths(tool, tool_input, cwd):
            _require_inside(path, policy)
        return
    if policy["boxed"] and _is_allowed_in_a_box(tool, tool_input, policy["allow"]):
        return
    if tool == "Bash":
        _check_line(tool_input.get("command"), cwd, policy)
        return
    raise _Denied(f"{tool} has to wait for it; try again in a moment")


def _is_allowed_in_a_box(tool: str, tool_input: "dict[str, Any]", allow: list[str]) -> bool:
    """Whether a pattern means a tool whatever it is given, and the call says what the tool needs.

    Files are another matter: what is ours in the agent's own folder is there in the box as well.
    """
    if tool in FILE_TOOLS:
        return False
    if tool == "Bash":
        line = tool_input.get("command")
        if not isinstance(line, str) or not line.strip() or len(line) > _LONGEST_LINE:
            return False
    if tool == "WebFetch" and not isinstance(tool_input.get("url"), str):
        return False
    words = filter(None, (each.strip() for each in allow))
    bare = (each for each in words if not _BRACKET_OR_GAP.search(each))
    return any(_names(name, tool) for name in bare)


def _paths(tool: str, tool_input: "dict[str, Any]", cwd: str) -> list[str]:
    """Every path that a call of a file tool reaches."""
    named = [tool_input[key] for key in _PATHS if tool_input.get(key) is not None]
    if not named and FILE_TOOLS[tool] != "path":
        raise _Denied(f"{tool} names no path")
    if "" in named:
        raise _Denied(f"{tool} names an empty path")
    paths = [_joined(cwd, path) for path in named] or [cwd]
    if tool == "Glob":
        paths = [_start_of_glob(base, tool_input.get("pattern")) for base in paths]
    if tool == "Grep" and ".." in str(tool_input.get("glob")):
        raise _Denied("the pattern leaves its folder")
    return paths


def _joined(base: str, path: object) -> str:
    # Agent CLIs expand ~ and trim; what we looked at would not be what is opened.
    if not isinstance(path, str) or path != path.strip().strip("\ufeff") or path[:1] == "~":
        raise _Denied("write the path out, without ~ or spaces around it")
    if not path.isprintable():
        raise _Denied("the path holds control characters")
    return posixpath.join(base, path)


def _start_of_glob(base: str, pattern: object) -> str:
    """Where a glob starts to look: its folders up to the first wild one."""
    if not isinstance(pattern, str):
        raise _Denied("the pattern cannot be read")
    parts = pattern.split("/")
    tame = next((n for n, part in enumerate(parts) if _WILD.search(part)), len(parts))
    if ".." in parts[tame:] or "{" in pattern:
        raise _Denied("the pattern leaves its folder")
    return _joined(base, "/".join(parts[:tame]) or ("/" if pattern[:1] == "/" else ""))


def _require_inside(path: str, policy: "dict[str, Any]") -> None:
    if len(path) > _LONGEST_PATH:
        raise _Denied("the path is longer than any can be")  # to compose it could take hours
    names = {path}
    if not path.isascii():
        import unicodedata  # noqa: PLC0415 rarely needed

        # Agent CLIs may compose accents before they open: both names have to be inside.
        names.add(unicodedata.normalize("NFC", path))
    if not all(_inside(name, policy) for name in names):
        raise _Denied(f"{path} is outside of the agent's workspace")


def _require_whole(path: str, policy: "dict[str, Any]") -> None:
    """Refuses a folder in which not everything is the agent's: it could be moved with the rest."""
    parts = _real(path, policy)
    for place in _all("closed", policy):
        if len(place) > len(parts) and place[: len(parts)] == parts:
            raise _Denied(f"{path} holds what is not the agent's")


def _inside(path: str, policy: "dict[str, Any]") -> bool:
    if not path.startswith("/") or "\0" in path:
        return False
    parts = _real(path, policy)
    depth = {
        kind: max((len(p) for p in _all(kind, policy) if parts[: len(p)] == p), default=-1)
        for kind in ("roots", "closed")
    }
    return depth["roots"] >= 0 and depth["roots"] >= depth["closed"]


def _all(kind: str, policy: "dict[str, Any]") -> list[list[str]]:
    return [_real(path, policy) for path in policy[kind]]


def _real(path: str, policy: "dict[str, Any]") -> list[str]:
    """The components of a path with every link followed, also through what does not exist."""
    real = posixpath.realpath(path)
    if policy.get("folded") is True:
        real = real.casefold()
    return [part for part in real.split("/") if part]


def _check_line(line: object, cwd: str, policy: "dict[str, Any]") -> None:
    if not isinstance(line, str) or not _PLAIN.fullmatch(line) or not line.split():
        raise _Denied("only plain shell lines, one command and no quotes")
    words = line.split()
    prefixes = [_prefix(pattern) for pattern in policy["allow"]]
    # What a person spelled out in the pattern is not looked at again.
    fitting = [
        len(prefix) for prefix in prefixes if prefix is not None and words[: len(prefix)] == prefix
    ]
    if not fitting:
        raise _Denied(f"{words[0]} is not in the allow list")
    if 0 not in fitting:
        _require_harmless(words)
    _require_inside(cwd, policy)
    if words[0] == "cd" and all(word[:1] == "-" for word in words[1:]):
        raise _Denied("cd without a folder leaves the workspace")
    for word in words[max(fitting) :]:
        for piece in re.split("[=:]", word):
            bare = piece[piece.index("/") :] if piece[:1] == "-" and "/" in piece else piece
            # As an option with a value in it too, and as the shell's own cd takes ..
            joined = (piece[2:], piece.lstrip(_OPTION_SIGNS)) if piece[:1] == "-" else ()
            for path in (bare, *joined):
                _require_inside(posixpath.join(cwd, path), policy)
                _require_inside(posixpath.normpath(posixpath.join(cwd, path)), policy)
                _require_whole(posixpath.join(cwd, path), policy)


def _require_harmless(words: list[str]) -> None:
    """Refuses what has to be read on before a prefix can allow it."""
    if words[0] in _READ_ON or "=" in words[0]:
        raise _Denied(f"{words[0]} has to wait for it; try again in a moment")
    if words[0] == "cp" and any(word[:1] == "-" and "s" in word for word in words):
        raise _Denied("cp that may make links has to wait for it; try again in a moment")
    if words[0] == "git" and (len(words) < 2 or words[1] not in _GIT):
        raise _Denied("only what git does without running others; try again in a moment")


def _prefix(pattern: str) -> list[str] | None:
    """The words that a shell pattern asks for; none for bare Bash, None for what is no such."""
    if pattern == "Bash":
        return []
    if not pattern.startswith("Bash(") or not pattern.endswith(":*)"):
        return None
    return pattern[5:-3].split() or None


def _forbids(pattern: str, tool: str, tool_input: "dict[str, Any]", cwd: str) -> bool:
    """Whether a denial could mean this call: rather once too often than once too seldom."""
    name, bracket, content = pattern.strip().partition("(")
    if not _names(name.strip(), tool):
        return False
    if not bracket:
        return True
    if "[" in content or tool not in ("Bash", *FILE_TOOLS):
        return True  # what it means is more than we can say here
    texts = list(_texts(tool_input))
    if tool != "Bash":
        try:
            paths = _paths(tool, tool_input, cwd)
        except _Denied:
            return True
        texts += [form(path) for path in paths for form in (posixpath.normpath, posixpath.realpath)]
    elif not isinstance(tool_input.get("command"), str):
        return True
    content = content.removesuffix(")").removesuffix(":*")
    literal = _flat(max(_WILD.split(content), key=len)).strip("~./ ")
    # Word by word: options may stand between those of a command.
    words = literal.split() if tool == "Bash" else [literal]
    words = [word.rpartition("/")[2] if tool == "Bash" else word for word in words]
    return not literal or any(all(word in _flat(text) for word in words) for text in texts)


def _texts(value: object) -> "Iterator[str]":
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _flat(text: str) -> str:
    """A text without what a shell passes over: quotes, escapes, the width of gaps."""
    bare = re.sub(r"[\"'\\]", "", text.replace("\\\n", " "))
    return " ".join(bare.casefold().split())


def _names(name: str, tool: str) -> bool:
    if name.endswith("*"):
        return tool.startswith(name[:-1])
    return tool == name or (name.startswith("mcp__") and tool.startswith(f"{name}__"))
