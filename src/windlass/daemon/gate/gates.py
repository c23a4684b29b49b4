"""Which gate counts for a repository: that of the branch that changes land on.

It is read from that branch's own tree, never from the files of a checkout and never from a change:
a change cannot weaken the gate that it has to pass.
"""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from windlass.core.box_spec import Level
from windlass.core.config import Config, Mode
from windlass.core.errors import ConfigError, WindlassError
from windlass.core.gate import spec as specs
from windlass.core.gate.spec import GateSpec
from windlass.core.printable import printable_line
from windlass.core.project_config import Line
from windlass.daemon.kernel import project_file, repos, settings
from windlass.daemon.kernel.context import Context
from windlass.git import gate_trees, person_git, remotes, repository
from windlass.git.repository import Repository
from windlass.store.rows import Repo

_CHECKS = frozenset({"gate.check", "gate.commands"})
_UNSIGNED = (
    "your git configuration wants commits signed (commit.gpgsign), and Windlass signs none: nobody"
    " could type a passphrase"
)
_SIGN_HINT = (
    "to have landings go unsigned, and your own commits signed as before:"
    " wl config set landing.unsigned true --global"
)
_USUAL = ("main", "master", "trunk", "develop")


class Target(NamedTuple):
    """The branch that changes land on, and where it is."""

    branch: str
    tip: str
    tree: str
    is_lasting: bool
    """Whether it is meant whatever is checked out."""
    mode: Mode = "local"
    """Where landings go; unless they stay here, its tip is where the remote's branch was last."""
    remote: str = ""


class Gate(NamedTuple):
    """The gate that counts now, and where it was read."""

    repo: Repo
    target: Target
    spec: GateSpec
    config: Config
    waiting: tuple[Line, ...]
    """Lines of the repository's file that are not in force: its gate may be wider with them."""
    outside: GateSpec
    """What of it is in force where nothing confines a command: for agents without a box."""

    @property
    def level(self) -> Level:
        """Whether its commands run in a box."""
        return "box" if self.spec.box else "hooks"

    @property
    def setup_network(self) -> bool:
        """Whether its setup reaches the network: only a setup that the person has accepted."""
        waits = any(line.key in ("gate.setup", "gate.setup_domains") for line in self.waiting)
        return self.spec.setup_network and not waits


def read(context: Context, repo: Repo, *, branch: str = "") -> Gate:
    """Reads the gate of a repository; one without checks has none, see `require`.

    It is that of a `branch`, where changes are known to land on that one. Where that is the gate of
    a remote's branch which the person's own git has seen elsewhere since, the remote is asked: it
    may just have been pushed.
    """
    git = repos.git(repo)
    gate = _read(context, repo, git, branch=branch)
    if not gate.spec.checks and _was_seen_elsewhere(git, gate.target):
        with contextlib.suppress(WindlassError):
            remotes.fetch(git, gate.target.remote, gate.target.branch)
        gate = _read(context, repo, git, branch=branch)
    return gate


def _was_seen_elsewhere(git: Repository, target: Target) -> bool:
    if target.mode == "local":
        return False
    seen = repository.read_ref(git, f"refs/remotes/{target.remote}/{target.branch}")
    return seen not in (None, target.tip)


def _read(context: Context, repo: Repo, git: Repository, *, branch: str) -> Gate:
    found = target(context, repo, git, branch=branch)
    held = gate_trees.read_file(
        git, found.tree, project_file.PROJECT_FILE, most=project_file.LARGEST
    )
    return read_held(context, repo, found, held)


def read_held(context: Context, repo: Repo, found: Target, held: bytes | None) -> Gate:
    """The gate that would count if this were the configuration on the target."""
    origin = f"{found.branch}:{project_file.PROJECT_FILE}"
    own, usable = settings.at_target(context.folders.home, repo.root, held, origin=origin)
    usable.require("gate", "landing")
    boxed = usable.at("box")
    outside = specs.spec(usable.config.gate, own.gate)
    spec = specs.spec(boxed.gate, own.gate)
    return Gate(repo, found, spec if spec.box else outside, boxed, usable.waiting, outside)


def find(context: Context, repo: Repo, *, branch: str = "") -> Gate | None:
    """The gate of a repository; None where it has none, or what is written of one is wrong."""
    try:
        gate = read(context, repo, branch=branch)
    except WindlassError:
        return None
    return gate if gate.spec.checks else None


def guards(gate: Gate, branch: str) -> bool:
    """Whether a branch is behind a gate: it is the target, and something says when it is good.

    A gate that waits to be accepted guards all the same: this raises.
    """
    if gate.target.branch != branch:
        return False
    waits = any(line.key in _CHECKS for line in gate.waiting)
    return bool(gate.spec.checks) or (waits and bool(require(gate)))


def landing(gate: Gate) -> Gate:
    """Refuses a repository in which nothing can land: it has no gate, and nobody says why not."""
    return gate if unproven(gate) else require(gate)


