"""A remote, as the person's own git reaches it: where a branch of it is, and pushes to it.

Owns what is asked and how the answers are read. When to ask, and what follows, is decided
elsewhere; every call is bounded in time, and none of the repository's hooks runs.
"""

from __future__ import annotations

import os
import re
from typing import Literal, NamedTuple

from windlass.core.errors import ConfigError, GitError
from windlass.core.printable import printable_line
from windlass.git.names import is_ref
from windlass.git.person_git import run_towards_remote
from windlass.git.repository import Repository, read_ref
from windlass.git.runner import GitResult, TookTooLong, TooMuchSaid

FETCH = 600.0
"""Seconds for what a remote has more than we have."""
ASK = 60.0
PUSH = 600.0
"""Seconds for a push: hooks of the remote's may take their time."""
_NO_BRANCH = b"couldn't find remote ref"
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+@")
_NAMED = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._/-]*")
_MOVED = re.compile(
    r"cannot lock ref|failed to (?:update|lock) ref|incorrect old value|already exists|stale info"
)
_TOLD = 6
"""Lines of what a remote says that are kept."""

Outcome = Literal["pushed", "moved", "refused", "unknown"]


class Unreachable(GitError):
    """A remote does not answer, or not with what was asked for."""


class Push(NamedTuple):
    """How a push ended: `moved` is not from where it was expected, `unknown` without an answer."""

    outcome: Outcome
    why: str = ""


def upstream_ref(remote: str, branch: str) -> str:
    """The ref of ours that says where a remote's branch was when it was last asked."""
    return f"refs/windlass/upstream/{remote}/{branch}"


def address(repo: Repository, remote: str) -> str:
    """The address that a remote is read at; may hold a password. Refuses what is no remote."""
    if _NAMED.fullmatch(remote) is None:
        raise ConfigError(f"{printable_line(remote)} is no name of a remote", _HINT)
    said = run_towards_remote(["remote", "get-url", remote], dirs=repo.dirs, timeout=ASK)
    if said.code != 0:
        raise ConfigError(f"there is no remote {remote} in {printable_line(repo.root)}", _HINT)
    return os.fsdecode(said.out).partition("\n")[0]


def addresses(repo: Repository, remote: str) -> list[str]:
    """The addresses that a remote is known by: as it is read, and as it is written."""
    read = address(repo, remote)
    args = ["config", "--get", f"remote.{remote}.url"]
    said = run_towards_remote(args, dirs=repo.dirs, timeout=ASK)
    written = os.fsdecode(said.out).partition("\n")[0]
    return [read, written] if written and written != read else [read]


def written_at(repo: Repository, remote: str) -> list[str]:
    """The addresses that a remote is pushed to; may hold passwords."""
    address(repo, remote)
    args = ["remote", "get-url", "--push", "--all", remote]
    said = run_towards_remote(args, dirs=repo.dirs, timeout=ASK)
    return os.fsdecode(said.out).splitlines()


_HINT = (
    "`git remote -v` lists them: wl config set landing.remote NAME; to land without one:"
    " wl config set landing.mode local"
)


def fetch(repo: Repository, remote: str, branch: str, *, timeout: float = FETCH) -> str | None:
    """Brings a remote's branch here, into `upstream_ref`; None where it has no such branch."""
    address(repo, remote)
    ref = upstream_ref(remote, branch)
    said = _asked(
        [
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap="),
            *("--no-recurse-submodules", "--no-auto-maintenance", "--end-of-options"),
            *(remote, f"+refs/heads/{branch}:{ref}"),
        ],
        repo,
        remote,
        timeout=timeout,
    )
    if said.code != 0 and _NO_BRANCH in said.err:
        return None
    if said.code != 0:
        raise _unreachable(remote, _told(said))
    return read_ref(repo, ref)


def tip(repo: Repository, remote: str, branch: str, *, timeout: float = ASK) -> str | None:
    """Where a remote's branch is now; None where it has no such branch. Brings nothing here."""
    address(repo, remote)
    ref = f"refs/heads/{branch}"
    args = ["ls-remote", "--quiet", "--end-of-options", remote, ref]
    said = _asked(args, repo, remote, timeout=timeout)
    if said.code != 0:
        raise _unreachable(remote, _told(said))
    pairs = (line.partition("\t") for line in os.fsdecode(said.out).splitlines())
    return next((oid for oid, _, name in pairs if name == ref), None)


def push(
    repo: Repository,
    remote: str,
    *,
    commit: str,
    branch: str,
    old: str | None,
    timeout: float = PUSH,
) -> Push:
    """Has a remote's branch be at a commit, only from where it is expected; None: from nowhere.

    Never raises because of the remote: without a plain answer nobody knows what became of it.
    """
    address(repo, remote)
    ref = f"refs/heads/{branch}"
    if not is_ref(os.fsencode(ref)):
        raise GitError(f"{printable_line(branch)} is no name of a branch", "name another")
    args = [
        *("push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-progress"),
        f"--force-with-lease={ref}:{'' if old is None else old}",
        *("--end-of-options", remote, f"{commit}:{ref}"),
    ]
    try:
        said = run_towards_remote(args, dirs=repo.dirs, timeout=timeout)
    except (TookTooLong, TooMuchSaid) as error:
        return Push("unknown", error.message)
    return _read(os.fsdecode(said.out), ref, why=_told(said))


def without_credentials(text: str) -> str:
    """The same without what addresses in it say of who asks."""
    return _CREDENTIALS.sub("", text)


def _asked(args: list[str], repo: Repository, remote: str, *, timeout: float) -> GitResult:
    try:
        return run_towards_remote(args, dirs=repo.dirs, timeout=timeout)
    except (TookTooLong, TooMuchSaid) as error:
        raise _unreachable(remote, error.message) from error


def _read(porcelain: str, ref: str, *, why: str) -> Push:
    """What the answer to a push says of a ref: a flag, from where to where, and how that ended."""
    for line in porcelain.splitlines():
        flag, _, rest = line.partition("\t")
        refs, _, summary = rest.partition("\t")
        if not refs.endswith(f":{ref}"):
            continue
        if flag in (" ", "+", "*", "=", "-"):
            return Push("pushed")
        told = f"{why}; {summary}" if why else summary
        if summary.startswith("[rejected]") or _MOVED.search(summary):
            return Push("moved", told)
        if summary.startswith("[remote rejected]"):
            return Push("refused", told)
        return Push("unknown", told)
    return Push("unknown", why or "git did not say why")


def _unreachable(remote: str, why: str) -> Unreachable:
    return Unreachable(f"{remote} cannot be read: {why}", f"try it yourself: git fetch {remote}")


def _told(said: GitResult) -> str:
    """What the remote and git say of it, in one line that gives no secrets away."""
    lines = said.err.decode(errors="backslashreplace").splitlines()
    kept = [line for raw in lines if (line := raw.removeprefix("remote:").strip(" \t"))]
    told = [line for line in kept if not line.startswith(("To ", "error: failed to push"))]
    return printable_line(without_credentials("; ".join(told[-_TOLD:])))
