"""Starting an agent: a row, a workspace, a setup, a session."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import msgspec

from windlass import drivers
from windlass.api.verbs import Caller
from windlass.api.wire.agents import SpawnReply, SpawnRequest
from windlass.core import crew, ids, names, roles, shapes, texts
from windlass.core.box_spec import Isolation, Level, Network
from windlass.core.config import Config, WorkspaceSettings, confinement, role_settings
from windlass.core.crew import Agent, Spawn
from windlass.core.driver_request import SessionRequest
from windlass.core.errors import ConfigError, Conflict, Denied, DriverError, UserError
from windlass.core.events import AgentCreated
from windlass.core.ids import AgentId, Uid
from windlass.core.mail.mentions import as_prompt
from windlass.core.printable import printable_line
from windlass.core.reasons import Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.agents import branch_start, forks, person_changes
from windlass.daemon.agents import limits as agent_limits
from windlass.daemon.agents.endings import Endings, still_live
from windlass.daemon.agents.session_life import SessionLife
from windlass.daemon.gate import gates, green
from windlass.daemon.gate.agent_layers import AgentLayers
from windlass.daemon.gate.gates import Gate
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step, of_one_agent
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import (
    boxes,
    clones,
    instructions,
    project_commands,
    scripts,
    session_request,
    setup_files,
    told_remarks,
)
from windlass.daemon.launch.boxes import Choice
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.policy import grants
from windlass.daemon.spend import budgets, windows
from windlass.git import carried as carry
from windlass.git import repository, submodules, versions, workspaces
from windlass.project import role_files
from windlass.store import rows
from windlass.store.rows import Repo
from windlass.store.store import Writing

_MOST_TOLD = 100
"""Names of files that a workspace was to have and has not, of which a reply tells."""


Lands = Callable[[Writing, Agent, str], None]
"""Has what an agent will have land on a branch when it is done: landing lies above agents."""


class ForRun(NamedTuple):
    """The run that an agent is made for: it has no session before that begins one."""

    job: str
    task: str


class Spawns:
    """The operation `spawn` and the request that begins it."""

    def __init__(
        self,
        context: Context,
        fetcher: CommitFetcher,
        life: SessionLife,
        endings: Endings,
        agent_layers: AgentLayers,
        *,
        lands: Lands,
    ) -> None:
        self._context = context
        self._fetcher = fetcher
        self._life = life
        self._endings = endings
        self._agent_layers = agent_layers
        self._lands = lands

    def operation(self) -> Operation:
        """The steps of a spawn."""
        return Operation(
            kind="spawn",
            steps=(
                Step("workspace", self._workspace, self._abandon),
                Step("setup", self._setup),
                Step("session", self._session, needed=lambda data: not data.get("run")),
            ),
            locks=of_one_agent,
            result=self._result,
            stops=of_one_agent,
            unsaid={
                "included": 0,
                "left_out": [],
                "changes": None,
                "submodules": [],
                "remarks": [],
                "lacks": "",
            },
        )

    def begin(
        self, caller: Caller, request: SpawnRequest, run: ForRun | None = None
    ) -> IntentDraft:
        """Checks a request as far as it can be without doing anything, and says how to begin."""
        context = self._context
        _require_programs(context)
        scope = lookup.scope(context, caller, request)
        repo = scope.repo or repos.add(context, request.get("cwd", ""))
        git = repos.git(repo)
        head = repository.require_commit(git)
        config = (known := settings.usable(context.folders.home, repo.root)).whole()
        goal = _goal(request, scope.caller)
        role, withheld = role_files.find(config, repo.root, request.get("role") or roles.USUAL)
        instructions.require_readable(repo.root, role.name)
        own = role_settings(config, role.name)
        driver = _driver(context, request, own.driver or config.driver)
        mode = request.get("mode", "live")
        root = str(context.folders.workspaces) if request.get("worktree", True) else repo.root
        draft = partial(session_request.draft, context, driver, mode=mode, root=root, config=config)
        parent = self._parent(scope, repo, request.get("parent"))
        choice, network = self._confined(
            request,
            confinement(config, role.name),
            scope.caller,
            crew.above(scope.caller, parent),
            repo,
            driver=driver,
            draft=draft,
        )
        pinned = _pinned(config, driver)
        budgets.refuse_spent(context, repo.id)
        windows.refuse_full(context, driver, request, most=config.budget.window, by=scope.caller)
        gate = gates.find(context, repo)
        in_force = known.at(choice.level)
        configured = grants.configured_policy(
            in_force, role.name, choice.level, gate.outside.checks if gate is not None else ()
        )
        policy = grants.granted_policy(request, configured, caller=scope.caller, parent=parent)
        givers = crew.givers(scope.caller, parent)
        limits = agent_limits.of_new(context, request, driver=driver, mode=mode, givers=givers)
        if parent is not None:
            self._fetcher.fetch(parent)
        fork = forks.find(context, scope, request.get("fork"), driver, choice.level)
        name = ids.agent_id(wanted) if (wanted := request.get("name")) else None
        script = scripts.chosen(request, repo, driver, scope.caller)
        begins_at = branch_start.find(
            git,
            head,
            parent,
            (
                gate.target.branch
                if run and gate
                else branch_start.person_branch(repo, scope, request)
            ),
            proven=partial(green.instead_of, context, repo.id, git),
        )
        branches, target = repos.agent_branches(git), _target(context, repo, request)
        lacks = person_changes.lacking(scope, repo, request, begins_at.commit)

        def prepare(writing: Writing) -> dict[str, Any]:
            live = rows.agents(writing.connection, repo=repo.id)
            spawn = Spawn(
                role=role.name,
                parent=parent,
                caller=scope.caller,
                policy=policy,
                configured=configured,
                isolation=choice.level,
                network=network,
            )
            crew.check_spawn(spawn, live=live, max_agents=config.max_agents)
            chosen = (
                _name_for(run.task, live, branches) if run else self._name(name, live, branches)
            )
            apart = request.get("worktree", True)
            workspace = context.folders.workspace(repo.id, chosen)
            uid = context.new_uid()
            agent = Agent(
                uid=uid,
                repo=repo.id,
                id=chosen,
                role=role.name,
                spawns=role.spawns,
                persistent=role.persistent,
                readonly=role.readonly,
                parent=parent.uid if parent else None,
                goal=goal,
                driver=driver,
                model=request.get("model") or own.model or config.model or None,
                mode=mode,
                branch=f"agent/{chosen}" if apart else None,
                workspace=str(workspace) if apart else repo.root,
                base=begins_at.commit,
                base_from=begins_at.told,
                policy=policy,
                script=str(context.folders.script(uid)) if script.text else script.path,
                options=pinned,
                isolation=choice.level,
                network=network,
                fork_of=fork.transcript,
                limits=limits,
                slot=crew.free_slot(rows.agents(writing.connection)),
                conversation=str(uuid.uuid4()),
                session=0,
                state=State.CREATING,
                state_at=writing.now,
                created_at=writing.now,
                task=run.task if run else "",
                run=run.job if run else "",
            )
            rows.add_agent(writing, agent)
            seen = Observation(
                source=Source.WINDLASS,
                value=State.CREATING,
                at=writing.now,
                reason=Reason(kind="preparing"),
                session=0,
            )
            rows.put_observation(writing, agent.uid, seen)
            writing.emit(_created(agent, parent), repo=repo.id, agent=agent.uid)
            if target:
                self._lands(writing, agent, target)
            return {
                "uid": agent.uid,
                "withheld": withheld,
                "workspace": msgspec.to_builtins(_commands(in_force.workspace, gate, choice.level)),
                "gated": gate is not None,
                "unboxed": choice.why,
                "to_box": choice.fix,
                "out_of_box": fork.out_of_box,
                "script": script.text,
                "run": agent.run,
                "by_person": scope.caller is None,
                "waiting": [line.key for line in known.waiting_at(choice.level)],
                **lacks,
            }

        return IntentDraft(repo.id, scope.caller_uid, prepare)

    def _parent(self, scope: lookup.Scope, repo: Repo, named: str | None) -> Agent | None:
        """The agent below which the new one is to be: the one named, or the caller."""
        if not named:
            return scope.caller
        parent = lookup.agent(self._context, lookup.Scope(repo, scope.caller), named)
        live = lookup.live(self._context, scope)
        lookup.require_reachable(scope, parent, live, doing="start agents for")
        return parent

    def _confined(
        self,
        request: SpawnRequest,
        configured: tuple[Isolation, Network],
        caller: Agent | None,
        higher: list[Agent],
        repo: Repo,
        *,
        driver: str,
        draft: Callable[..., SessionRequest],
    ) -> tuple[Choice, Network]:
        """The level and the network; refuses what could not start, and what is not to be given.

        What is configured is a floor for what agents ask for: a person may go below it.
        """
        if caller is not None and not request.get("worktree", True):
            raise Denied("agents start none in a person's own checkout", "leave --no-worktree out")
        usual, usual_network = configured
        wanted = request.get("isolation") or usual
        boxed = caller is not None and caller.isolation == "box"
        if caller is not None and wanted in ("auto", "hooks") and usual in ("required", "box"):
            wanted = usual
        if boxed and wanted == "auto":
            wanted = "box"
        network = crew.narrowest(usual_network, higher)
        asked = request.get("network")
        if asked is not None:
            network = crew.granted(asked, network, caller)
        choice = boxes.choose(
            wanted=wanted, network=network, driver=driver, draft=draft(boxed=True), repo=repo
        )
        if choice.level == "box":
            return choice, network
        drivers.get(driver).require_ready(draft())
        if asked not in (None, "host"):
            raise ConfigError(
                f"without a box nothing keeps an agent from the network: {choice.why}",
                choice.fix or "leave --network out, or ask for a box: --isolation required",
            )
        return choice, "host"

    def _name(self, wanted: AgentId | None, live: list[Agent], branches: set[str]) -> AgentId:
        # Compared without case: folders and refs on some file systems are.
        taken = {agent.id.lower(): agent.id for agent in live}
        if wanted is None:
            return names.friendly(self._context.dice.randrange, {*taken, *branches})
        if wanted.lower() in taken:
            raise Conflict(
                f"the name {wanted!r} is taken by a live agent",
                f"choose another, or end it: wl kill {taken[wanted.lower()]}",
            )
        if wanted in branches:
            raise Conflict(
                f"the branch agent/{wanted} exists already",
                f"choose another name, or move it: git branch -m agent/{wanted} NEW",
            )
        return wanted

    def _agent(self, work: RunningIntent) -> tuple[Agent, Repo]:
        uid = Uid(work.data["uid"])
        agent = self._context.store.read(lambda c: rows.agent(c, uid))
        if agent is None:  # written in the transaction that began this intent
            raise AssertionError(uid)
        return agent, repos.by_id(self._context, agent.repo)

    def _live(self, work: RunningIntent) -> tuple[Agent, Repo]:
        """The agent, for whom nothing more is made once it has ended."""
        agent = still_live(self._context, Uid(work.data["uid"]))
        return agent, repos.by_id(self._context, agent.repo)

    def _workspace(self, work: RunningIntent) -> None:
        agent, repo = self._live(work)
        session_request.keep_fork(self._context, agent)
        session_request.keep_script(self._context, agent, work.data.get("script"))
        if agent.branch is None:
            return
        git = repos.git(repo)
        create = partial(workspaces.create, base=agent.base)
        clones.make_workspace(self._context, agent, create)
        if work.data.get("submodules"):
            empty = submodules.populate(git, agent.workspace, agent.base).empty
            work.keep(submodules=[printable_line(name) for name in empty][:_MOST_TOLD])
        found = workspaces.include(git, agent.workspace, _settings(work, agent, repo).include)
        left_out = found.left_out
        if carried := work.data.get("carried"):
            made = carry.carry(carried["from"], agent.workspace, carried["names"])
            left_out = [*carried["odd"], *made.left_out, *left_out]
        if found.copied or left_out:
            told = [printable_line(name) for name in left_out[:_MOST_TOLD]]
            work.keep(included=len(found.copied), left_out=told)

    def _setup(self, work: RunningIntent) -> None:
        agent, repo = self._live(work)
        commands = _settings(work, agent, repo)
        if agent.branch is None:
            return
        gated, boxed = work.data.get("gated", False), agent.isolation == "box"
        if gated and boxed:
            why = self._agent_layers.lend(agent, repo, timeout=commands.timeout)
            work.keep(lacks=printable_line(why))
        if commands.setup:
            project_commands.run(work, agent, "setup", commands.setup, commands.timeout)
            if gated and not boxed:
                self._agent_layers.note(agent, repo)
        if commands.setup or "carried" in work.data:
            setup_files.remember(self._context, agent)

    def _session(self, work: RunningIntent) -> None:
        agent, _ = self._live(work)
        if agent.session == 0:
            agent = self._life.begin(agent)
        remarks = self._life.start(agent)
        if work.data.get("by_person") and remarks:
            work.keep(remarks=told_remarks.fresh(self._context, agent.repo, remarks))

    def _abandon(self, work: RunningIntent) -> None:
        """Takes a spawn back: what setup made is salvaged like any work."""
        agent, repo = self._agent(work)
        self._endings.dismantle(work, agent, repo, how="spawn failed")

    def _result(self, work: RunningIntent) -> SpawnReply:
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
            "isolation": agent.isolation,
            "network": agent.network,
            "unboxed": work.data.get("unboxed", ""),
            "to_box": work.data.get("to_box", ""),
            "out_of_box": work.data.get("out_of_box", ""),
            "withheld": work.data.get("withheld", []),
            "waiting": work.data.get("waiting", []),
            "included": work.data.get("included", 0),
            "left_out": work.data.get("left_out", []),
            "changes": work.data.get("changes"),
            "submodules": work.data.get("submodules", []),
            "remarks": work.data.get("remarks", []),
            "lacks": work.data.get("lacks", ""),
        }


def _name_for(task: str, live: list[Agent], branches: set[str]) -> AgentId:
    """The name of a task's agent: that of the task, with a number where it was tried before."""
    taken = {*(agent.id.lower() for agent in live), *(branch.lower() for branch in branches)}
    own = task.lower()
    more = (f"{own}-{number}" for number in itertools.count(2))
    return AgentId(next(name for name in itertools.chain([own], more) if name not in taken))


