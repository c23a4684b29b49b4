# ruff: noqa: PTH102, PTH112, PTH118, PTH119, PTH120
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The user's repository: where it is, what its refs say, how they move.

Owns discovery and refs. Work trees of agents are `workspaces`, their contents `view`.
"""

from __future__ import annotations

import contextlib
import os
import re
from functools import lru_cache
from typing import TYPE_CHECKING

import msgspec

from windlass.core.errors import Conflict, GitError, UserError
from windlass.core.printable import printable_line
from windlass.git import commit_times, gitfiles, long_lists, names, registered, workspace_state
from windlass.git.blobs import kinds
from windlass.git.environment import Dirs
from windlass.git.person_git import user_settings
from windlass.git.runner import failed, run

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from windlass.git.runner import GitResult


_LINK = b"ref: "
_HELD = re.compile(rb"Unable to create '(.+\.lock)': File exists")
"""How git says that another one has the lock of a ref, or of HEAD."""
_ON_BRANCH = b"ref: refs/heads/"
_REFTABLES = ".invalid"
"""The branch in the file HEAD where refs are not files."""
# With NULs: the parts of a name that an agent made must not be taken for more commands.
_UPDATE = ("update-ref", "-z", "--stdin")
# A name that stands for a branch is deleted, not that branch.
_ITSELF = "--no-deref"
_WINDLASS = "refs/windlass/"
_MOST_NAMES = 5
"""How many names stand for one another before git gives up."""
_HOLDERS = (
    *("refs/heads/", "refs/remotes/", "refs/tags/", f"{_WINDLASS}upstream/"),
    *(f"{_WINDLASS}{kept}/" for kept in ("base", "changes", "restored", "trash")),
)
"""Where a commit is held by somebody who may bring it back."""


class RefHeld(GitError):
    """Another git has the lock of a ref: it is moving that, or HEAD with it."""


class Repository(msgspec.Struct, frozen=True):
    """A repository that Windlass knows: its main work tree and its common git folder."""

    root: str
    git_dir: str
    replaces: str = ""
    """Below which refs lies what is read in the place of commits; see `squashes`."""

    @property
    def dirs(self) -> Dirs:
        """The folders for calls that touch refs and objects only."""
        return Dirs(git_dir=self.git_dir, replaces=self.replaces)

    @property
    def private(self) -> str:
        """Our own folder inside the git folder, for locks and short-lived files."""
        return os.path.join(self.git_dir, "windlass")

    def make_private(self) -> str:
        """Makes our own folder where it is missing, and never the git folder around it.

        A repository that was moved away would else seem to be in both places.
        """
        with contextlib.suppress(FileExistsError):
            try:
                os.mkdir(self.private, 0o700)
            except FileNotFoundError:
                raise GitError(
                    f"{printable_line(self.git_dir)} is gone",
                    "where the repository was moved, run any `wl` command in its new place",
                ) from None
        return self.private

    def git(self, *args: str, stdin: bytes = b"", ok: Sequence[int] = (0,)) -> GitResult:
        """Runs git on refs and objects."""
        return run(args, dirs=self.dirs, stdin=stdin, ok=ok)


class Commit(msgspec.Struct, frozen=True):
    """One line of history."""

    oid: str
    subject: str
    time: int


def discover(path: str) -> Repository:
    """Finds the main repository from any folder of it or of any of its linked worktrees."""
    if not os.path.isdir(path):
        raise GitError(
            f"{printable_line(path)} is not a folder", "give a folder inside a repository"
        )
    # An agent's clone may be asked here, and its configuration may name a pipe.
    asked = run(
        ["rev-parse", "--path-format=absolute", "--git-common-dir"],
        cwd=path,
        ok=(0, 128),
        timeout=10.0,
    )
    if asked.code != 0:
        raise GitError(
            f"{printable_line(path)} is not in a git repository",
            "go to one, make one with `git init`, or name one with `wl repo add PATH`",
        )
    common = os.path.realpath(_line(asked))
    own = run(["rev-parse", "--path-format=absolute", "--absolute-git-dir"], cwd=path)
    inside = run(["rev-parse", "--is-inside-work-tree"], cwd=path).out == b"true\n"
    if inside and os.path.realpath(_line(own)) == common:
        top = run(["rev-parse", "--path-format=absolute", "--show-toplevel"], cwd=path)
        return Repository(root=_line(top), git_dir=common)
    return Repository(root=_main_root(common), git_dir=common)


def _main_root(common: str) -> str:
    bare = run(
        ["config", "--type=bool", "--get", "core.bare"], dirs=Dirs(git_dir=common), ok=(0, 1)
    )
    if bare.out == b"true\n":
        raise GitError(
            f"{printable_line(common)} is a bare repository",
            "Windlass needs a repository with a work tree: `git clone` it and work there",
        )
    named = run(["config", "-z", "--get", "core.worktree"], dirs=Dirs(git_dir=common), ok=(0, 1))
    if named.code == 0:
        return os.path.realpath(os.path.join(common, os.fsdecode(named.out.rstrip(b"\0"))))
    if os.path.basename(common) == ".git":
        return os.path.dirname(common)
    raise GitError(
        f"cannot tell which work tree belongs to {printable_line(common)}",
        "run this from the main checkout",
    )


def _line(result: GitResult) -> str:
    return os.fsdecode(result.out.removesuffix(b"\n"))


def require_commit(repo: Repository) -> str:
    """Gives HEAD's commit; refuses a repository without one."""
    head = resolve(repo, "HEAD")
    if head is None:
        raise GitError(
            f"{printable_line(repo.root)} has no commit yet",
            'make a first one: `git commit --allow-empty -m "first"`',
        )
    return head


