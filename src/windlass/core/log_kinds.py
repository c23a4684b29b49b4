"""Which events tell people what happened; the others tell how Windlass went about it."""

from __future__ import annotations

WORKS = frozenset(
    {
        *("intent.open", "intent.done", "intent.retried"),
        *("job.begun", "job.effect", "job.woken", "job.cancelled", "job.done"),
        *("agent.conversation", "agent.reported", "agent.salvaged", "agent.ending"),
        *("message.read", "message.requeued", "message.collapsed", "nudges.over"),
        *("hook.garbage", "output.garbage", "line.skipped", "turn.ended", "turn.over"),
        *("usage.reckoned", "usage.window", "backend.state", "branch.moved"),
        *("clock.stepped", "git.ended"),
        *("notice.posted", "status_node.skipped", "status_file.skipped"),
    }
)
"""Kinds that `wl log` shows with --all alone."""
HOOKS = "hook."
"""What the kinds begin with of what a session's own hooks say: --all has them as well."""


def is_news(kind: str) -> bool:
    """Whether an event is one for people."""
    return kind not in WORKS and not kind.startswith(HOOKS)
