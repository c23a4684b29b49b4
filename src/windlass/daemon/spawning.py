"""Starting an agent: a row, a workspace, a setup, a session."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Any

from windlass import drivers
from windlass.api.server import Caller
from windlass.api.wire import SpawnRequest
from windlass.core import crew, ids, names, policy
from windlass.core.config import Config
from windlass.core.crew import Agent, Policy, Role, Spawn
from windlass.core.errors import Conflict, UserError
from windlass.core.ids import AgentId, Uid
from windlass.core.states import State
from windlass.daemon import commands, ending, finding, lodging, repos, settings
from windlass.daemon.context import Context
from windlass.daemon.intents import Begin, Operation, Step, Work
from windlass.daemon.lodging import Doors
from windlass.git import repository, runner, workspaces
from windlass.git.repository import Repository
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing


class Spawning:
    """The operation `spawn` and the request that begins it."""

    def __init__(self, context: Context, doors: Doors) -> None:
        self._context = context
        self._doors = doors

    def operation(self) -> Operation:
        """The steps of a spawn."""
        return Operation(
            kind="spawn",
            steps=(
                Step("workspace", self._workspace, self._abandon),
                Step("setup", self._setup),
                Step("session", self._session),
            ),
            locks=lambda data: [Uid(data["uid"])],
            result=self._result,
        )

    def begin(self, caller: Caller, request: SpawnRequest) -> Begin:
        """Checks a request as far as it can be without doing anything, and says how to begin."""
        context = self._context
        runner.require_version()
        context.sessions.tmux.require_version()
        where = finding.scope(context, caller, request)
        repo = where.repo or repos.add(context, request.get("cwd", ""))
        git = repos.git(repo)
        head = repository.require_commit(git)
        config = settings.load(context.folders.home, repo.root)
        goal = request["goal"].strip()
        if not goal:
            raise UserError("an agent needs a goal", 'wl new "what to do", or the goal on stdin')
        driver = request.get("driver") or context.env.get("WINDLASS_DRIVER") or config.driver
        drivers.get(driver).check()
        given = _policy(request, config, role := request.get("role") or "worker")
        parent = where.caller
        if named := request.get("parent"):
            parent = finding.parent_named(context, finding.Scope(repo, where.caller), named)
        name = ids.agent_id(wanted) if (wanted := request.get("name")) else None
        script = _script(request.get("script"), request.get("cwd", repo.root))
        base, base_from = _base(git, head, parent)

        def prepare(writing: Writing) -> dict[str, Any]:
            live = rows.agents(writing.connection, repo=repo.id)
            spawn = Spawn(role=role, parent=parent, caller=where.caller, policy=given)
            crew.check_spawn(spawn, live=live, max_agents=config.max_agents)
            chosen = self._name(git, name, live)
            own = request.get("worktree", True)
            workspace = context.folders.workspace(repo.id, chosen)
            agent = Agent(
                uid=context.new_uid(),
                repo=repo.id,
                id=chosen,
                role=role,
                parent=parent.uid if parent else None,
                goal=goal,
                driver=driver,
                model=request.get("model") or config.model or None,
                mode=request.get("mode", "live"),
                branch=f"agent/{chosen}" if own else None,
                workspace=str(workspace) if own else repo.root,
                base=base,
                base_from=base_from,
                policy=given,
                script=script,
                slot=crew.free_slot(rows.agents(writing.connection)),
                conversation=str(uuid.uuid4()),
                session=0,
                state=State.CREATING,
                state_at=writing.now,
                created_at=writing.now,
            )
            rows.put_agent(writing, agent)
            writing.emit(
                "agent.created",
                repo=repo.id,
                agent=agent.uid,
                id=agent.id,
                role=role,
                parent=parent.id if parent else None,
                goal=goal,
                base=base,
                base_from=base_from,
            )
            return {"uid": agent.uid}

        return Begin(repo.id, where.caller.uid if where.caller else None, prepare)

    def _name(self, git: Repository, wanted: AgentId | None, live: list[Agent]) -> AgentId:
        # Compared without case: folders and refs on some file systems are.
        taken = {agent.id.lower() for agent in live}
        if wanted is None:
            return names.friendly(
                self._context.dice.randrange,
                taken | set(_agent_branches(git)),
            )
        if wanted.lower() in taken:
            raise Conflict(
                f"the name {wanted!r} is taken by a live agent",
                f"choose another, or end it: wl kill {wanted}",
            )
        if repository.branch_exists(git, f"agent/{wanted}"):
            raise Conflict(
                f"the branch agent/{wanted} exists already",
                f"choose another name, or move it: git branch -m agent/{wanted} NEW",
            )
        return wanted

    def _agent(self, work: Work) -> tuple[Agent, Repo]:
        uid = Uid(work.data["uid"])
        agent = self._context.store.read(lambda c: rows.agent(c, uid))
        if agent is None:  # written in the transaction that began this intent
            raise AssertionError(uid)
        return agent, repos.by_id(self._context, agent.repo)

    def _workspace(self, work: Work) -> None:
        agent, repo = self._agent(work)
        if agent.branch is None:
            return
        git = repos.git(repo)
        workspaces.create(
            git, path=agent.workspace, branch=agent.branch, base=agent.base, agent=agent.id
        )
        workspaces.include(git, agent.workspace)

    def _setup(self, work: Work) -> None:
        agent, repo = self._agent(work)
        config = settings.load(self._context.folders.home, repo.root)
        if not config.workspace.setup or agent.branch is None:
            return
        commands.run(self._context, agent, "setup", config.workspace.setup, config)

    def _session(self, work: Work) -> None:
        agent, _ = self._agent(work)
        if agent.session == 0:
            agent = lodging.begin_session(self._context, agent)
        lodging.start_session(self._context, self._doors, agent)

    def _abandon(self, work: Work) -> None:
        """Takes a spawn back: what setup made is salvaged like any work."""
        agent, repo = self._agent(work)
        ending.dismantle(self._context, self._doors, agent, repo, how="spawn failed")

    def _result(self, work: Work) -> dict[str, Any]:
        agent, _ = self._agent(work)
        return {
            "uid": agent.uid,
            "id": agent.id,
            "branch": agent.branch,
            "workspace": agent.workspace,
            "base": agent.base,
            "base_from": agent.base_from,
            "role": agent.role,
            "mode": agent.mode,
            "driver": agent.driver,
        }


def _agent_branches(git: Repository) -> list[str]:
    prefix = "refs/heads/agent/"
    return [ref.removeprefix(prefix) for ref in repository.refs_under(git, prefix)]


def _policy(request: SpawnRequest, config: Config, role: Role) -> Policy:
    given = getattr(config.permissions, role)
    return Policy(
        allow=tuple(dict.fromkeys([*policy.ALLOWED, *given.allow, *request.get("allow", [])])),
        deny=tuple(dict.fromkeys([*policy.DENIED, *given.deny, *request.get("deny", [])])),
        yolo=request.get("yolo", False),
    )


def _script(given: str | None, cwd: str) -> str | None:
    if given is None:
        return None
    path = Path(cwd) / given
    if not path.is_file():
        raise UserError(f"no script {given}", "docs/scripts.md describes the format")
    return str(path.resolve())


def _base(git: Repository, head: str, parent: Agent | None) -> tuple[str, str]:
    """Where a new branch starts, and how we came to that."""
    if parent is not None and parent.branch is not None:
        tip = repository.resolve(git, f"refs/heads/{parent.branch}")
        if tip is not None:
            return tip, f"{parent.id}'s branch {parent.branch}"
    green = repository.resolve(git, "refs/windlass/green")
    if green is not None:
        return green, "refs/windlass/green, the last proven commit"
    branch = repository.head_branch(git)
    return head, f"HEAD ({branch})" if branch else "HEAD (detached)"