def _target(context: Context, repo: Repo, request: SpawnRequest) -> str:
    """The branch that it lands on by itself; nothing where it does not."""
    if not request.get("land", False):
        return ""
    if not request.get("worktree", True):
        raise UserError(
            "an agent in your own checkout has no branch that could land",
            "leave --land or --no-worktree out",
        )
    return gates.landing(gates.read(context, repo)).target.branch


def _goal(request: SpawnRequest, caller: Agent | None) -> str:
    goal = request["goal"].strip()
    if not goal:
        raise UserError("an agent needs a goal", 'wl new "what to do", or the goal on stdin')
    if caller is not None:
        texts.require_short(goal)
        return as_prompt(goal)
    return goal


def _settings(work: RunningIntent, agent: Agent, repo: Repo) -> WorkspaceSettings:
    """What was said of workspaces when the spawn began; older releases did not keep it."""
    if "workspace" in work.data:
        return shapes.convert(work.data["workspace"], WorkspaceSettings)
    return settings.usable(work.context.folders.home, repo.root).at(agent.isolation).workspace


def _commands(said: WorkspaceSettings, gate: Gate | None, level: Level) -> WorkspaceSettings:
    """What is run in a workspace: without a box, where nothing is said of it, the gate's setup."""
    if said.setup or gate is None or level == "box":
        return said
    return msgspec.structs.replace(said, setup=gate.outside.setup)


def _created(agent: Agent, parent: Agent | None) -> AgentCreated:
    return AgentCreated(
        id=agent.id,
        role=agent.role,
        parent=parent.id if parent else None,
        goal=agent.goal,
        base=agent.base,
        base_from=agent.base_from,
        isolation=agent.isolation,
        network=agent.network,
    )


def _require_programs(context: Context) -> None:
    versions.require_version()
    context.sessions.terminal.require_version()


def _pinned(config: Config, driver: str) -> dict[str, str]:
    """What an agent keeps of its driver's configuration, whatever becomes of that."""
    options = session_request.options(config, driver)
    return {key: options[key] for key in drivers.get(driver).pinned}


def _driver(context: Context, request: SpawnRequest, configured: str) -> str:
    name = request.get("driver") or context.env.get("WINDLASS_DRIVER") or configured
    try:
        drivers.get(name).check()
    except DriverError as error:
        # Who has just come can see how it goes, before there is a program and an account for it.
        trial = "or see how it goes without it, and without an account: wl new --driver standin ..."
        raise DriverError(error.message, f"{error.hint}\n{trial}") from None
    return name
