"""Steering agents that live: pause, resume, reassign, a word to them, a note in their log."""

from __future__ import annotations

import uuid
from typing import Any

import msgspec

from windlass.api.server import Caller
from windlass.api.wire import AgentRequest, NoteRequest, ReassignRequest, SendRequest
from windlass.core import crew
from windlass.core.crew import Agent
from windlass.core.errors import Conflict, Denied, UserError
from windlass.core.ids import Uid
from windlass.core.states import Observation, Source, State
from windlass.daemon import ending, finding, lodging, repos, watching
from windlass.daemon.context import Context, session_name
from windlass.daemon.intents import Begin, Operation, Step, Work
from windlass.daemon.lodging import Doors
from windlass.git import workspaces
from windlass.sessions import streams
from windlass.store import rows
from windlass.store.rows import Intent
from windlass.store.store import Writing


class Steering:
    """The operations `pause` and `resume`, and the requests that need no steps."""

    def __init__(self, context: Context, doors: Doors) -> None:
        self._context = context
        self._doors = doors

    def operations(self) -> tuple[Operation, ...]:
        """Pause stops the session and keeps everything; resume starts the next one."""
        return (
            Operation("pause", (Step("stop", self._pause),), _uids, self._result),
            Operation(
                "resume",
                (Step("workspace", self._ensure), Step("session", self._resume)),
                _uids,
                self._result,
            ),
        )

    def begin(self, kind: str, caller: Caller, request: AgentRequest) -> Begin:
        """Finds the agent, and says where it stands already."""
        where = finding.scope(self._context, caller, request)
        agent = finding.agent(self._context, where, request.get("agent"))
        finding.reachable(where, agent, finding.live(self._context, where), doing=kind)
        if kind == "pause" and where.caller is not None and where.caller.uid == agent.uid:
            raise Denied("an agent cannot pause itself", "end your turn with WAITING instead")
        sessions = self._context.store.read(lambda c: rows.sessions(c, agent.uid))
        alive = bool(sessions) and sessions[0].ended_at is None
        if kind == "resume" and alive:
            raise Conflict(
                f"{agent.id} is not stopped: it is {agent.state}",
                f"talk to it: wl send {agent.id} '...'",
            )
        if kind == "pause" and agent.state is State.PAUSED:
            raise Conflict(f"{agent.id} is paused already", f"wl resume {agent.id}")
        uid = where.caller.uid if where.caller else None
        number = agent.session + 1
        return Begin(agent.repo, uid, lambda _: {"uid": agent.uid, "number": number})

    def send(self, caller: Caller, request: SendRequest) -> dict[str, Any]:
        """Says something to an agent, in its terminal or on its stdin."""
        where = finding.scope(self._context, caller, request)
        agent = finding.agent(self._context, where, request["agent"])
        text = request["text"]
        if not text.strip():
            raise UserError("nothing to send", f"wl send {agent.id} 'text', or the text on stdin")
        sessions = self._context.store.read(lambda c: rows.sessions(c, agent.uid))
        if not sessions or sessions[0].ended_at is not None:
            raise Conflict(
                f"{agent.id} is {agent.state} and cannot hear you", f"wl resume {agent.id} first"
            )
        by = where.caller
        delivered = f"[sent by agent {by.id}]: {text}" if by else text
        if agent.mode == "live":
            self._context.sessions.tmux.paste(session_name(agent), delivered, submit=True)
        else:
            folder = self._context.folders.session(agent.uid, sessions[0].number)
            streams.write(folder, _user_line(delivered))

        def change(writing: Writing) -> None:
            sender = by.id if by else "user"
            writing.emit(
                "message.received", repo=agent.repo, agent=agent.uid, sender=sender, text=text
            )
            if by is not None:
                writing.emit("message.sent", repo=agent.repo, agent=by.uid, to=agent.id, text=text)

        self._context.store.write(change)
        return {"agent": agent.id, "sent": len(text)}

    def note(self, caller: Caller, request: NoteRequest) -> dict[str, Any]:
        """Writes a line into an agent's log."""
        where = finding.scope(self._context, caller, request)
        agent = finding.agent(self._context, where, request.get("agent"))
        if where.caller is not None and where.caller.uid != agent.uid:
            raise Denied("an agent writes into its own log only", f"wl send {agent.id} '...'")
        text = request["text"]
        by = where.caller.id if where.caller else "user"
        self._context.store.write(
            lambda w: w.emit("note", repo=agent.repo, agent=agent.uid, text=text, by=by)
        )
        return {"agent": agent.id, "noted": text}

    def reassign(self, caller: Caller, request: ReassignRequest) -> dict[str, Any]:
        """Gives an agent another parent, or none; `wl undo` takes it back."""
        where = finding.scope(self._context, caller, request)
        live = finding.live(self._context, where)
        agent = finding.agent(self._context, where, request["agent"])
        finding.reachable(where, agent, live, doing="reassign")
        wanted = request["parent"]
        parent = finding.agent(self._context, where, wanted) if wanted else None
        if parent is not None:
            finding.reachable(where, parent, live, doing="give agents to")
            crew.check_parent(agent, parent, live=live)
        key = request.get("key") or str(uuid.uuid4())
        by = where.caller.uid if where.caller else None
        return self._context.store.write(lambda w: _reassign(w, agent.uid, parent, key=key, by=by))

    def _pause(self, work: Work) -> None:
        agent = self._live(work)
        # The word first: between it and the end of the process the agent is not "stopped".
        self._context.store.write(lambda w: _say_paused(w, agent))
        lodging.stop_session(self._context, agent)

    def _ensure(self, work: Work) -> None:
        agent = self._live(work)
        if agent.branch is not None:
            git = repos.git(repos.by_id(self._context, agent.repo))
            workspaces.ensure(git, path=agent.workspace, branch=agent.branch, agent=agent.id)

    def _resume(self, work: Work) -> None:
        agent = self._live(work)
        if agent.session < work.data["number"]:
            lodging.stop_session(self._context, agent)  # strays of a session that lost its holder
            agent = lodging.begin_session(self._context, agent)
        lodging.start_session(self._context, self._doors, agent)

    def _live(self, work: Work) -> Agent:
        return ending.still_live(self._context, Uid(work.data["uid"]))

    def _result(self, work: Work) -> dict[str, Any]:
        agent = self._live(work)
        return {"id": agent.id, "uid": agent.uid, "state": agent.state, "session": agent.session}


