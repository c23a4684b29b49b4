"""What a session, or a command beside it, is started with: everything that a driver has to know.

Starting and stopping sessions is `agents.session_life`'s.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import msgspec

from windlass import drivers
from windlass.box import toolchains
from windlass.core import crew
from windlass.core.config import Config
from windlass.core.crew import Agent
from windlass.core.driver_request import HookChannels, SessionRequest
from windlass.core.errors import Conflict
from windlass.core.session_launch import HOOK_PORT, Mode
from windlass.core.shell import guided
from windlass.daemon.kernel import kept_tokens, repos, settings, untrusted_files
from windlass.daemon.kernel.context import Context
from windlass.daemon.launch.environment import for_box, for_session
from windlass.git import repository
from windlass.store import rows
from windlass.store.rows import Session

TOKEN_FILE = "token_file"  # noqa: S105 - a name
"""The option of a driver that names the file of a token."""
_LARGEST_CONVERSATION = 1 << 30


def _base(
    context: Context, agent: Agent, config: Config, *, needed: Iterable[str] = ()
) -> dict[str, str]:
    """What the environment of a session, or of a project's command beside it, begins with.

    `needed` are patterns of variables that only the agent CLI gets into a box.
    """
    home = context.folders.home
    if agent.isolation == "box":
        also = (*needed, *config.box.env)
        private = context.folders.private_home(agent.uid)
        env = for_box(context.env, home=home, private=private, also=also)
        # Their homes lie in the person's, which is another one inside.
        return {**toolchains.variables(env["PATH"]), **env}
    temporary = context.folders.temporary(agent.uid)
    temporary.mkdir(mode=0o700, parents=True, exist_ok=True)
    own = str(context.folders.agent(agent.uid) / "gitconfig")
    return {
        **for_session(context.env, home=home),
        "TMPDIR": str(temporary),
        # A worktree shares its configuration with all others; this file git reads last of all, and
        # what the agent sets with `git config` goes there.
        guided.OWN_CONFIG: own,
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "include.path",
        "GIT_CONFIG_VALUE_0": own,
    }


def environment(context: Context, agent: Agent) -> dict[str, str]:
    """What every process of an agent is told about itself."""
    repo = repos.by_id(context, agent.repo)
    env = {
        "WINDLASS_AGENT": agent.id,
        "WINDLASS_REPO": repo.root,
        "WINDLASS_SLOT": str(agent.slot),
        "WINDLASS_PORT_BASE": str(crew.port_base(agent.slot)),
    }
    if agent.task:
        env["WINDLASS_TASK"] = agent.task
    if repository.identity(repos.git(repo)) is None:
        # Without an identity git refuses to commit; a fresh machine has none.
        for who in ("AUTHOR", "COMMITTER"):
            env[f"GIT_{who}_NAME"] = f"{agent.id} (windlass)"
            env[f"GIT_{who}_EMAIL"] = f"{agent.id}@windlass.invalid"
    return env


def _part(session: Session) -> dict[str, str]:
    """What a session of a run is told of its part."""
    part = session.part
    if part is None:
        return {}
    return {
        "WINDLASS_RUN": part.run,
        "WINDLASS_STEP": part.name,
        "WINDLASS_VISIT": str(part.visit),
        "WINDLASS_ITERATION": str(part.iteration),
    }


def _most_turns(agent: Agent, session: Session) -> int | None:
    """As many as the agent has, and no more than its step; a live session's are not counted."""
    of_step = session.part.turns if session.part is not None else 0
    return min((most for most in (agent.limits.turns, of_step) if most), default=None)


def first_words(context: Context, agent: Agent, session: Session) -> str:
    """What a conversation begins with: the agent's goal, or what a run wants of this session."""
    part = session.part
    if part is None:
        return agent.goal
    if not part.prompt_file:
        return part.prompt
    try:
        return (context.folders.run(part.run) / part.prompt_file).read_text("utf-8")
    except FileNotFoundError:
        return agent.goal  # its run is over since long, and retention has taken what that left


def session_request(context: Context, agent: Agent, session: Session) -> SessionRequest:
    """Everything that a driver needs to know of a session but for its first words.

    Those are read when it is started: a run's are in a file.
    """
    resume = session.number > 1 if session.part is None else session.part.resumes
    sockets = context.folders.sockets(agent.uid)
    repo = repos.by_id(context, agent.repo).root
    config = settings.usable(context.folders.home, repo).config
    return SessionRequest(
        agent=agent.id,
        folder=str(context.folders.agent(agent.uid)),
        workspace=agent.workspace,
        session_id=agent.conversation,
        mode=agent.mode,
        hooks=_hooks(context, agent, session),
        rewake=_rewake(context, agent, session),
        resume=resume,
        system_prompt_file=str(context.folders.instructions(agent.uid)),
        model=agent.model,
        allow=agent.policy.allow,
        deny=agent.policy.deny,
        yolo=agent.policy.yolo,
        script=agent.script,
        fork_of=str(context.folders.fork(agent.uid)) if agent.fork_of else None,
        max_turns=_most_turns(agent, session),
        max_usd=agent.limits.usd,
        trusted_root=str(context.folders.workspaces) if agent.owns_workspace else None,
        repo=repo,
        options=_written_out(
            context, agent.driver, {**options(config, agent.driver), **agent.options}
        ),
        env=_base(context, agent, config, needed=drivers.get(agent.driver).variables),
        extra_env={
            **environment(context, agent),
            **_part(session),
            "WINDLASS_SOCKET": str(sockets / "api"),
        },
        boxed=agent.isolation == "box",
        relay_token=relay_token(session) if agent.isolation == "box" else "",
        ways=_named(config, agent.driver, "bring"),
        servers=_named(config, agent.driver, "mcp"),
        person_env=for_session(context.env, home=context.folders.home),
    )


