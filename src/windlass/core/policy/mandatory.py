"""What every agent may and may not use, whatever was configured, and why.

At level `box` the shell is free, because the box is the limit. At level `hooks` lists are all there
is: git, `wl`, the commands below and the project's own (its gate, its workspace's setup).
"""

from __future__ import annotations

from collections.abc import Iterable

from windlass.core.box_spec import Level
from windlass.core.crew import Policy
from windlass.core.policy.tool_calls import FILE_TOOLS
from windlass.core.shell import line_policy

SESSION_TOOLS: tuple[str, ...] = (
    *("TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"),
    *("Skill", "ToolSearch", "BashOutput", "TaskOutput", "KillShell", "TaskStop"),
    *("Agent", "Task"),
)
"""They touch only the session itself: its lists, its own background work, its helpers.

A helper (`Agent`, until lately `Task`) reaches the world through tools that are asked about again.
"""
SHELL_WORDS: tuple[str, ...] = (
    # Of the shell itself. What can rename commands or run text (eval, source, trap, alias, hash) is
    # never judged; export, read, printf, test and set are, but for what hides commands in names.
    *(":", "true", "false", "cd", "pwd", "echo", "printf", "test", "[", "read", "export"),
    *("local", "readonly", "declare", "unset", "set", "shift", "exit", "return", "break"),
    *("continue", "wait", "type", "which", "umask", "jobs"),
    # They run others: `shell_runs` finds these, and they have to be allowed as well.
    *("env", "command", "builtin", "exec", "nice", "nohup", "time", "timeout", "xargs", "stdbuf"),
    # Files. Which of them is for the path policy. find runs others with -exec only.
    *("ls", "cat", "head", "tail", "tac", "nl", "wc", "mkdir", "rmdir", "touch", "cp", "mv"),
    *("rm", "ln", "chmod", "stat", "file", "du", "df", "find", "tree", "tee", "mktemp"),
    *("basename", "dirname", "realpath", "readlink", "cmp", "diff", "comm", "md5sum", "sha1sum"),
    *("sha256sum", "cksum", "od", "xxd", "hexdump", "strings"),
    # Text. Programs of sed and awk are read, because both can run commands and write files, and
    # so is sort's --compress-program. Left out: tar, split, vi, less, man, which can run others.
    *("grep", "egrep", "fgrep", "sed", "awk", "sort", "uniq", "cut", "paste", "tr", "join"),
    *("column", "fold", "rev", "expand", "seq", "expr", "jq"),
    # Looking around.
    *("date", "sleep", "whoami", "id", "uname", "hostname", "printenv", "ps", "nproc"),
)
"""The basic commands of a shell. `kill` is not among them: it reaches other agents and the crew."""
SHELL: tuple[str, ...] = tuple(
    f"Bash({name}:*)" for name in ("git", "wl", "windlass", *SHELL_WORDS)
)
TOOLS: tuple[str, ...] = (*FILE_TOOLS, *SESSION_TOOLS, "WebFetch", "WebSearch")
ALLOWED: tuple[str, ...] = (*TOOLS, "Bash")
"""In a box."""
QUESTION = "AskUserQuestion"
DENIED: tuple[str, ...] = (
    *("EnterPlanMode", "ExitPlanMode", QUESTION),
    *("EnterWorktree", "ExitWorktree"),
)
"""Plan mode and questions stop a crew until a person looks; agents work, or end their turn.

Worktrees of the CLI's own would take an agent out of the workspace that we keep and salvage.
"""


def with_mandatory(policy: Policy, *, level: Level = "box", commands: Iterable[str] = ()) -> Policy:
    """Adds what every agent may and may not use; what was allowed by name is not denied.

    `commands` are lines of the project's own, allowed as they are and with more behind them.
    """
    own = [pattern for line in commands for pattern in line_policy.patterns(line)]
    everyone = ALLOWED if level == "box" else (*TOOLS, *SHELL, *own)
    denied = [name for name in DENIED if name not in policy.allow]
    return Policy(
        allow=tuple(dict.fromkeys((*everyone, *policy.allow))),
        deny=tuple(dict.fromkeys((*denied, *policy.deny))),
        yolo=policy.yolo,
        reading=policy.reading,
    )
