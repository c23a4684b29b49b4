"""What must not leak from whoever starts the daemon into it, and from it into sessions.

The first command that needs a daemon starts it, and that command may run inside an agent, a tmux
window or a git hook. A Claude Code session that believes it is a child writes no transcript; a git
told of another repository works there; a process that carries a session's marker dies with it.
"""

from __future__ import annotations

from collections.abc import Mapping

_LEAKING = ("CLAUDE", "TMUX", "WINDLASS_", "GIT_", "AI_AGENT")
_KEPT_KINDS = ("CLAUDE_CODE_USE_", "CLAUDE_CODE_DISABLE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_MAX_")
"""Settings of the person's Claude Code, rather than the identity of one session."""
_KEPT = frozenset(
    {
        "CLAUDE_CODE_OAUTH_TOKEN",
        "CLAUDE_CONFIG_DIR",
        "WINDLASS_HOME",
        "WINDLASS_LOG",
        "WINDLASS_SEED",
        "WINDLASS_CLOCK_SCALE",
        "WINDLASS_DRIVER",
        "WINDLASS_FAILPOINTS",
        "GIT_SSH",
        "GIT_SSH_COMMAND",
        "GIT_EDITOR",
        "GIT_PAGER",
    }
)
_ODD = frozenset({"STY", "WINDOWID", "OLDPWD", "PWD", "SHLVL", "_", "COLUMNS", "LINES"})


def without_leaks(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without what belongs to a calling agent, terminal or git hook."""
    return {
        name: text
        for name, text in environ.items()
        if name in _KEPT
        or name.startswith(_KEPT_KINDS)
        or not (name.startswith(_LEAKING) or name in _ODD)
    }