def head_branch(repo: Repository) -> str | None:
    """Names the branch that the main checkout is on; None when HEAD is detached."""
    # Asked for all the time, so it is read where git keeps it; with reftables it is not there.
    kept = _kept_head(repo)
    if kept not in (None, _REFTABLES):
        return kept
    said = repo.git("symbolic-ref", "-q", "HEAD", ok=(0, 1))
    name = _line(said)
    return name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None


def symbolic_ref(repo: Repository, ref: str) -> str | None:
    """The ref that another one stands for; None where it stands for none."""
    # A file of its own, whatever else is packed: read where git keeps it, as with HEAD.
    path = os.path.join(repo.git_dir, ref)
    held = workspace_state.read_small(path)
    if held is not None:
        return os.fsdecode(held[len(_LINK) :].strip()) if held.startswith(_LINK) else None
    if not os.path.lexists(path) and _kept_head(repo) != _REFTABLES:
        return None
    said = repo.git("symbolic-ref", "-q", ref, ok=(0, 1, 128))
    return _line(said) if said.code == 0 else None


def resolve(repo: Repository, rev: str) -> str | None:
    """Gives the full id of the commit that `rev` names; None when it names none."""
    if not rev or "\0" in rev:
        return None
    said = repo.git(
        "rev-parse", "-q", "--verify", "--end-of-options", f"{rev}^{{commit}}", ok=(0, 1, 128)
    )
    return _line(said) if said.code == 0 else None


def require(repo: Repository, rev: str) -> str:
    """Resolves `rev` or says that it names no commit."""
    oid = resolve(repo, rev)
    if oid is None:
        raise GitError(
            f"{printable_line(rev)} names no commit in {printable_line(repo.root)}",
            "`git branch -a` and `git log --all` list what there is",
        )
    return oid


NOBODY = ("windlass", "windlass@windlass.invalid")
"""Who commits where the user has no name: also what is made to be compared, and for nobody."""


def identity(repo: Repository) -> tuple[str, str] | None:
    """Gives the user's own name and email as their git would use them."""
    settings = user_settings(cwd=repo.root)
    name, email = settings.get("user.name"), settings.get("user.email")
    return (name, email) if name and email else None


