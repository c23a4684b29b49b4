"""`wl init`: makes a repository known, gives it a gate that was found, and proves it by that.

What agents without a box may run is a person's to say, and so is what decides whether a tree is
good: both are proposed, and written only where that was accepted. What is accepted is trusted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from windlass import whole_file
from windlass.api.verbs import Caller
from windlass.api.wire.gate import GateRunReply
from windlass.api.wire.setup import InitLook, InitReply, InitRequest
from windlass.core import config, config_values
from windlass.core.errors import Conflict, GitError, WindlassError
from windlass.core.printable import printable_line
from windlass.core.roles import WIDER
from windlass.daemon.gate import gates
from windlass.daemon.gate.gates import Gate
from windlass.daemon.gate.proofs import Proofs
from windlass.daemon.kernel import project_file, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import IntentDraft, Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.setup import plan as plans
from windlass.daemon.setup import trust
from windlass.daemon.setup.plan import Plan
from windlass.git import gate_trees, own_commits
from windlass.git.repository import Repository

KIND = "init"
_MESSAGE = "Set up Windlass: what decides whether a tree is good\n\nMade by `wl init`."


class Inits:
    """Says what would be written for a repository, has it tried, and writes it."""

    def __init__(self, context: Context, proofs: Proofs) -> None:
        self._context = context
        self._proofs = proofs

    def operation(self) -> Operation:
        """Two steps, each of which is fine with what is there already."""
        steps = (Step("write", self._write), Step("commit", self._commit))
        return Operation(KIND, steps, lambda _: [], _made, unsaid=_UNSAID)

    def look(self, _caller: Caller, request: InitRequest) -> InitLook:
        """What is proposed; the repository is known from then on, and nothing is written."""
        plan = self._plan(request)
        gates.require_unsigned(self._context, plan.repo)
        return {
            "id": plan.repo.id,
            "root": plan.repo.root,
            "proposals": plan.view(),
            "digest": plan.digest,
            "target": plan.target,
            "proves": plan.proves,
            "has_gate": plan.has_gate,
            "may_add_network": plan.may_add_network,
            "asks_review": plan.asks_review,
            "asks_remote": plan.asks_remote,
        }

    def prove(self, _caller: Caller, request: InitRequest) -> GateRunReply:
        """Begins to prove the tree as it will be, without the network and, if need be, with it.

        The person has accepted what is proposed: its setup reaches the network.
        """
        plan = self._plan(request)
        plan.refuse_elsewhere()
        gate, tree, network_tree = self._candidates(plan)
        job = self._proofs.begin(gates.require(gate), tree, network_tree=network_tree)
        return self._proofs.told(job)

    def begin(self, _caller: Caller, request: InitRequest) -> IntentDraft:
        """Registers the repository, which is known from then on; says what is left to do."""
        if not request.get("accept", False):
            return self._as_it_is(request)
        plan = self._plan(request)
        gates.require_unsigned(self._context, plan.repo)
        plan.refuse_elsewhere()
        network = request.get("network", False)
        keys = plan.keys(network=network)
        data = {
            "root": plan.repo.root,
            "accept": True,
            "made": plan.kind != "private" and plan.there is None and bool(keys),
            "toolchains": plan.toolchains,
            "proposed": plan.allow,
            "kind": plan.kind,
            "target": plan.target,
            "path": plan.path,
            "held": None if plan.there is None else plan.there.decode(),
            "keys": keys,
            "words": dict(plan.words),
            "include": list(plan.include),
            "files": {name: held.decode() for name, held in plan.files(network=network).items()},
            "uncommitted": plan.held_back if plan.kind == "commit" else "",
        }
        return IntentDraft(plan.repo.id, None, lambda _: data)

    def _as_it_is(self, request: InitRequest) -> IntentDraft:
        """Without consent: the repository is known, and has a file that says nothing yet."""
        repo = repos.require(self._context, request.get("cwd", ""))
        made = not project_file.to_be_written(repo.root).exists()
        settings.load(self._context.folders.home, repo.root)
        data = {
            "root": repo.root,
            "accept": False,
            "made": made,
            "files": {project_file.PROJECT_FILE: template()} if made else {},
            "held": None,
        }
        try:
            plan = plans.make(self._context, repo, "leave")
            data |= {"toolchains": plan.toolchains, "proposed": plan.allow}
        except WindlassError:  # nothing can be proposed, which hinders nothing else
            data |= {"toolchains": [], "proposed": []}
        return IntentDraft(repo.id, None, lambda _: data)

    def _plan(self, request: InitRequest) -> Plan:
        repo = repos.require(self._context, request.get("cwd", ""))
        kind: plans.Kind = "commit" if request.get("commit", True) else "leave"
        said = {"landing.review": request.get("review"), "landing.mode": request.get("mode")}
        answers = {key: word for key, word in said.items() if word is not None}
        kind = "private" if request.get("private") else kind
        plan = plans.make(self._context, repo, kind, answers=answers)
        if request.get("digest", plan.digest) != plan.digest:
            raise Conflict(
                f"{repo.root} is no longer what the proposals were made for; nothing was written",
                "look again: wl init",
            )
        return plan

    def _candidates(self, plan: Plan) -> tuple[Gate, str, str]:
        """The gate as it will count, the tree to prove by it, and the one with the network."""
        repo, git = plan.repo, repos.git(plan.repo)
        files = plan.files()
        is_open = plan.may_add_network
        if plan.kind == "private" or not files:
            gate = gates.read(self._context, repo)
            tree = gate.target.tree
            if plan.kind == "private":
                return gate, tree, tree if is_open else ""
            is_open = is_open and plan.branch == plan.target and not plan.held_back
            return gate, tree, _tree(git, plan, network=True) if is_open else ""
        held = files.get(plan.path, plan.held if plan.held is not None else b"").decode()
        _accept(self._context, repo.root, held.encode(), plan.values, plan.words)
        found = gates.target(self._context, repo, git)
        gate = gates.read_held(self._context, repo, found, held.encode())
        with_network = _tree(git, plan, network=True) if is_open else ""
        return gate, _tree(git, plan, network=False), with_network

    def _write(self, work: RunningIntent) -> None:
        """Writes every file that nobody has changed since, and lets count what is in them."""
        data = work.data
        if "words" in data and data["kind"] != "private":
            _accept_all(self._context, data)
        with settings.changing:
            for name, text in data["files"].items():
                _put(data, name, text)
        if data.get("include") and data["kind"] != "private":
            lines = data["include"]
            trust.accept_typed(self._context, data["root"], "workspace.include", lines)

    def _commit(self, work: RunningIntent) -> None:
        """Commits what was written; where git or a hook refuses, that is told, and nothing lost."""
        data = work.data
        names = list(data["files"])
        if data.get("kind") != "commit" or not names or data["uncommitted"]:
            return
        git = repos.git(repos.by_id(self._context, work.intent.repo))
        with contextlib.suppress(GitError):
            held = [
                gate_trees.read_file(git, "HEAD", name, most=project_file.LARGEST) for name in names
            ]
            if held == [text.encode() for text in data["files"].values()]:
                work.keep(commit=git.git("rev-parse", "HEAD").out.decode().strip())
                return
        try:
            work.keep(commit=own_commits.commit(git, names, message=_MESSAGE))
        except GitError as error:
            work.keep(uncommitted=error.message)


_UNSAID: Mapping[str, Any] = {"written": [], "commit": None, "uncommitted": "", "push": ""}


def _tree(git: Repository, plan: Plan, *, network: bool) -> str:
    return own_commits.tree_with(git, plan.commit, plan.files(network=network))


def _accept_all(context: Context, data: Mapping[str, Any]) -> None:
    text = data["files"].get(data["path"])
    if text is not None:
        _accept(context, data["root"], text.encode(), data["keys"], data["words"])


def _accept(
    context: Context,
    root: str,
    held: bytes,
    keys: Mapping[str, Any],
    words: Mapping[str, list[str]],
) -> None:
    """Remembers as accepted what a file would say and the person has agreed to.

    Beside words that stood there and nobody has looked at, all of a list waits.
    """
    known = settings.at_target(context.folders.home, root, held, origin=project_file.PROJECT_FILE)
    agreed = [
        line
        for line in known[1].waiting
        if line.key in keys
        and line.value == _as_read(line.key, keys[line.key])
        and (line.key not in words or set(line.value) <= set(words[line.key]))
    ]
    trust.remember(context, root, agreed)


def _as_read(key: str, value: Any) -> Any:
    return msgspec.to_builtins(config_values.read(value, config.kind(key), strict=True))


def _put(data: Mapping[str, Any], name: str, text: str) -> None:
    """Writes one file; refuses where somebody else has meanwhile."""
    if data.get("kind") == "private":
        path = Path(name)
        now = path.read_bytes() if path.is_file() else None
    else:
        now = project_file.read(data["root"], name)
        path = Path(data["root"]) / name
    was = data["held"] if name == data.get("path") else None
    if now == text.encode():
        return
    if (None if now is None else now.decode()) != was:
        raise Conflict(f"{path} was changed meanwhile; it is as it was", "look again: wl init")
    path.parent.mkdir(parents=True, exist_ok=True)
    whole_file.replace_durably(path, text.encode(), mode=0o644)


def _made(work: RunningIntent) -> InitReply:
    data, root = work.data, work.data["root"]
    usable = settings.usable(work.context.folders.home, root)
    landing, commit = usable.config.landing, data.get("commit")
    push = ""
    if commit and landing.mode != "local":
        push = f"git push {landing.remote} {printable_line(data['target'])}"
    return {
        "id": work.intent.repo,
        "root": root,
        "config": data["path"] if data.get("kind") == "private" else str(_file(root)),
        "made": data["made"],
        "toolchains": data["toolchains"],
        "proposed": data["proposed"],
        "accepted": data["accept"],
        "waiting": [line.key for line in usable.acceptable],
        "written": list(data["files"]),
        "commit": commit,
        "uncommitted": data.get("uncommitted", ""),
        "push": push,
    }


def _file(root: str) -> Path:
    return project_file.to_be_written(root)


def template() -> str:
    """Every key, commented out, with what it is for and its default.

    Explanations have two marks: who takes one mark off every line, as editors do, has a valid file.
    """
    lines = ["## Windlass: what this repository wants. Every key is optional.", ""]
    default = config.Config()
    section = ""
    for key in sorted(config.ABOUT, key=lambda key: ("." in key, list(config.ABOUT).index(key))):
        if key in config.PERSONAL:
            continue
        table, _, name = key.rpartition(".")
        if table != section:
            lines += ["", f"[{table}]"]
            section = table
        usual = _toml(name, config.value(default, key))
        lines += [f"## {config.ABOUT[key]}", f"# {name} = {usual}"]
    return "\n".join(lines) + "\n"


def _toml(name: str, value: Any) -> str:
    """A value as it is written; for a key without one, some value that it could have."""
    if value is None:
        return "true" if name in WIDER else "10"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return str(value)