def relay_token(session: Session) -> str:
    """What a boxed session shows the daemon's relay in place of a key."""
    digest = hashlib.sha256(f"model of {session.marker}".encode()).hexdigest()
    return f"windlass-{digest[:40]}"


def require_ready(context: Context, driver: str, *, mode: Mode, root: str, config: Config) -> None:
    """Refuses to start what would stop at a question to the person."""
    drivers.get(driver).require_ready(draft(context, driver, mode=mode, root=root, config=config))


def draft(
    context: Context, driver: str, *, mode: Mode, root: str, config: Config, boxed: bool = False
) -> SessionRequest:
    """What is known of a session in or below `root` before there is an agent."""
    nothing = HookChannels(observe=(), policy=(), url="", token="", events="")
    return SessionRequest(
        agent="",
        folder=str(context.folders.home / "agents"),
        workspace=root,
        session_id="",
        mode=mode,
        hooks=nothing,
        trusted_root=root if root == str(context.folders.workspaces) else None,
        boxed=boxed,
        options=_written_out(context, driver, options(config, driver)),
        env=for_session(context.env, home=context.folders.home),
    )


def beside_session(context: Context, agent: Agent) -> SessionRequest:
    """What is to be known to run something else in an agent's place: a setup, a person's command.

    It has no socket: who comes in through that one is the agent.
    """
    repo = repos.by_id(context, agent.repo).root
    config = settings.usable(context.folders.home, repo).config
    known = draft(context, agent.driver, mode=agent.mode, root=agent.workspace, config=config)
    return msgspec.structs.replace(
        known,
        agent=agent.id,
        folder=str(context.folders.agent(agent.uid)),
        boxed=agent.isolation == "box",
        env=_base(context, agent, config),
        extra_env=environment(context, agent),
    )


def transcript(context: Context, agent: Agent) -> str:
    """Where an agent's conversation is kept."""
    session = context.store.read(lambda c: rows.newest_session(c, agent.uid))
    if session is None:
        raise Conflict(f"{agent.id} has had no session yet", f"wl why {agent.id}")
    return drivers.get(agent.driver).transcript(session_request(context, agent, session))


def keep_script(context: Context, agent: Agent, text: str | None) -> None:
    """Keeps the script that a boxed manager gave."""
    if text is not None:
        path = context.folders.script(agent.uid)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def keep_fork(context: Context, agent: Agent) -> None:
    """Copies the conversation to begin with, as it is now: the other agent goes on talking."""
    copy = context.folders.fork(agent.uid)
    if agent.fork_of is None or copy.exists():
        return
    copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = copy.with_name(f"{copy.name}.new")
    try:
        below = _owner(context, agent.fork_of)
        untrusted_files.copy(agent.fork_of, fresh, most=_LARGEST_CONVERSATION, below=below)
    except OSError as error:
        raise Conflict(
            f"the conversation to fork cannot be read: {agent.fork_of}: {error}",
            "fork an agent that has said something",
        ) from None
    fresh.replace(copy)


def _owner(context: Context, conversation: str) -> Path | None:
    """The folder of the agent in which a conversation lies, if it lies in any."""
    agents = context.folders.home / "agents"
    path = Path(conversation)
    return agents / path.relative_to(agents).parts[0] if path.is_relative_to(agents) else None


def options(config: Config, driver: str) -> dict[str, str]:
    """A driver's own part of the configuration: the table of its name, if there is one."""
    own = getattr(config, driver, None)
    known = msgspec.to_builtins(own) if isinstance(own, msgspec.Struct) else {}
    return {name: value for name, value in known.items() if isinstance(value, str)}


def _named(config: Config, driver: str, key: str) -> tuple[str, ...]:
    """A list in a driver's own part of the configuration, if it has such a one."""
    return tuple(getattr(getattr(config, driver, None), key, ()))


def _written_out(context: Context, driver: str, values: dict[str, str]) -> dict[str, str]:
    """Paths below `~` are below the person's home, also where the session has another one.

    A token that is kept stands in for one that no file is named for.
    """
    home = context.env.get("HOME", "/")
    kept = kept_tokens.kept_at(context.folders, driver) is not None
    if kept and not values.get(TOKEN_FILE):
        values = {**values, TOKEN_FILE: kept_tokens.file(context.folders, driver)}
    return {
        name: home + value[1:] if value.startswith("~/") else value
        for name, value in values.items()
    }


def _hooks(context: Context, agent: Agent, session: Session) -> HookChannels:
    events = str(context.folders.events(agent.uid, session.number))
    sockets = context.folders.sockets(agent.uid)
    wake, api = str(sockets / "wake"), str(sockets / "api")
    ours = resources.files("windlass.hooks")
    python = (sys.executable, "-I", "-S")
    policy = str(context.folders.policy(agent.uid))
    return HookChannels(
        observe=(*python, str(ours / "observe.py"), events, wake),
        policy=(*python, str(ours / "policy.py"), events, wake, api, policy),
        url=f"http://127.0.0.1:{HOOK_PORT}/hook",
        token=hashlib.sha256(f"hooks of {session.marker}".encode()).hexdigest()[:32],
        events=events,
    )


def _rewake(context: Context, agent: Agent, session: Session) -> tuple[str, ...]:
    """The hook that waits for mail while a live session is idle, where the CLI can be woken."""
    if agent.mode != "live" or not drivers.get(agent.driver).abilities.rewake:
        return ()
    program = str(resources.files("windlass.hooks") / "rewake.py")
    api = str(context.folders.sockets(agent.uid) / "api")
    return (sys.executable, "-I", "-S", program, api, str(session.number))
