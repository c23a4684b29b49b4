"""Answers the hooks of the person's own agent session: instructions, news of the crew, one guard.

Everything here is guidance: what cannot be understood gets no answer, and the session goes on as if
there were no hook. What a session was told last is kept in memory; a new daemon tells it again.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from windlass.api.verbs import Caller
from windlass.api.wire.hooks import HookInput, HookOutput
from windlass.api.wire.mail import QuestionView
from windlass.api.wire.views import AgentView
from windlass.core.ids import RepoId
from windlass.core.mail.mentions import unmentioned
from windlass.core.mail.messages import FRAME
from windlass.core.person import briefing
from windlass.core.person.briefing import Gist
from windlass.core.shell import cd
from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.mail.questions import Questions
from windlass.daemon.person import primary_hooks
from windlass.daemon.views.agents import AgentViews
from windlass.store import rows
from windlass.store.rows import Repo

_PERSON = Caller(None)
_MOST_SESSIONS = 256
_LONGEST = 20_000
_NEWS_AT = ("UserPromptSubmit", "PostToolUse")


class _CrewAsSeen(NamedTuple):
    """What a crew was like; true until there is an event newer than `event`."""

    event: int
    gist: Gist
    active: bool


class Primary:
    """The verb `primary`: a hook's input as it came, and the hook's output as it is printed."""

    def __init__(
        self,
        context: Context,
        views: AgentViews,
        questions: Questions,
        armed: Callable[[RepoId], bool],
    ) -> None:
        self._context = context
        self._views = views
        self._questions = questions
        self._armed = armed
        self._last_told: OrderedDict[tuple[str, RepoId], Gist] = OrderedDict()
        """What each session knows of a crew, the one that heard something last at the end."""
        self._crews: dict[RepoId, _CrewAsSeen] = context.memory.per_repo()
        self._guard = threading.Lock()

    def answer(self, _caller: Caller, request: HookInput) -> HookOutput:
        """Answers one hook; no opinion is an empty answer."""
        event, cwd = request.get("hook_event_name"), request.get("cwd")
        if not isinstance(event, str) or not isinstance(cwd, str) or not cwd.startswith("/"):
            return {}
        if event == "PreToolUse":
            return self._guarded(request, cwd)
        if request.get("agent_id") is not None:
            return {}  # a subagent's: the crew is not its business
        repo = repos.known(self._context, cwd)
        session = str(request.get("session_id"))
        if event == "SessionStart":
            return self._welcome(session, repo, cwd)
        if event in _NEWS_AT and repo is not None:
            return self._news(event, session, repo)
        return {}

    def _welcome(self, session: str, repo: Repo | None, cwd: str) -> HookOutput:
        if repo is None:
            meant = _is_meant_for_windlass(cwd)
            return _context("SessionStart", primary_hooks.instructions()) if meant else {}
        agents, questions = self._crew(repo)
        self._remember(session, repo, briefing.gist(agents, questions))
        status = briefing.status(repo.root, agents, questions)
        return _context("SessionStart", f"{primary_hooks.instructions()}\n{status}")

    def _news(self, event: str, session: str, repo: Repo) -> HookOutput:
        crew = self._glance(repo)
        texts = []
        if self._remember(session, repo, crew.gist) != crew.gist:
            texts.append(briefing.status(repo.root, *self._crew(repo)))
        if event == "PostToolUse" and crew.active and not self._armed(repo.id):
            texts.append(briefing.REMINDER)
        return _context(event, "\n".join(texts)) if texts else {}

    def _glance(self, repo: Repo) -> _CrewAsSeen:
        """The crew, looked at only where something has happened: this runs at every tool call."""
        latest = self._context.store.read(lambda c: rows.events(c, last=1))
        event = latest[-1].id if latest else 0
        seen = self._crews.get(repo.id)
        if seen is None or seen.event != event:
            agents, questions = self._crew(repo)
            gist = briefing.gist(agents, questions)
            seen = self._crews[repo.id] = _CrewAsSeen(event, gist, briefing.active(agents))
        return seen

    def _crew(self, repo: Repo) -> tuple[list[AgentView], list[QuestionView]]:
        agents = self._views.agents(_PERSON, {"cwd": repo.root})
        return agents, self._questions.listed(_PERSON, {"cwd": repo.root})

    def _remember(self, session: str, repo: Repo, gist: Gist) -> Gist:
        """Notes what a session is told of a crew now; returns what it was told before that."""
        key = (session, repo.id)
        with self._guard:
            before = self._last_told.pop(key, ())
            self._last_told[key] = gist
            while len(self._last_told) > _MOST_SESSIONS:
                self._last_told.popitem(last=False)
        return before

    def _guarded(self, request: HookInput, cwd: str) -> HookOutput:
        """Denies going into the workspace of an agent, and says what does without."""
        tool_input = request.get("tool_input")
        line = tool_input.get("command") if isinstance(tool_input, dict) else None
        if request.get("tool_name") != "Bash" or not isinstance(line, str) or len(line) > _LONGEST:
            return {}
        home = self._context.folders.home
        variables = {"HOME": self._context.env.get("HOME", ""), "WINDLASS_HOME": str(home)}
        targets = cd.entered(line, cwd=cwd, known=variables)
        here = self._workspace(cwd)
        entered = {self._workspace(folder) for folder in targets.folders} - {here, None}
        names = [self._owner(path) for path in sorted(entered, key=str) if path is not None]
        names += sorted(targets.agents)
        return _denial(names[0]) if names else {}

    def _workspace(self, folder: str) -> Path | None:
        """The workspace that a folder lies in."""
        top = Path(os.path.realpath(self._context.folders.workspaces))
        try:
            below = Path(os.path.realpath(folder)).relative_to(top).parts
        except ValueError:  # elsewhere, or no name that a folder could have
            return None
        return top.joinpath(*below[:2]) if len(below) >= 2 else None

    def _owner(self, workspace: Path) -> str:
        """The agent whose workspace a folder is, or was."""
        live = self._context.store.read(rows.agents)
        owners = [a.id for a in live if os.path.realpath(a.workspace) == str(workspace)]
        return owners[0] if owners else workspace.name


def _is_meant_for_windlass(cwd: str) -> bool:
    """Whether a folder is in a repository that is meant for Windlass, though nobody said so yet."""
    for folder in (Path(cwd), *Path(cwd).parents):
        if (folder / ".git").exists():
            return (folder / ".windlass").is_dir()
    return False


def _context(event: str, text: str) -> HookOutput:
    """A text for the person's session; what agents say in it ends no frame that it is shown in.

    Nor does it name a file that would be read along.
    """
    said = unmentioned(FRAME.sub("(", text))
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": said}}


def _denial(name: str) -> HookOutput:
    reason = (
        f"This is the workspace of the agent {name}, which is at work there: do not cd into it. "
        f"`wl exec {name} -- COMMAND` runs a command in it, `wl path {name}` prints where it is, "
        f"`wl diff {name}` shows what it changed; files there may be read by their full path."
    )
    decision = {"permissionDecision": "deny", "permissionDecisionReason": reason}
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **decision}}
