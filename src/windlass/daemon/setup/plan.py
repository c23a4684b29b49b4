"""What `wl init` would write for a repository, to the byte, and why; nothing is written here.

It is made of what is committed: proposals of tracked files, added to the configuration as it is
committed. Whatever a person wrote there stays, and only what is missing is proposed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from windlass.api.wire.setup import GateProposalView, InitFile, ProposalsView
from windlass.core import config
from windlass.core.errors import Conflict
from windlass.core.gate import proposals
from windlass.core.gate.proposals import CheckProposal, GateProposal
from windlass.core.gate.spec import digest
from windlass.core.policy import proposals as tool_proposals
from windlass.core.roles import SHIPPED
from windlass.daemon.gate import gates
from windlass.daemon.kernel import project_file, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.daemon.setup import config_text
from windlass.daemon.setup.tracked_files import TrackedFiles
from windlass.git import gate_trees, own_commits, repository
from windlass.git.blobs import Blobs
from windlass.git.repository import Repository
from windlass.store.rows import Repo

Kind = Literal["commit", "leave", "private"]
"""What becomes of the files: they are committed, left in the checkout, or are the person's own."""
NETWORK = "gate.network"
_REVIEW, _MODE = "landing.review", "landing.mode"
_NONE: Mapping[str, str] = MappingProxyType({})
_OWN_GATE = ("gate.commands", "gate.check")
_OF_SETUP = ("gate.setup", "gate.deps", "gate.inputs")


class Plan(NamedTuple):
    """What is proposed for a repository, and what would be written if it is accepted."""

    repo: Repo
    kind: Kind
    commit: str
    """The commit that is checked out, which everything is proposed for."""
    branch: str | None
    target: str
    """The branch that changes land on."""
    path: str
    """The configuration file: in the repository by its path there, else by its whole path."""
    held: bytes | None
    """What is added to: what it holds, as it is committed where that is possible."""
    there: bytes | None
    """What it holds now."""
    values: Mapping[str, Any]
    """The keys that it is given."""
    include: tuple[str, ...]
    """The lines of `.worktreeinclude`, where there is none."""
    findings: proposals.Findings
    has_gate: bool
    """Whether there is a gate without this already."""
    may_add_network: bool
    """Whether nobody has said yet if checks reach the network."""
    toolchains: list[str]
    allow: list[str]
    asks_review: bool
    """Whether nobody has said yet who looks at agents' work before it lands."""
    asks_remote: str | None
    """The remote that landings may go to, where nobody has said yet if they do."""
    words: Mapping[str, list[str]]
    """Of lists that are added to: what was in force of them, or is proposed."""
    held_back: str = ""
    """Why the files are not to be committed, where they should be."""

    @property
    def proves(self) -> bool:
        """Whether there is a gate, or will be."""
        return self.has_gate or any(key in self.values for key in _OWN_GATE)

    @property
    def digest(self) -> str:
        """What a plan is known by: another one, another digest."""
        parts = [self.kind, self.commit, self.path, dict(self.values), self.include]
        return digest([*parts, (self.held or b"").decode("utf-8", "replace")])

    def keys(self, *, network: bool) -> dict[str, Any]:
        """The keys that are written; with the network if the checks turned out to need it."""
        more = {NETWORK: True} if network and self.may_add_network else {}
        return {**self.values, **more}

    def refuse_elsewhere(self) -> None:
        """Refuses to commit where that is not on the branch that changes land on."""
        if self.kind != "commit" or not self.files() or self.branch == self.target:
            return
        where = f"on {self.branch}" if self.branch else f"on no branch, at {self.commit[:10]}"
        raise Conflict(
            f"changes land on {self.target}, and {self.repo.root} is {where}: nothing was written",
            f"`git switch {self.target}` first; or --no-commit, to commit the files yourself",
        )

    def files(self, *, network: bool = False) -> dict[str, bytes]:
        """What every file holds afterwards that changes, by its path."""
        found = {}
        values = self.keys(network=network)
        if values:
            found[self.path] = config_text.with_keys(self.held, values, path=self.path)
        if self.include and self.kind != "private":
            found[project_file.INCLUDE_FILE] = _listed(self.include)
        return found

    def view(self) -> ProposalsView:
        """The proposals as faces show them."""
        proposed = self.findings.proposal if "gate.check" in self.values else None
        return {
            "gate": None if proposed is None else self._gate_view(),
            "allow": self.allow,
            "toolchains": self.toolchains,
            "include": list(self.include),
            "why": list(self.findings.why),
            "files": [self._file(*item) for item in self.files().items()],
        }

    def _gate_view(self) -> GateProposalView:
        said = self.values.get
        return {
            "setup": said("gate.setup", ""),
            "deps": said("gate.deps", []),
            "inputs": said("gate.inputs", []),
            "versions": said("gate.versions", []),
            "check": said("gate.check", []),
        }

    def _file(self, path: str, held: bytes) -> InitFile:
        was = (self.held or b"") if path == self.path else b""
        before, after = (text.decode().splitlines() for text in (was, held))
        changes = list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]
        return {"path": path, "text": held.decode(), "patch": changes if was else []}