def check_branch_name(branch: str) -> None:
    """Refuses what git would not take as a branch name."""
    said = run(["check-ref-format", f"refs/heads/{branch}"], ok=(0, 1, 128, 129))
    if said.code != 0 or branch.startswith("-") or branch == "HEAD":
        raise UserError(
            f"{printable_line(branch)!r} is no branch name", "use letters, digits, `-`, `_` and `/`"
        )


def branch_exists(repo: Repository, branch: str) -> bool:
    """Says whether the branch exists."""
    return read_ref(repo, f"refs/heads/{branch}") is not None


def read_ref(repo: Repository, ref: str) -> str | None:
    """Gives what a full ref name holds, itself and nothing that merely looks like it."""
    return read_refs(repo, ref).get(ref)


def read_refs(repo: Repository, *refs: str) -> dict[str, str]:
    """Gives the same of several full names at once; one that there is not is left out."""
    said = repo.git("for-each-ref", "--format=%(refname)%00%(objectname)", *refs)
    lines = (line.partition(b"\0") for line in said.out.splitlines())
    found = {os.fsdecode(name): oid.decode() for name, _, oid in lines}
    return {ref: found[ref] for ref in refs if ref in found}


def refs_under(repo: Repository, prefix: str) -> dict[str, str]:
    """Gives every ref below a prefix with what it holds."""
    said = repo.git("for-each-ref", "--format=%(objectname) %(refname)", prefix)
    pairs = (line.split(b" ", 1) for line in said.out.splitlines())
    return {os.fsdecode(name): oid.decode() for oid, name in pairs}


def checkouts(repo: Repository) -> dict[str, str]:
    """Says where each checked-out branch is checked out; a clone has its own branch.

    Reads the admin folders itself: `git worktree list` fails while another git adds a worktree.
    """
    places: dict[str, str] = {}
    for branch, place in _attached(repo):
        places.setdefault(branch, place)
        places.setdefault(stands_for(repo, branch), place)
    return {**registered.clones(repo), **places}


def places(repo: Repository, branch: str) -> list[str]:
    """Says where a branch is checked out: git lets several worktrees have the same one.

    Also by another name of it: a commit made there is made on the same branch.
    """
    clone = registered.clones(repo).get(branch)
    meant = stands_for(repo, branch)
    attached = [place for found, place in _attached(repo) if stands_for(repo, found) == meant]
    return attached or ([] if clone is None else [clone])


def stands_for(repo: Repository, branch: str) -> str:
    """The branch that moves when this one does: itself, but for a name that stands for another.

    `git symbolic-ref refs/heads/master refs/heads/main` makes such a name.
    """
    for _ in range(_MOST_NAMES):
        ref = f"refs/heads/{branch}"
        meant = (symbolic_ref(repo, ref) if names.is_ref(os.fsencode(ref)) else None) or ""
        if not meant.startswith("refs/heads/"):
            break
        branch = meant.removeprefix("refs/heads/")
    return branch


def branch_at(repo: Repository, place: str) -> str | None:
    """The branch that a checkout is on, as its HEAD has it; None where that is on none."""
    return next((branch for branch, at in _attached(repo) if at == place), None)


def places_at(repo: Repository, commit: str) -> list[str]:
    """Says where a branch is checked out that is at a commit; clones are not looked for."""
    # Not `--points-at`, which reads what every branch names, and fails where one of them is broken.
    there = {ref for ref, oid in refs_under(repo, "refs/heads/").items() if oid == commit}
    return [place for branch, place in _attached(repo) if f"refs/heads/{branch}" in there]


def head_commit(repo: Repository, place: str) -> str | None:
    """The commit that a checkout's HEAD names now; None for what is no checkout of this one."""
    if os.path.realpath(place) == os.path.realpath(repo.root):
        return resolve(repo, "HEAD")
    for admin, at in workspace_state.admins(repo).items():
        if at == place:
            head = gitfiles.read_below(workspace_state.canonical(admin), "HEAD") or b""
            branch = _branch_in(head)
            return resolve(repo, f"refs/heads/{branch}" if branch else os.fsdecode(head.strip()))
    return None


