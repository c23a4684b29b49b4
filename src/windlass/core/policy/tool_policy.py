"""What agents may use: tool patterns, and the decision about one call.

A pattern is `Tool`, `Tool(content)` or `mcp__server`; a name may end in `*`. The content of Bash is
a command (see `shell`), of a file tool a path, of WebFetch `domain:…` or an address, of Skill and
Agent a name; a last `:*` makes it a beginning. Patterns that cannot be understood allow nothing and
deny everything of their tool. What everyone has is `mandatory`'s.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

import msgspec

from windlass.core import roles
from windlass.core.crew import Policy
from windlass.core.ids import RoleName
from windlass.core.policy import addresses, tool_calls
from windlass.core.policy.mandatory import ALLOWED, DENIED, QUESTION, SESSION_TOOLS, with_mandatory
from windlass.core.policy.tool_calls import FILE_TOOLS, READING, Decision, ToolCall, Unclear
from windlass.core.shell import guided, line_policy, nearest, paths, refs
from windlass.core.shell.reach import Reach, legible, outside
from windlass.core.shell.steps import TooLong

__all__ = [
    "ALLOWED",
    "DENIED",
    "QUESTION",
    "SESSION_TOOLS",
    "Reach",
    "decide",
    "forbids",
    "permits",
    "suggestion",
    "with_mandatory",
]

_CONTENT_OF = {
    "WebFetch": "url",
    "WebSearch": "query",
    "Skill": "skill",
    "Agent": "subagent_type",
    "Task": "subagent_type",
}
_NOTHING = Policy()
_LONGEST = 128 << 10
"""Of a line at any level: no longer one can be given to a shell."""
_SAYABLE = re.compile(r"[A-Za-z0-9_.*-]+")
"""Names that can stand in a line which a person is told to type: an agent may have made them up."""
_PATTERN = re.compile(r"([^()\s]+)(?:\((.*)\))?", re.DOTALL)


def decide(
    call: ToolCall,
    policy: Policy,
    *,
    inside: Callable[[str], bool] | Reach,
    role: RoleName = roles.USUAL,
) -> Decision:
    """Decides about one call; `inside` says which absolute paths the agent may touch.

    Denials first, then where tools reach, then what is allowed, then where shell commands
    reach; what nobody thought of is denied. A question becomes `ask` where a person allowed
    questions.
    """
    reach = inside if isinstance(inside, Reach) else Reach(inside)
    if call.tool == "Bash" and len(_line(call) or "") > _LONGEST:
        return _too_long()
    loosely = policy.reading == "guided" and not (policy.yolo or reach.boxed)
    denial = next((p for p in policy.deny if forbids(p, call, loosely=loosely)), None)
    if call.tool == QUESTION:
        permit = next((pattern for pattern in policy.allow if permits(pattern, call)), None)
        return _about_a_question(denial, permit)
    if denial is not None:
        return _denied(f"{denial} is denied by policy", rule=denial)
    if policy.yolo:
        return _allowed("yolo")
    refused = _refused(call, policy, reach=reach, role=role)
    if refused is not None:
        return refused
    if call.tool in SESSION_TOOLS:
        return _allowed("mandatory")
    if call.tool == "Bash":
        return _about_a_line(call, policy, reach=reach, role=role)
    permit = next((pattern for pattern in policy.allow if permits(pattern, call)), None)
    if permit is not None:
        return _allowed(permit)
    wanted = [call.tool] if _SAYABLE.fullmatch(call.tool) else []
    return _denied(
        f"{call.tool} is not in the allow list", rule="unknown", wanted=wanted, role=role
    )


def suggestion(call: ToolCall, policy: Policy = _NOTHING, *, role: RoleName = roles.USUAL) -> str:
    """The lines that a person would type to have such calls allowed; empty if no pattern could.

    A comment warns of those that allow everything.
    """
    if any(forbids(pattern, call) for pattern in policy.deny):
        return ""
    lines: list[str] = []
    for pattern in _wanted(call, policy):
        if line_policy.boundless(pattern):
            lines.append(f"# {pattern} allows whatever this program is told to run: anything")
        lines.append(f"wl config add permissions.{role}.allow '{pattern}'")
    return "\n".join(lines)


def permits(pattern: str, call: ToolCall) -> bool:
    """Whether a pattern of an allow list certainly means this call."""
    name, content = _parsed(pattern)
    if not _names(name, call.tool) or content == "":
        return False
    if content is None:
        return True
    if call.tool == "Bash":
        line = _line(call)
        return line is not None and line_policy.vouches(line, [content])
    if call.tool in FILE_TOOLS:
        reached = _reached(call)
        return bool(reached) and all(_path_fits(content, path) for path in reached)
    if call.tool == "WebFetch" and content.startswith("domain:"):
        host = _host(call)
        return host is not None and fnmatchcase(host, content.removeprefix("domain:").lower())
    said = _said(call)
    return said is not None and _text_fits(content, said)


def forbids(pattern: str, call: ToolCall, *, loosely: bool = False) -> bool:
    """Whether a pattern of a deny list may mean this call.

    Loosely means: what it says of commands is looked for where the line is judged.
    """
    name, content = _parsed(pattern)
    if not _names(name, call.tool):
        return False
    if not content:
        return True
    if call.tool == "Bash":
        line = _line(call)
        return line is None or (not loosely and line_policy.mentions(line, content))
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
        "nobody is at this terminal, so your question was passed on, as `wl ask` does; the answer"
        " comes as a message: go on with what does not need it, or end your turn with a last line"
        " WAITING",
        rule=denial or QUESTION,
    )


def _about_a_line(call: ToolCall, policy: Policy, *, reach: Reach, role: RoleName) -> Decision:
    line = _line(call)
    if line is None or not line.strip():
        return _denied("this is no command", rule="unclear")
    if not reach.boxed and len(line) > line_policy.LONGEST:
        return _too_long()
    bare, known = _for_the_shell(policy.allow)
    if line_policy.is_one_of(line, known):
        # A person wrote down just this line, with the paths in it.
        return _allowed(f"Bash({line.strip()})")
    if policy.reading == "guided" and not reach.boxed:
        return _guided(line, call.cwd, policy, known, reach=reach, role=role)
    if bare is None and not line_policy.vouches(line, known):
        return _not_allowed(line, known, role)
    problem = paths.refusal(
        line, call.cwd, reach, spelled=lambda words: line_policy.spelled(words, known)
    )
    if problem is not None:
        return _denied(problem, rule="paths")
    change = None if reach.boxed else _shared_change(line, known, workspace=reach.workspace)
    if change is not None:
        return _denied(change.reason, rule="shared", wanted=change.patterns, role=role)
    if bare is not None or reach.boxed:
        return _allowed(bare or "the allow list, each of its commands")
    # Whatever two readers agree on goes nowhere that it could not be led to by a guided one.
    also = guided.judge(line, call.cwd, reach, allow=known).refusal
    if also is not None and also.rule != "unclear":
        return _denied(also.reason, rule=also.rule, wanted=also.patterns, role=role)
    return _allowed("the allow list, each of its commands")


def _guided(
    line: str,
    cwd: str,
    policy: Policy,
    known: tuple[str, ...],
    *,
    reach: Reach,
    role: RoleName,
) -> Decision:
    """Judges a line by where it reaches."""
    denied = _denied_commands(policy.deny)
    judged = guided.judge(line, cwd, reach, allow=known, deny=denied)
    refused = judged.refusal
    if refused is None:
        allowed = _allowed("what it reaches")
        changed = judged.line if judged.line != line else ""
        return msgspec.structs.replace(allowed, line=changed)
    meant = (
        guess
        for guess in nearest.guesses(line, refused.path, reach, writes=refused.writes)
        if guided.judge(guess, cwd, reach, allow=known, deny=denied).refusal is None
    )
    guess = next(meant, "")
    instead = f". This would be allowed: {guess}" if guess else ""
    denial = _denied(
        f"{refused.reason}{instead}", rule=refused.rule, wanted=refused.patterns, role=role
    )
    lifting = refused.patterns or (
        line_policy.word_for_word(line) if refused.rule == "paths" else ()
    )
    return msgspec.structs.replace(denial, patterns=tuple(lifting))


@lru_cache(maxsize=64)
def _denied_commands(deny: tuple[str, ...]) -> tuple[str, ...]:
    parsed = map(_parsed, deny)
    return tuple(content for name, content in parsed if _names(name, "Bash") and content)


def _too_long() -> Decision:
    return _denied(f"this line cannot be judged: {TooLong()}", rule="unclear")


def _shared_change(line: str, known: Sequence[str], *, workspace: str) -> refs.SharedChange | None:
    """What a line would take from others, unless a person has spelled that out."""
    own = f"agent/{posixpath.basename(workspace)}"
    for command in line_policy.read_line(line).commands:
        change = refs.shared_change(command, own=own)
        if change is not None and line_policy.spelled(command, known) <= change.at:
            return change
    return None


def _wanted(call: ToolCall, policy: Policy) -> list[str]:
    """The patterns that would allow a call which is not allowed yet."""
    if call.tool == "Bash":
        return _wanted_line(_line(call) or "", policy)
    if call.tool == "WebFetch":
        return _wanted_host(call)
    never = call.tool in (*DENIED, *FILE_TOOLS, *SESSION_TOOLS)
    return [] if never or not _SAYABLE.fullmatch(call.tool) else [call.tool]


def _wanted_line(line: str, policy: Policy) -> list[str]:
    bare, known = _for_the_shell(policy.allow)
    missing = [] if bare is not None else line_policy.suggestions(line, known)
    change = _shared_change(line, known, workspace="")
    return missing or (change.patterns if change is not None else [])


def _wanted_host(call: ToolCall) -> list[str]:
    host = _host(call) or ""
    return [f"WebFetch(domain:{host})"] if _SAYABLE.fullmatch(host) else []


def _not_allowed(line: str, known: Sequence[str], role: RoleName) -> Decision:
    reading = line_policy.read_line(line)
    wanted = line_policy.suggestions(line, known)
    if reading.doubts:
        plainer = ". Write it more plainly, one command after the other"
        reason = f"this line cannot be judged: {'; '.join(reading.doubts[:3])}"
        if not reading.settled:
            return _denied(f"{reason}{plainer}", rule="unclear")
        return _denied(reason, rule="unclear", wanted=wanted, role=role)
    names = dict.fromkeys(
        command[0].text for command in line_policy.unallowed_commands(line, known)
    )
    said = ", ".join(names) or "it"
    return _denied(f"not in the allow list: {said}", rule="unknown", wanted=wanted, role=role)


def _hint(wanted: Iterable[str], role: RoleName) -> str:
    lines = [f"wl config add permissions.{role}.allow '{pattern}'" for pattern in wanted]
    if not lines:
        return ""
    return f"; a person can allow it to agents started from then on: {' && '.join(lines)}"


def _line(call: ToolCall) -> str | None:
    line = call.input.get("command")
    return line if isinstance(line, str) else None


@lru_cache(maxsize=64)
def _for_the_shell(allow: tuple[str, ...]) -> tuple[str | None, tuple[str, ...]]:
    """The pattern that allows every line, if there is one, and the commands that others allow."""
    parsed = [(pattern, *_parsed(pattern)) for pattern in allow]
    ours = [(pattern, content) for pattern, name, content in parsed if _names(name, "Bash")]
    bare = next((pattern for pattern, content in ours if content is None), None)
    return bare, tuple(content for _, content in ours if content)


def _refused(call: ToolCall, policy: Policy, *, reach: Reach, role: RoleName) -> Decision | None:
    """What a tool may not do although it is allowed: go where nothing is the agent's."""
    if call.tool in FILE_TOOLS:
        return _outside(call, reach)
    if call.tool == "WebFetch":
        return _inwards(call, policy, reach=reach, role=role)
    if reach.boxed:
        return None
    if call.tool in ("Agent", "Task") and call.input.get("isolation"):
        return _denied(
            "a helper with a worktree of its own would work outside of what is kept for you; ask"
            " again without isolation, and it works in your workspace",
            rule="paths",
        )
    if call.tool == "Bash" and call.input.get("dangerouslyDisableSandbox"):
        return _denied(
            "nothing runs without the sandbox that it has; ask again without"
            " dangerouslyDisableSandbox",
            rule="sandbox",
        )
    return None


