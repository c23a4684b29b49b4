"""What agents may use: tool patterns, what everyone has, and the decision about one call.

A pattern is `Tool`, `Tool(content)` or `mcp__server`; a name may end in `*`. The content of Bash is
a command (see `shell`), of a file tool a path, of WebFetch `domain:…` or an address, of Skill and
Agent a name; a last `:*` makes it a beginning. Patterns that cannot be understood allow nothing and
deny everything of their tool.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from fnmatch import fnmatchcase

from windlass.core import shell, toolcalls
from windlass.core.crew import Policy, Role
from windlass.core.toolcalls import FILE_TOOLS, Decision, ToolCall, Unclear

SESSION_TOOLS: tuple[str, ...] = (
    *("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"),
    *("Skill", "ToolSearch", "BashOutput", "TaskOutput", "KillShell", "TaskStop"),
    *("Agent", "Task"),
)
"""They touch only the session itself: its lists, its own background work, its helpers.

A helper (`Agent`, until lately `Task`) reaches the world through tools that are asked about again.
"""
ALLOWED: tuple[str, ...] = (
    *FILE_TOOLS,
    # As a whole, because a worker must be able to build and test; a box confines it, not a list.
    "Bash",
    *SESSION_TOOLS,
    "WebFetch",
    "WebSearch",
)
DENIED: tuple[str, ...] = (
    *("EnterPlanMode", "ExitPlanMode", "AskUserQuestion"),
    *("EnterWorktree", "ExitWorktree"),
)
"""Plan mode and questions stop a crew until a person looks; agents work, or end their turn.

