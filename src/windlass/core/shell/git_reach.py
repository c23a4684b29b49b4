"""Where git reaches beyond what is shared: branches of other agents, and what it is told to run."""

from __future__ import annotations

from collections.abc import Iterator

from windlass.core.shell.refusals import Refused
from windlass.core.shell.said import Run


def started(run: Run) -> Iterator[str | Run]:
    """What `rebase -x`, `bisect run`, `submodule foreach` and their kin run: lines and commands."""
    said = [word.text for word in run.words]
    for at, text in enumerate(said[1:], 1):
        if text in ("-x", "--exec", "foreach", "--extcmd") or text.endswith("-filter"):
            yield from run.words[at + 1].texts if at + 1 < len(said) else ()
        elif text.startswith(("--exec=", "--extcmd=")):
            yield text.partition("=")[2]
        elif text == "run" and "bisect" in said[:at] and at + 1 < len(said):
            words = run.words[at + 1 :]
            yield run._replace(words=words, redirects=(), documents=(), outermost=False)


def require_own_branch(said: list[str], own: str) -> None:
    """Refuses to work on the branch of another agent."""
    target = said[2] if len(said) == 3 and said[1] in ("checkout", "switch") else ""
    if target.startswith("agent/") and target != own:
        raise Refused(f"{target} is another agent's; make a branch of your own", "shared")