def _outside(call: ToolCall, reach: Reach) -> Decision | None:
    try:
        reached = tool_calls.paths(call)
    except Unclear as error:
        return _denied(str(error), rule="paths")
    for path in reached:
        if not reach.inside(path) and not (call.tool in READING and legible(path, reach)):
            return _denied(outside(path, reach), rule="paths")
    return None


def _inwards(call: ToolCall, policy: Policy, *, reach: Reach, role: RoleName) -> Decision | None:
    """Whether an address is one of this machine or the network around it.

    In a box it is the box's network that decides. What a person allowed by name is allowed.
    """
    if _said(call) is None:
        return _denied("WebFetch names no address", rule="unclear")
    if reach.boxed or any(
        permits(pattern, call) for pattern in policy.allow if _parsed(pattern)[1]
    ):
        return None
    host = _host(call)
    if host is None:
        return _denied("write the address out, as https://host/path", rule="unclear")
    if not addresses.inner(host):
        return None
    return _denied(
        f"{host} is this machine or in the network around it, which is not for agents",
        rule="network",
        wanted=_wanted_host(call),
        role=role,
    )


def _parsed(pattern: str) -> tuple[str, str | None]:
    """The name and the content of a pattern; an empty content is one that makes no sense."""
    parts = _PATTERN.fullmatch(pattern.strip())
    if parts is None:
        return pattern.strip().partition("(")[0].strip(), ""
    return parts[1], parts[2]