Worktrees of the CLI's own would take an agent out of the workspace that we keep and salvage.
"""
QUESTION = "AskUserQuestion"

_CONTENT_OF = {
    "WebFetch": "url",
    "WebSearch": "query",
    "Skill": "skill",
    "Agent": "subagent_type",
    "Task": "subagent_type",
}
_PATTERN = re.compile(r"([^()\s]+)(?:\((.*)\))?", re.DOTALL)
_ADDRESS = re.compile(r"https?://([a-z0-9.-]+)(?::[0-9]+)?(?:[/?#].*)?", re.DOTALL | re.IGNORECASE)


def with_mandatory(given: Policy) -> Policy:
    """Adds what every agent may and may not use; what was allowed by name is not denied."""
    denied = [name for name in DENIED if name not in given.allow]
    return Policy(
        allow=tuple(dict.fromkeys((*ALLOWED, *given.allow))),
        deny=tuple(dict.fromkeys((*denied, *given.deny))),
        yolo=given.yolo,
    )


def decide(
    call: ToolCall, policy: Policy, *, inside: Callable[[str], bool], role: Role = "worker"
) -> Decision:
    """Decides about one call; `inside` says whether the agent may touch an absolute path.

    Denials first, then where file tools reach, then what is allowed; what nobody thought of is
    denied. A question becomes `ask` where a person allowed questions.
    """
    denial = next((pattern for pattern in policy.deny if forbids(pattern, call)), None)
    permit = next((pattern for pattern in policy.allow if permits(pattern, call)), None)
    if call.tool == QUESTION:
        return _about_a_question(denial, permit)
    if denial is not None:
        return _denied(f"{denial} is denied by policy", rule=denial)
    if policy.yolo:
        return _allowed("yolo")
    if call.tool in FILE_TOOLS and (outside := _outside(call, inside)) is not None:
        return outside
    if call.tool in SESSION_TOOLS:
        return _allowed("mandatory")
    if permit is not None:
        return _allowed(permit)
    wanted = call.tool
    if call.tool == "Bash":
        wanted = shell.suggestion(str(call.input.get("command", "")))
    return _denied(
        f"{call.tool} is not in the allow list for this; a person can allow it to agents started"
        f" from then on: wl config add permissions.{role}.allow '{wanted}'",
        rule="unknown",
    )


def permits(pattern: str, call: ToolCall) -> bool:
    """Whether a pattern of an allow list certainly means this call."""
    name, content = _parsed(pattern)
    if not _names(name, call.tool) or content == "":
        return False
    if content is None:
        return True
    if call.tool == "Bash":
        command = call.input.get("command")
        return isinstance(command, str) and shell.covers(command, content)
    if call.tool in FILE_TOOLS:
        reached = _reached(call)
        return bool(reached) and all(_path_fits(content, path) for path in reached)
    if call.tool == "WebFetch" and content.startswith("domain:"):
        host = _host(call)
        return host is not None and fnmatchcase(host, content.removeprefix("domain:").lower())
    said = _said(call)
    return said is not None and _text_fits(content, said)


def forbids(pattern: str, call: ToolCall) -> bool:
    """Whether a pattern of a deny list may mean this call."""
    name, content = _parsed(pattern)
    if not _names(name, call.tool):
        return False
    if not content:
        return True
    if call.tool == "Bash":
        command = call.input.get("command")
        return not isinstance(command, str) or shell.mentions(command, content)
    if call.tool in FILE_TOOLS:
        reached = _reached(call)
        return not reached or any(_path_fits(content, path) for path in reached)
    if call.tool == "WebFetch" and content.startswith("domain:"):
        host, domain = _host(call), content.removeprefix("domain:").lower()
        return host is None or fnmatchcase(host, domain) or host.endswith(f".{domain}")
    said = _said(call)
    return said is None or _text_fits(content, said)


def _about_a_question(denial: str | None, permit: str | None) -> Decision:
    if denial is None and permit is not None:
        return Decision(verdict="ask", reason="questions are allowed", rule=permit)
    return _denied(
        "nobody is at this terminal to answer; end your turn with your question"
        " and a last line WAITING",
        rule=denial or QUESTION,
    )


def _outside(call: ToolCall, inside: Callable[[str], bool]) -> Decision | None:
    try:
        beyond = next((path for path in toolcalls.paths(call) if not inside(path)), None)
    except Unclear as error:
        return _denied(str(error), rule="paths")
    if beyond is None:
        return None
    return _denied(f"{beyond} is outside of the agent's workspace", rule="paths")


def _parsed(pattern: str) -> tuple[str, str | None]:
    """The name and the content of a pattern; an empty content is one that makes no sense."""
    found = _PATTERN.fullmatch(pattern.strip())
    if found is None:
        return pattern.strip().partition("(")[0].strip(), ""
    return found[1], found[2]


def _names(name: str, tool: str) -> bool:
    if name.endswith("*"):
        return tool.startswith(name[:-1])
    return tool == name or (name.startswith("mcp__") and tool.startswith(f"{name}__"))


def _reached(call: ToolCall) -> list[str]:
    try:
        return [posixpath.normpath(path) for path in toolcalls.paths(call)]
    except Unclear:
        return []


def _path_fits(content: str, path: str) -> bool:
    """Whether a path is or is below what a pattern says; one without a root starts anywhere."""
    wanted = content.removesuffix(":*").removesuffix("/**").removeprefix("~/").removeprefix("./")
    wanted = "/" + wanted.lstrip("/") if wanted.startswith("/") else f"*/{wanted}"
    return fnmatchcase(path, wanted) or fnmatchcase(path, f"{wanted.rstrip('/')}/*")


def _host(call: ToolCall) -> str | None:
    """The host of an address that every parser reads alike; None for any other."""
    url = call.input.get("url")
    found = _ADDRESS.fullmatch(url) if isinstance(url, str) else None
    return found[1].lower() if found else None


def _said(call: ToolCall) -> str | None:
    said = call.input.get(_CONTENT_OF.get(call.tool, ""))
    return said if isinstance(said, str) else None


def _text_fits(content: str, said: str) -> bool:
    if content.endswith(":*"):
        return said.startswith(content[:-2])
    return said == content


def _allowed(rule: str) -> Decision:
    return Decision(verdict="allow", reason=f"allowed by {rule}", rule=rule)


def _denied(reason: str, *, rule: str) -> Decision:
    return Decision(verdict="deny", reason=reason, rule=rule)