def _attached(repo: Repository) -> Iterator[tuple[str, str]]:
    if main := head_branch(repo):
        yield main, repo.root
    for admin, place in workspace_state.admins(repo).items():
        head = gitfiles.read_below(workspace_state.canonical(admin), "HEAD")
        if branch := _branch_in(head):
            yield branch, place


def _kept_head(repo: Repository) -> str | None:
    """The branch that the file HEAD names, which says something else where refs are no files."""
    return _branch_in(workspace_state.read_small(os.path.join(repo.git_dir, "HEAD")))


def _branch_in(head: bytes | None) -> str | None:
    """The branch that a HEAD file names; None for anything else in it."""
    if head is None or not head.startswith(_ON_BRANCH):
        return None
    return os.fsdecode(head.removeprefix(_ON_BRANCH).rstrip())


def is_ancestor(repo: Repository, older: str, newer: str) -> bool:
    """Says whether `newer` contains `older`; a commit that is not here is in nothing."""
    words = ("merge-base", "--is-ancestor", older, newer)
    said = repo.git(*words, ok=(0, 1, 128))
    if said.code == 128 and (resolve(repo, older) or not resolve(repo, newer)):
        raise failed(words, said, dirs=repo.dirs)
    return said.code == 0


def is_elsewhere(repo: Repository, commit: str, *, branch: str) -> bool:
    """Whether anything but a branch has a commit, or was begun on it.

    A remote, another branch, a tag, a worktree on none, what an agent has or had, in the trash too.
    """
    args = ["--format=%(refname)", f"--contains={commit}", *_HOLDERS]
    having = {os.fsdecode(name) for name in repo.git("for-each-ref", *args).out.splitlines()}
    if having - {f"refs/heads/{branch}"}:
        return True
    attached = {place for _, place in _attached(repo)}
    detached = {repo.root, *workspace_state.admins(repo).values()} - attached
    heads = {head_commit(repo, place) for place in detached}
    return any(head is not None and is_ancestor(repo, commit, head) for head in heads)


def merge_bases(repo: Repository, a: str, b: str) -> list[str]:
    """Gives the best common ancestors; none for unrelated histories."""
    return repo.git("merge-base", "--all", a, b, ok=(0, 1)).out.decode().split()


def ahead_behind(repo: Repository, a: str, b: str) -> tuple[int, int]:
    """Counts the commits that only `a` has, and those that only `b` has."""
    said = repo.git("rev-list", "--left-right", "--count", f"{a}...{b}", "--")
    left, right = said.out.split()
    return int(left), int(right)


def commits_between(repo: Repository, base: str, tip: str, *, limit: int = 100) -> list[Commit]:
    """Lists the commits of `tip` that `base` lacks, newest first."""
    said = repo.git(
        "log", f"--max-count={limit}", "-z", "--format=%H%x1f%at%x1f%s", f"{base}..{tip}", "--"
    )
    commits = []
    for record in long_lists.records(said.out):
        oid, time, subject = record.split(b"\x1f", 2)
        text = subject.decode(errors="backslashreplace")
        commits.append(Commit(oid=oid.decode(), subject=text, time=commit_times.read(time)))
    return commits


def object_format(repo: Repository) -> str:
    """Names this repository's hash; asks once, as long as its configuration is as it was."""
    changed = os.stat(os.path.join(repo.git_dir, "config")).st_mtime_ns  # noqa: PTH116
    return _object_format(repo, changed)


@lru_cache(maxsize=64)
def _object_format(repo: Repository, _changed: int) -> str:
    return _line(repo.git("rev-parse", "--show-object-format"))


def null_oid(repo: Repository) -> str:
    """Gives the id that means "nothing" in this repository's hash."""
    return "0" * (64 if object_format(repo) == "sha256" else 40)