def make(context: Context, repo: Repo, kind: Kind, *, answers: Mapping[str, str] = _NONE) -> Plan:
    """Looks at what is checked out, and makes a plan for it; raises for wrong configuration.

    `answers` are what the person said to the questions about landing, by key.
    """
    git = repos.git(repo)
    commit = repository.require_commit(git)
    home = context.folders.home
    settings.load(home, repo.root)
    with Blobs(git.dirs) as blobs:
        files = TrackedFiles(git, commit, blobs, path=context.env.get("PATH", os.defpath))
        findings = proposals.examine(files)
        names = frozenset(files.names())
    planned = partial(
        _planned, context, repo, kind,
        commit=commit, findings=findings, names=names, answers=answers,
    )  # fmt: skip
    if kind == "private":
        own = settings.private_file(home, git.root)
        held = own.read_bytes() if own.is_file() else None
        return planned(str(own), held, there=held)
    name = project_file.PROJECT_FILE
    there = project_file.read(git.root)
    committed = gate_trees.read_file(git, commit, name, most=project_file.LARGEST)
    plan = planned(name, committed, there=there)
    written = [plan.files(network=network).get(name) for network in (False, True)]
    if there not in (committed, *written) and not (committed is None and is_ours(there)):
        edits = f"{name} has edits that are not committed"
        return planned(name, there, there=there)._replace(held_back=edits)
    if committed is None and own_commits.is_ignored(git, name):
        return plan._replace(held_back=f"git ignores {name} here; --private needs no file")
    return plan


def _planned(
    context: Context,
    repo: Repo,
    kind: Kind,
    path: str,
    held: bytes | None,
    *,
    there: bytes | None,
    commit: str,
    findings: proposals.Findings,
    names: frozenset[str],
    answers: Mapping[str, str],
) -> Plan:
    """The plan that adds to a file that holds this."""
    home, git = context.folders.home, repos.git(repo)
    known = settings.sourced_with(home, repo.root, held, origin=path)
    if kind == "private":
        known = settings.sourced(home, repo.root)
    in_force, filed = known.usable.at("box"), config_text.values(held)
    said = {*known.origins, *filed}
    has_gate = any(key in said for key in _OWN_GATE)
    values: dict[str, Any] = {}
    branch, target = repository.head_branch(git), gates.target(context, repo, git)
    if not has_gate and findings.proposal is not None:
        values = _gate_values(findings.proposal, said)
        is_lasting = in_force.landing.target or target.is_lasting
        if branch and not is_lasting and kind != "private":
            values["landing.target"] = branch
    values |= {key: word for key, word in answers.items() if key not in said}
    include = _include(findings, names, in_force, repo)
    if include and kind == "private":
        values["workspace.include"] = [*in_force.workspace.include, *include]
    tools = tool_proposals.propose(path.name for path in Path(repo.root).iterdir())
    allow, lists = _allow(in_force, tools.allow, filed)
    return Plan(
        repo=repo,
        kind=kind,
        commit=commit,
        branch=branch,
        target=target.branch,
        path=path,
        held=held,
        there=there,
        values={**values, **lists},
        include=include,
        findings=findings,
        has_gate=has_gate,
        may_add_network=NETWORK not in said,
        toolchains=tools.files,
        allow=allow,
        asks_review=_REVIEW not in said,
        asks_remote=None if _MODE in said else _remote(git, in_force.landing.remote),
        words={key: [*config.value(in_force, key), *allow] for key in lists},
    )


def _remote(git: Repository, name: str) -> str | None:
    """The remote that landings would go to, where there is one of that name."""
    return name if name in git.git("remote").out.decode().split() else None


def is_ours(held: bytes | None) -> bool:
    """Whether a file says nothing: it is the one that `wl init` wrote to start from."""
    if held is None:
        return False
    lines = held.decode("utf-8", "replace").splitlines()
    return all(not line or line.startswith(("#", "[")) for line in lines)


def _gate_values(proposal: GateProposal, said: set[str]) -> dict[str, Any]:
    """The keys of a proposed gate. Who wrote a setup of their own knows what goes with it."""
    values: dict[str, Any] = {
        "gate.setup": proposal.setup,
        "gate.deps": list(proposal.deps),
        "gate.inputs": list(proposal.inputs),
        "gate.versions": list(proposal.versions),
        "gate.check": [_check(check) for check in proposal.checks],
    }
    theirs = {*said, *(_OF_SETUP if "gate.setup" in said else ())}
    return {key: value for key, value in values.items() if value and key not in theirs}


def _check(check: CheckProposal) -> dict[str, Any]:
    """A check as it is written: what is usual is left out."""
    lines = {"name": check.name, "run": check.run}
    lines |= {"tests": check.tests} if check.tests != "some" else {}
    return lines | ({"junit": check.junit} if check.junit else {})


def _include(
    findings: proposals.Findings, names: frozenset[str], in_force: config.Config, repo: Repo
) -> tuple[str, ...]:
    if project_file.INCLUDE_FILE in names or findings.proposal is None:
        return ()
    listed = in_force.workspace.include
    lines = tuple(name for name in findings.proposal.include if name not in listed)
    path = Path(repo.root) / project_file.INCLUDE_FILE
    if not os.path.lexists(path):
        return lines
    # One of ours lies there where a hook refused the commit before.
    is_ours = path.is_file() and not path.is_symlink() and path.read_bytes() == _listed(lines)
    return lines if is_ours else ()


def _listed(lines: tuple[str, ...]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode()


def _allow(
    in_force: config.Config, wanted: list[str], filed: Mapping[str, Any]
) -> tuple[list[str], dict[str, list[str]]]:
    """The patterns that some role lacks, and the list of each role with them.

    What stands in the file stays there. A role that the person has an own list for gets none: a
    repository's would narrow it, or tell others what theirs is.
    """
    lists: dict[str, list[str]] = {}
    missing: list[str] = []
    for role in SHIPPED:
        key = f"permissions.{role}.allow"
        allowed = config.role_tools(in_force, role).allow
        if allowed and key not in filed:
            continue
        lacks = [pattern for pattern in wanted if pattern not in allowed]
        listed = filed.get(key, allowed)
        if more := [pattern for pattern in lacks if pattern not in listed]:
            lists[key] = [*listed, *more]
        missing += [pattern for pattern in lacks if pattern not in missing]
    return missing, lists