def _names(name: str, tool: str) -> bool:
    if name.endswith("*"):
        return tool.startswith(name[:-1])
    return tool == name or (name.startswith("mcp__") and tool.startswith(f"{name}__"))


def _reached(call: ToolCall) -> list[str]:
    try:
        return [posixpath.normpath(path) for path in tool_calls.paths(call)]
    except Unclear:
        return []


def _path_fits(content: str, path: str) -> bool:
    """Whether a path is or is below what a pattern says; one without a root starts anywhere."""
    wanted = content.removesuffix(":*").removesuffix("/**").removeprefix("~/").removeprefix("./")
    wanted = "/" + wanted.lstrip("/") if wanted.startswith("/") else f"*/{wanted}"
    return fnmatchcase(path, wanted) or fnmatchcase(path, f"{wanted.rstrip('/')}/*")


def _host(call: ToolCall) -> str | None:
    """The host of an address that every parser reads alike; None for any other."""
    return addresses.host(call.input.get("url"))


def _said(call: ToolCall) -> str | None:
    said = call.input.get(_CONTENT_OF.get(call.tool, ""))
    return said if isinstance(said, str) else None


def _text_fits(content: str, said: str) -> bool:
    if content.endswith(":*"):
        return said.startswith(content[:-2])
    return said == content


def _allowed(rule: str) -> Decision:
    return Decision(verdict="allow", reason=f"allowed by {rule}", rule=rule)


def _denied(
    reason: str, *, rule: str, wanted: Sequence[str] = (), role: RoleName = roles.USUAL
) -> Decision:
    said = f"{reason}{_hint(wanted, role)}"
    return Decision(verdict="deny", reason=said, rule=rule, patterns=tuple(wanted))