def set_ref(repo: Repository, ref: str, new: str, *, old: str | None = None) -> None:
    """Moves a ref, only from `old` when that is given; the null id means "must not exist"."""
    _require_ref(ref)
    words = os.fsencode(f"update {ref}\0{new}\0{old or ''}\0")
    said = repo.git(*_UPDATE, stdin=words, ok=(0, 1, 128))
    if said.code != 0:
        if (held := _HELD.search(said.err)) is not None:
            raise RefHeld(
                f"another git is moving {ref}: {printable_line(os.fsdecode(held[1]))} exists",
                "wait for it to end; if none is running, delete that file",
            )
        _refuse(repo, ref, old=old, said=said)


def set_refs(dirs: Dirs, refs: Mapping[str, str]) -> dict[str, str]:
    """Sets refs of a repository all at once; gives those that could not be, and why.

    Git keeps refs like files: where `a` is one, `a/b` cannot be.
    """
    listed = run(["for-each-ref", "--format=%(refname)"], dirs=dirs).out.splitlines()
    files = {os.fsdecode(name) for name in listed}
    folders = {folder for name in files for folder in _folders(name)}
    there = kinds(dirs, refs.values())
    wanted: dict[str, str] = {}
    left: dict[str, str] = {}
    for name, oid in sorted(refs.items()):
        above = _folders(name)
        if not names.is_ref(os.fsencode(name)):
            left[name] = "it is no name of a ref"
        elif there.get(oid) != "commit" and (oid not in there or name.startswith("refs/heads/")):
            left[name] = "what it names is not here"
        elif name in folders or not files.isdisjoint(above):
            left[name] = "another ref is in its way"
        else:
            wanted[name] = oid
            files.add(name)
            folders.update(above)
    return left | _moved(dirs, wanted)


def _folders(ref: str) -> list[str]:
    parts = ref.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def _moved(dirs: Dirs, refs: Mapping[str, str]) -> dict[str, str]:
    """Moves refs all at once; where git refuses that, each half of them, to find those it means."""
    words = b"".join(os.fsencode(f"update {name}\0{oid}\0\0") for name, oid in refs.items())
    if not refs or not (said := run(_UPDATE, dirs=dirs, stdin=words, ok=(0, 1, 128))).code:
        return {}
    if len(refs) == 1:
        return dict.fromkeys(refs, said.err.decode(errors="backslashreplace").strip())
    pairs = list(refs.items())
    half = len(pairs) // 2
    return _moved(dirs, dict(pairs[:half])) | _moved(dirs, dict(pairs[half:]))


def _require_ref(ref: str) -> None:
    if not names.is_ref(os.fsencode(ref)):
        raise GitError(
            f"{printable_line(ref)} is no name of a ref", "look at it with `git show-ref`"
        )


def delete_ref(repo: Repository, ref: str, *, old: str | None = None) -> None:
    """Deletes a ref, only from `old` when that is given; a missing ref is fine."""
    _require_ref(ref)
    now = read_ref(repo, ref)
    if now is None:
        return
    said = repo.git("update-ref", _ITSELF, "-d", ref, old or now, ok=(0, 1, 128))
    if said.code != 0 and read_ref(repo, ref) is not None:
        _refuse(repo, ref, old=old, said=said)


def delete_refs(repo: Repository, *refs: str) -> None:
    """Deletes refs, all at once where git takes that; missing ones are fine."""
    for ref in refs:
        _require_ref(ref)
    now = read_refs(repo, *refs)
    words = b"".join(os.fsencode(f"delete {ref}\0{oid}\0") for ref, oid in now.items())
    if now and repo.git(*_UPDATE, _ITSELF, stdin=words, ok=(0, 1, 128)).code != 0:
        # One by one, in their order: it says which of them git would not delete, and why.
        for ref in refs:
            delete_ref(repo, ref)


def _refuse(repo: Repository, ref: str, *, old: str | None, said: GitResult) -> None:
    now = read_ref(repo, ref)
    if old is not None and (now or "0" * len(old)) != old:
        raise Conflict(
            f"{ref} moved: it is at {now or 'nothing'}, not at {old}", "look again and retry"
        )
    raise GitError(
        f"git would not move {ref}: {said.err.decode(errors='backslashreplace').strip()}",
        "look for stale *.lock files of a killed git, and for a branch named like a folder of it",
    )
