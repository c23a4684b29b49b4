"""The services of a daemon in the test's own process: real git, a real store, fake sessions.

For whatever happens to agents over several steps: a step takes as long as its git does.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from tests.support.contexts import NoSockets
from tests.support.fake_sessions import FakeSession, FakeSessions

from windlass.api.verbs import Caller
from windlass.core.crew import Agent
from windlass.core.ids import Uid
from windlass.core.states import State
from windlass.daemon.kernel.context import Context, session_name
from windlass.daemon.launch import session_request
from windlass.daemon.routes import routes
from windlass.daemon.services import Services
from windlass.store import rows

_IDENTITY = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
_ENV = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
WITHOUT_A_GATE = '[landing]\nunproven = "a test without a gate"\n'
"""Few repositories of tests have a gate, and agents are merged all the same."""


def git(cwd: Path, *words: str) -> str:
    """Runs plain git, as a person or an agent would."""
    argv = ["git", *_IDENTITY, *words]
    done = subprocess.run(argv, cwd=cwd, env=_ENV, check=True, capture_output=True, text=True)
    return done.stdout


class Workshop:
    """The services of a daemon, wired as it wires them, and a repository to work on."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.repo = context.folders.home / "work"
        self.repo.mkdir()
        git(self.repo, "init", "-q", "-b", "main")
        git(self.repo, "commit", "-q", "--allow-empty", "-m", "first")
        (context.folders.home / "config.toml").write_text(WITHOUT_A_GATE)
        self.restart()

    def restart(self) -> None:
        """Has a daemon be there in the place of the one before."""
        self.services = Services(self.context, NoSockets())
        self._table = routes(self.services)

    def close(self) -> None:
        """Begins nothing more."""
        self.services.delivery.close()

    def ask(self, verb: str, **request: Any) -> Any:
        """Asks as the person."""
        return self._table[verb].answer(Caller(None), {"cwd": str(self.repo), **request})

    def ask_as(self, caller: Agent, verb: str, /, **request: Any) -> Any:
        """Asks as an agent does, from its workspace."""
        return self._table[verb].answer(Caller(caller.uid), {"cwd": caller.workspace, **request})

    def agent(self, uid: str) -> Agent:
        """An agent as it is kept now."""
        agent = self.context.store.read(lambda c: rows.agent(c, Uid(uid)))
        assert agent is not None
        return agent

    def session(self, agent: Agent) -> FakeSession:
        """The newest session of an agent."""
        assert isinstance(self.context.sessions, FakeSessions)
        return self.context.sessions[session_name(agent)]

    def state(self, agent: Agent) -> State:
        """What an agent does, as far as its session has told by now."""
        self.services.watcher.look(agent.uid)
        return self.agent(agent.uid).state

    def converse(self, agent: Agent, text: str) -> None:
        """Writes the first message of an agent's conversation."""
        path = Path(session_request.transcript(self.context, agent))
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"type": "user", "message": {"content": text}}) + "\n")
