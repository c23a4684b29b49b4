"""What the services share: the store, the folders, the sessions, the clock and the dice."""

from __future__ import annotations

import random
import uuid
from pathlib import Path

from windlass.core.crew import Agent
from windlass.core.ids import RepoId, Uid
from windlass.core.ports import Clock, Commands, Sessions
from windlass.daemon.kernel.failpoints import Failpoints
from windlass.daemon.kernel.keyed_locks import KeyedLocks
from windlass.daemon.kernel.memory import Memory
from windlass.daemon.kernel.pools import Pools
from windlass.store.store import Store


class Folders:
    """Where the daemon keeps things, under the state folder and the runtime folder."""

    def __init__(self, home: Path, runtime: Path) -> None:
        self.home = home
        self.runtime = runtime

    def agent(self, uid: Uid) -> Path:
        """An agent's own folder: prompt, settings, conversation, sessions."""
        return self.home / "agents" / uid

    def session(self, uid: Uid, number: int) -> Path:
        """The folder of one session."""
        return self.agent(uid) / "sessions" / str(number)

    def events(self, uid: Uid, number: int) -> Path:
        """Where a session's hooks leave what they saw."""
        return self.session(uid, number) / "events.jsonl"

    def policy(self, uid: Uid) -> Path:
        """What an agent's policy hook decides by when no daemon answers."""
        return self.agent(uid) / "policy.json"

    def private_home(self, uid: Uid) -> Path:
        """A boxed agent's HOME."""
        return self.agent(uid) / "home"

    def temporary(self, uid: Uid) -> Path:
        """The temporary folder of an agent without a box."""
        return self.agent(uid) / "tmp"

    @property
    def mirrors(self) -> Path:
        """Below here lies the mirror of every repository that has boxed agents."""
        return self.home / "mirrors"

    def mirror(self, repo: RepoId) -> Path:
        """What boxed agents see as `origin`: the repository's refs, and nothing else of it."""
        return self.mirrors / repo

    def boxes(self, uid: Uid) -> Path:
        """What boxes beside an agent's sessions are started from; not its own, and of no value."""
        return self.home / "boxes" / uid

    def script(self, uid: Uid) -> Path:
        """The script that a boxed manager gave an agent."""
        return self.agent(uid) / "script.json"

    def fork(self, uid: Uid) -> Path:
        """The conversation that an agent began with, as it was then."""
        return self.agent(uid) / "fork.jsonl"

    def instructions(self, uid: Uid) -> Path:
        """What an agent is told about itself."""
        return self.agent(uid) / "instructions.md"

    @property
    def workspaces(self) -> Path:
        """Below here lies every workspace of ours."""
        return self.home / "workspaces"

    def workspace(self, repo: RepoId, name: str) -> Path:
        """Where an agent's checkout goes."""
        return self.workspaces / repo / name

    def ending(self, repo: RepoId) -> Path:
        """Where workspaces lie while their agents are being ended; no agent has such a name."""
        return self.workspaces / repo / ".ending"

    def sockets(self, uid: Uid) -> Path:
        """An agent's socket folder: who comes in through it is that agent."""
        return self.runtime / uid[:8]

    @property
    def crew(self) -> Path:
        """What is kept of live agents for the day when the store is lost; see `cards`."""
        return self.home / "crew"

    def run(self, job: str) -> Path:
        """What a run of a task leaves behind."""
        return self.home / "runs" / job

    @property
    def archive(self) -> Path:
        """Where ended agents go."""
        return self.home / "archive"


class Context:
    """What the services of one daemon share; built once, before any of them."""

    def __init__(
        self,
        *,
        store: Store,
        folders: Folders,
        sessions: Sessions,
        commands: Commands,
        clock: Clock,
        dice: random.Random,
        failpoints: Failpoints,
        env: dict[str, str],
    ) -> None:
        self.store = store
        self.folders = folders
        self.sessions = sessions
        self.commands = commands
        self.clock = clock
        self.dice = dice
        self.failpoints = failpoints
        self.env = env
        self.pools = Pools()
        self.memory = Memory(store)
        self.locks = KeyedLocks()
        """Of agents, held by whoever ends, merges or steers them."""

    def new_uid(self) -> Uid:
        """Makes an id for the store; random even under a seed, because it names files."""
        return Uid(uuid.uuid4().hex[:12])


def session_name(agent: Agent) -> str:
    """The tmux session of an agent."""
    return f"wl-{agent.repo}-{agent.id}"
