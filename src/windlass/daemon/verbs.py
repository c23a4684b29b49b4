"""Every verb of the API, and what answers it: the one table that faces are built on."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from windlass import __version__
from windlass.api import wire
from windlass.api.server import Caller, Verb, Wait
from windlass.core import config
from windlass.core.errors import Denied, UserError
from windlass.core.ids import Uid
from windlass.daemon.agents import endings, restore
from windlass.daemon.agents.endings import Endings
from windlass.daemon.agents.interrupt import Interrupts
from windlass.daemon.agents.merge import Merges
from windlass.daemon.agents.pause_resume import PauseResume
from windlass.daemon.agents.restore import Restores
from windlass.daemon.agents.session_life import Doors
from windlass.daemon.agents.spawn import Spawns
from windlass.daemon.kernel import lookup, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.intents import Intents
from windlass.daemon.mail.delivery import Delivery
from windlass.daemon.mail.listeners import Listeners
from windlass.daemon.mail.messages import Messages
from windlass.daemon.mail.questions import Questions
from windlass.daemon.person.primary import Primary
from windlass.daemon.person.primary_hooks import PrimaryHooks
from windlass.daemon.policy import decisions, denials, explain
from windlass.daemon.setup import doctor, init, trust
from windlass.daemon.spend.costs import Costs
from windlass.daemon.states.reports import Reports
from windlass.daemon.views.agents import Views
from windlass.daemon.views.trash_archive import TrashArchive


class Verbs:
    """Wires services to verbs."""

    def __init__(self, context: Context, doors: Doors) -> None:
        self._context = context
        self._spawning = Spawns(context, doors)
        self._ending = Endings(context, doors)
        self._merging = Merges(context, self._ending)
        self._restoring = Restores(context, doors)
        self._steering = PauseResume(context, doors)
        self._telling = Interrupts(context)
        self._questions = Questions(context)
        self._mailing = Messages(context, self._wake)
        self.delivering = Delivery(context)
        self.listening = Listeners(context)
        self.flowing = Reports(context)
        self.views = Views(context)
        self.costs = Costs(context)
        self.intents = Intents(
            context,
            (
                self._spawning.operation(),
                self._ending.operation(),
                self._merging.operation(),
                *self._restoring.operations(),
                *self._steering.operations(),
                *self._telling.operations(),
                *self._mailing.operations(),
                self._questions.operation(),
                self.listening.operation(),
                self.flowing.operation(),
            ),
        )

    def table(self) -> dict[str, Verb | Wait]:
        """Verb by verb: the type of its request, and what answers it."""
        views, kept = self.views, TrashArchive(self._context)
        hooks = PrimaryHooks(self._context)
        primary = Primary(self._context, views, self._questions, self.listening.armed)
        steering, telling, mailing = self._steering, self._telling, self._mailing
        mail = self.delivering
        return {
            "ack": Verb(wire.MessagesRequest, self._does("ack", mailing.begin_ack)),
            "agents": Verb(wire.ListRequest, views.agents),
            "answer": Verb(wire.AnswerRequest, self._does("send", mailing.begin_answer)),
            "archives": Verb(wire.ArchiveRequest, kept.archives),
            "ask": Verb(wire.AskRequest, self._does("ask", self._questions.begin)),
            "attachment": Verb(wire.AgentRequest, views.attachment),
            "config": Verb(wire.ConfigRequest, self._config),
            "config.add": Verb(wire.ConfigRequest, self._config_add),
            "config.remove": Verb(wire.ConfigRequest, self._config_remove),
            "config.set": Verb(wire.ConfigRequest, self._config_set),
            "costs": Verb(wire.CostsRequest, self.costs.view),
            "decide": Verb(
                wire.HookInput, decisions.Decisions(self._context, mail.context_for).decide
            ),
            "denials": Verb(wire.DenialsRequest, denials.Denials(self._context).view),
            "diff": Verb(wire.DiffRequest, views.diff),
            "doctor": Verb(wire.DriversRequest, self._doctor),
            "drivers": Verb(wire.DriversRequest, self._drivers),
            "drivers.trusted": Verb(wire.DriverRequest, self._trusted),
            "drivers.trust": Verb(wire.DriverRequest, self._trust),
            "end": Verb(wire.EndRequest, self._does("end", self._ending.begin)),
            "explain.tool": Verb(wire.ExplainToolRequest, explain.Explanations(self._context).tool),
            "hooks.install": Verb(wire.HooksRequest, hooks.install),
            "hooks.status": Verb(wire.HooksRequest, hooks.status),
            "hooks.uninstall": Verb(wire.HooksRequest, hooks.uninstall),
            "inbox": Verb(wire.InboxRequest, mailing.inbox),
            "info": Verb(wire.AgentRequest, views.info),
            "init": Verb(wire.InitRequest, self._init),
            "interrupt": Verb(wire.AgentRequest, self._does("interrupt", telling.begin_interrupt)),
            "listen": Wait(wire.ListenRequest, self.listening.listen),
            "log": Verb(wire.LogRequest, views.log),
            "look": Verb(wire.LookRequest, views.look),
            "mail.wait": Wait(wire.MailRequest, mail.wait),
            "merge": Verb(wire.MergeRequest, self._does("merge", self._merging.begin)),
            "merge-check": Verb(wire.MergeRequest, self._merging.preview),
            "message": Verb(wire.MessageRequest, mailing.show),
            "note": Verb(wire.NoteRequest, self._does("note", telling.begin_note)),
            "notify": Verb(wire.NotifyRequest, self._does("notify", self.listening.begin)),
            "pause": Verb(wire.AgentRequest, self._steers("pause")),
            "place": Verb(wire.PlaceRequest, views.place),
            "primary": Verb(wire.HookInput, primary.answer),
            "prompt": Verb(wire.AgentRequest, views.prompt),
            "questions": Verb(wire.QuestionsRequest, self._questions.view),
            "reassign": Verb(wire.ReassignRequest, self._does("reassign", steering.begin_reassign)),
            "receipts": Wait(wire.ReceiptsRequest, mailing.wait_for_receipts),
            "repo.add": Verb(wire.RepoRequest, self._repo_add),
            "repo.remove": Verb(wire.RepoRequest, self._repo_remove),
            "repos": Verb(wire.AnyRequest, kept.repos),
            "resume": Verb(wire.ResumeRequest, self._steers("resume")),
            "send": Verb(wire.SendRequest, self._does("send", mailing.begin_send)),
            "spawn": Verb(wire.SpawnRequest, self._does("spawn", self._spawning.begin)),
            "status": Verb(wire.AgentRequest, views.status),
            "taken": Verb(wire.TakenRequest, self.listening.taken),
            "trash": Verb(wire.TrashRequest, kept.trash),
            "trash.empty": Verb(wire.TrashRequest, self._trash_empty),
            "trash.restore": Verb(wire.TrashRequest, self._does("restore", self._restoring.begin)),
            "trash.show": Verb(wire.TrashRequest, kept.trash_entry),
            "undo": Verb(wire.AnyRequest, self._undo),
            "whoami": Verb(wire.AnyRequest, self._whoami),
            "why": Verb(wire.WhyRequest, views.why),
        }

    def _does(self, kind: str, begin: Callable[[Caller, Any], Any]) -> Callable[[Caller, Any], Any]:
        return lambda caller, request: self.intents.perform(
            kind, _keyed(caller, request), lambda: begin(caller, request)
        )

    def _steers(self, kind: str) -> Callable[[Caller, Any], Any]:
        begin = self._steering.begin
        return self._does(kind, lambda caller, request: begin(kind, caller, request))

    def _wake(self, uid: Uid, key: str, by: Uid | None) -> None:
        """Goes on with a stopped agent, for whom there is mail, if its sender may do that."""
        agent = endings.still_live(self._context, uid)
        root = repos.by_id(self._context, agent.repo).root
        request: wire.AgentRequest = {"agent": agent.id, "cwd": root}
        begin = self._steering.begin
        self.intents.perform("resume", key, lambda: begin("resume", Caller(by), request))

    def _undo(self, caller: Caller, request: wire.AnyRequest) -> dict[str, Any]:
        if key := _keyed(caller, request):
            request = {**request, "key": key}
        return self._restoring.undo(caller, request, self.intents)

    def _trash_empty(self, caller: Caller, request: wire.TrashRequest) -> dict[str, Any]:
        return restore.empty(self._context, caller, request)

    def _whoami(self, caller: Caller, request: wire.AnyRequest) -> dict[str, Any]:
        where = lookup.scope(self._context, caller, request)
        return {
            "agent": where.caller.id if where.caller else None,
            "role": where.caller.role if where.caller else "person",
            "repo": where.repo.root if where.repo else None,
            "pid": os.getpid(),
            "version": __version__,
        }

    def _doctor(self, caller: Caller, request: wire.DriversRequest) -> dict[str, Any]:
        repo = lookup.scope(self._context, caller, request).repo
        root = self._root(caller, request)
        return doctor.examine(self._context, root, repo, driver=request.get("driver"))

    def _drivers(self, caller: Caller, request: wire.DriversRequest) -> list[dict[str, Any]]:
        configured = self._settings(caller, request).driver
        return trust.listed(request.get("driver") or configured)

    def _trusted(self, caller: Caller, request: wire.DriverRequest) -> dict[str, Any]:
        _only_a_person(caller, "accept what people are asked")
        return trust.trusted(self._context, request["driver"], self._settings(caller, request))

    def _trust(self, caller: Caller, request: wire.DriverRequest) -> dict[str, Any]:
        _only_a_person(caller, "accept what people are asked")
        return trust.trust(self._context, request["driver"], self._settings(caller, request))

    def _settings(self, caller: Caller, request: Mapping[str, Any]) -> config.Config:
        return settings.load(self._context.folders.home, self._root(caller, request))

    def _init(self, caller: Caller, request: wire.InitRequest) -> dict[str, Any]:
        _only_a_person(caller, "set up repositories")
        accept = request.get("accept", False)
        return init.init(self._context, request.get("cwd", ""), accept=accept)

    def _repo_add(self, caller: Caller, request: wire.RepoRequest) -> dict[str, Any]:
        _only_a_person(caller, "add repositories")
        path = str(Path(request.get("cwd", "/")) / request.get("repo", "."))
        repo = repos.add(self._context, path)
        return {"id": repo.id, "root": repo.root}

    def _repo_remove(self, caller: Caller, request: wire.RepoRequest) -> dict[str, Any]:
        _only_a_person(caller, "remove repositories")
        cwd = request.get("cwd", "/")
        repo = repos.find(self._context, request.get("repo", "."), cwd=cwd)
        repos.forget(self._context, repo)
        return {"id": repo.id, "root": repo.root}

    def _config(self, caller: Caller, request: wire.ConfigRequest) -> dict[str, Any]:
        root = self._root(caller, request)
        home = self._context.folders.home
        inforce = settings.load(home, root)
        origins = settings.origins(home, root)
        wanted = request.get("config_key")
        keys = [config.require_key(wanted)] if wanted else list(config.ABOUT)
        return {
            key: {
                "value": config.value(inforce, key),
                "origin": origins.get(key, "default"),
                "about": config.ABOUT[key],
            }
            for key in keys
        }

    def _config_set(self, caller: Caller, request: wire.ConfigRequest) -> dict[str, Any]:
        key, path = self._config_target(caller, request)
        if config.is_list(key):
            raise UserError(f"{key} is a list", f"wl config add {key} VALUE")
        if key in config.PERSONAL and not request.get("user"):
            raise UserError(
                f"{key} counts only in your own configuration, never in a repository's",
                f"wl config set --global {key} VALUE",
            )
        settings.put(path, key, config.parse(key, request.get("value", "")))
        return self._config(caller, request)

    def _config_add(self, caller: Caller, request: wire.ConfigRequest) -> dict[str, Any]:
        key, path = self._config_target(caller, request)
        if not config.is_list(key):
            raise UserError(f"{key} is not a list", f"wl config set {key} VALUE")
        settings.add(path, key, request.get("value", ""))
        return self._config(caller, request)

    def _config_remove(self, caller: Caller, request: wire.ConfigRequest) -> dict[str, Any]:
        key, path = self._config_target(caller, request)
        value = request.get("value")
        if value is None:
            settings.remove(path, key)
            return self._config(caller, request)
        settings.take(path, key, value)
        return self._config(caller, request)

    def _config_target(self, caller: Caller, request: wire.ConfigRequest) -> tuple[str, Path]:
        _only_a_person(caller, "change configuration")
        key = config.require_key(request.get("config_key", ""))
        root = self._root(caller, request)
        user = request.get("user", False)
        return key, settings.file(self._context.folders.home, root, user=user)

    def _root(self, caller: Caller, request: Mapping[str, Any]) -> str | None:
        where = lookup.scope(self._context, caller, request)
        return where.repo.root if where.repo else repos.root_of(request.get("cwd", ""))


def _keyed(caller: Caller, request: Mapping[str, Any]) -> str | None:
    """The key of a request, which is its caller's own: nobody meets another's intent under it."""
    key = request.get("key")
    return f"{caller.agent or 'person'}:{key}" if key else None


def _only_a_person(caller: Caller, doing: str) -> None:
    if caller.agent is not None:
        raise Denied(f"agents do not {doing}", "ask the person")