def unsigned(context: Context, repo: Repo) -> str:
    """Why nothing may land for want of a signature; empty where nobody wants one.

    The daemon has no terminal: a key that asks for its passphrase would ask nobody.
    """
    allowed = settings.usable(context.folders.home, repo.root).config.landing.unsigned
    if allowed or not person_git.wants_signatures(cwd=repo.root):
        return ""
    return f"{_UNSIGNED}; {_SIGN_HINT}"


def require_unsigned(context: Context, repo: Repo) -> None:
    """Refuses a repository in which nothing may land for want of a signature."""
    if unsigned(context, repo):
        raise ConfigError(_UNSIGNED, _SIGN_HINT)


def unproven(gate: Gate) -> str:
    """What is said of all that lands without a gate, where the person has written why it may."""
    why = gate.config.landing.unproven
    if gate.spec.checks or not why or any(line.key in _CHECKS for line in gate.waiting):
        return ""
    return f"unproven: {printable_line(why)}"


def is_none(gate: Gate) -> bool:
    """Whether nothing says when a tree is good, and nobody why that is not needed."""
    waits = any(line.key in _CHECKS for line in gate.waiting)
    return not gate.spec.checks and not waits and not unproven(gate)


def lines(context: Context, repo: Repo, *, branch: str = "") -> tuple[str, ...]:
    """The commands of its checks, for whoever is to know what their work is gated by."""
    gate = find(context, repo, branch=branch)
    return tuple(check.run for check in gate.spec.checks) if gate is not None else ()


def require(gate: Gate) -> Gate:
    """Refuses a repository without a gate: that is never a pass."""
    if gate.spec.checks:
        return gate
    if any(line.key in _CHECKS for line in gate.waiting):
        raise ConfigError(
            f"the gate of {gate.target.branch} would run outside of a box, as you, and you have not"
            " accepted it",
            "look at its lines and accept them: wl trust; or let it run in a box:"
            " wl config remove gate.box --global",
        )
    if unpushed := _unpushed(gate):
        raise ConfigError(
            unpushed, "the gate that counts is that of the branch that changes land on"
        )
    raise ConfigError(
        f"{gate.target.branch} of {gate.repo.root} has no gate: nothing says when a tree is good",
        "`wl init` proposes one; or write [gate] commands into .windlass/config.toml and commit it"
        f" to {gate.target.branch}; to land without any: wl config set landing.unproven WHY",
    )


def _unpushed(gate: Gate) -> str:
    """What to do where changes land on a remote, and only the branch here has a configuration."""
    branch, remote = gate.target.branch, gate.target.remote
    git = repos.git(gate.repo)
    here = None if gate.target.mode == "local" else repository.read_ref(git, f"refs/heads/{branch}")
    name = project_file.PROJECT_FILE
    trees = [gate_trees.tree_of(git, here), gate.target.tree] if here is not None else []
    held = [gate_trees.blobs(git, tree, [name]) for tree in trees]
    if not held or not held[0] or held[0] == held[1]:
        return ""
    return (
        f"{remote}/{branch} has no gate, and changes land there: {name} of {branch} here is not"
        f" pushed; type: git push {remote} {branch}"
    )


class NoTarget(ConfigError):
    """The branch that changes land on is not there."""


def target(context: Context, repo: Repo, git: Repository, *, branch: str = "") -> Target:
    """The branch that changes land on: configured, else the remote's default, else the usual.

    What waits already lands on the `branch` that it was proposed for, whatever is configured since.
    """
    landing = settings.usable(context.folders.home, repo.root).config.landing
    named, mode, remote = branch or landing.target, landing.mode, landing.remote
    lasting = [named] if named else _usual(git)
    head = None if named else repository.head_branch(git)
    wanted = [*lasting, *([head] if head else [])]
    tips = _tips(git, *wanted)
    if mode != "local":
        tips |= _upstream_tips(git, remote, *wanted)
    name = next((name for name in wanted if name in tips), wanted[-1])
    if (tip := tips.get(name)) is None:
        raise NoTarget(
            f"{repo.root} has no branch {name!r} to land on",
            "name the right one: wl config set landing.target BRANCH",
        )
    tree = gate_trees.tree_of(git, tip)
    return Target(name, tip, tree, name in lasting, mode, remote)


def _usual(git: Repository) -> list[str]:
    """The branches that may be meant where none is configured, whichever is checked out."""
    remote = repository.symbolic_ref(git, "refs/remotes/origin/HEAD") or ""
    return [*([remote.removeprefix("refs/remotes/origin/")] if remote else []), *_USUAL]


def _tips(git: Repository, *branches: str) -> dict[str, str]:
    """The commits of those branches that there are."""
    found = repository.read_refs(git, *(f"refs/heads/{branch}" for branch in branches))
    return {ref.removeprefix("refs/heads/"): tip for ref, tip in found.items()}


def _upstream_tips(git: Repository, remote: str, *branches: str) -> dict[str, str]:
    """Where a remote has those of the branches that it was asked for."""
    refs = {remotes.upstream_ref(remote, branch): branch for branch in branches}
    return {refs[ref]: tip for ref, tip in repository.read_refs(git, *refs).items()}