def _say_paused(writing: Writing, agent: Agent) -> None:
    seen = Observation(
        source=Source.WINDLASS,
        value=State.PAUSED,
        at=writing.now,
        evidence="paused with `wl pause`",
        session=agent.session,
    )
    watching.observe(writing, agent, seen)


def _reassign(
    writing: Writing, uid: Uid, parent: Agent | None, *, key: str, by: Uid | None
) -> dict[str, Any]:
    agent = rows.agent(writing.connection, uid)
    if agent is None or agent.ended_at is not None:
        raise Conflict("that agent has ended meanwhile", "`wl trash list` has its work")
    new = parent.uid if parent else None
    rows.put_agent(writing, msgspec.structs.replace(agent, parent=new))
    writing.emit(
        "agent.reassigned",
        repo=agent.repo,
        agent=uid,
        id=agent.id,
        why=f"to {parent.id}" if parent else "to nobody",
    )
    result = {"id": agent.id, "parent": parent.id if parent else None}
    data = {"agent": uid, "was": agent.parent, "now": new}
    rows.put_intent(
        writing,
        Intent(
            id=key,
            kind="reassign",
            repo=agent.repo,
            caller=by,
            data=data,
            step=1,
            status="done",
            result=result,
            created_at=writing.now,
            updated_at=writing.now,
        ),
    )
    return result


def _user_line(text: str) -> bytes:
    content = [{"type": "text", "text": text}]
    line = {"type": "user", "message": {"role": "user", "content": content}}
    return msgspec.json.encode(line) + b"\n"


def _uids(data: Any) -> list[Uid]:
    return [Uid(data["uid"])]
