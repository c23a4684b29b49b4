"""Repositories: knowing them again, by the folder that a command is run in."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path

import sqlalchemy as sa

from windlass.core import ids
from windlass.core.errors import Conflict, GitError, NotFound, UserError
from windlass.core.events import RepoAdded, RepoMoved, RepoRemoved
from windlass.core.ids import RepoId
from windlass.daemon.kernel.accepted_lines import REPO_ID_FILE
from windlass.daemon.kernel.context import Context
from windlass.git import repository, workspace_state, workspaces
from windlass.git.erasure import erase
from windlass.git.homecoming import LENT_PREFIX
from windlass.git.repository import Repository
from windlass.store import rows, tables
from windlass.store.rows import Repo
from windlass.store.store import Writing

_ID = re.compile(r"[0-9a-f]{8}")


def known(context: Context, cwd: str) -> Repo | None:
    """The repository around a folder, if it is known; asks no git, so listings stay fast."""
    repos = context.store.read(rows.repos)
    by_git_dir = {repo.git_dir: repo for repo in repos}
    by_id = {repo.id: repo for repo in repos}
    here = Path(cwd)
    if here.is_relative_to(context.folders.workspaces):
        # Whatever repositories an agent has made in there.
        below = here.relative_to(context.folders.workspaces).parts
        return by_id.get(RepoId(below[0])) if below else None
    for folder in (here, *here.parents):
        repo = by_git_dir.get(str(folder / ".git"))
        if repo is not None:
            return repo
        if (folder / ".git").exists():
            git_repo = repository.discover(str(folder))
            return by_git_dir.get(git_repo.git_dir) or _moved(context, git_repo, by_id)
    return None


def is_inside(cwd: str) -> bool:
    """Whether a folder is in a git repository, known or not; asks no git."""
    return any((folder / ".git").exists() for folder in (Path(cwd), *Path(cwd).parents))


def _moved(context: Context, git_repo: Repository, by_id: Mapping[RepoId, Repo]) -> Repo | None:
    """Knows a repository again that was moved to another folder, and tells its workspaces."""
    kept = _kept_id(context, git_repo)
    was = by_id.get(kept)
    if was is None or not is_gone(was):
        return None
    repo = context.store.write(lambda w: _register(w, git_repo, kept))
    for agent in context.store.read(lambda c: rows.agents(c, repo=repo.id)):
        workspaces.follow(git_repo, agent.workspace)
    return repo


def _kept_id(context: Context, git_repo: Repository) -> RepoId:
    """The id that a repository says it has; empty where an agent may have written that."""
    id_file = Path(git_repo.git_dir) / REPO_ID_FILE
    if id_file.is_relative_to(context.folders.home) or not id_file.is_file():
        return RepoId("")
    return RepoId(id_file.read_text().strip())


def require(context: Context, cwd: str) -> Repo:
    """The repository around a folder; one that is new becomes known."""
    return known(context, cwd) or add(context, cwd)


def add(context: Context, path: str) -> Repo:
    """Makes a repository known. Says why where a folder cannot be one."""
    if not Path(path).is_dir():
        raise UserError(f"{path} is not a folder", "name a folder inside a git repository")
    git_repo = repository.discover(path)
    repository.require_commit(git_repo)
    kept = _kept_id(context, git_repo)
    return context.store.write(lambda w: _register(w, git_repo, kept))


def agent_branches(known_repo: Repository) -> set[str]:
    """The names that branches of agents, or of somebody else in their place, take up."""
    prefix = "refs/heads/agent/"
    # A branch below agent/NAME/ takes that name up as well: git keeps branches like files.
    refs = repository.refs_under(known_repo, prefix)
    return {ref.removeprefix(prefix).partition("/")[0] for ref in refs}


def is_gone(repo: Repo) -> bool:
    """Whether a repository was deleted under its agents."""
    return not (Path(repo.git_dir) / "HEAD").is_file()


def root_of(cwd: str) -> str | None:
    """The top of the repository around a folder, known or not."""
    try:
        return repository.discover(cwd).root
    except GitError:
        return None


def current_branch(repo: Repo, cwd: str) -> str | None:
    """The branch of the checkout that a command is run in; of the main one, run anywhere else."""
    known_repo = git(repo)
    here = Path(cwd)
    for branch, place in repository.checkouts(known_repo).items():
        if place != repo.root and (here == Path(place) or Path(place) in here.parents):
            return branch
    return repository.head_branch(known_repo)


def git(repo: Repo) -> Repository:
    """The repository as the git package knows it."""
    return Repository(root=repo.root, git_dir=repo.git_dir)


def find(context: Context, wanted: str, *, cwd: str) -> Repo:
    """Finds a known repository by id, unique prefix of it, or path."""
    repos = context.store.read(rows.repos)
    path = str((Path(cwd) / wanted).resolve())
    for repo in repos:
        if path == repo.root:
            return repo
    hint = "`wl repo list` shows the known ones"
    wanted_id = ids.match(wanted, [r.id for r in repos], what="repository", hint=hint)
    return next(repo for repo in repos if repo.id == wanted_id)


def forget(writing: Writing, repo: Repo) -> None:
    """Forgets a repository that has no live agents; its refs, trash and history stay."""
    _require_known(rows.repos(writing.connection), repo.id)
    live = rows.agents(writing.connection, repo=repo.id)
    if live:
        names = ", ".join(agent.id for agent in live[:5])
        raise Conflict(
            f"{repo.root} still has {len(live)} live agents: {names}",
            "end them first: wl nuke --force",
        )
    rows.remove_repo(writing, repo)
    writing.emit(RepoRemoved(root=repo.root), repo=repo.id)


def _register(writing: Writing, git_repo: Repository, kept: RepoId) -> Repo:
    known_repos = rows.repos(writing.connection)
    for repo in known_repos:
        if repo.git_dir == git_repo.git_dir:
            return repo
    gone = [repo for repo in known_repos if is_gone(repo)]
    removed = rows.removed_repos(writing.connection)
    moved = next((repo for repo in (*gone, *removed) if repo.id == kept), None)
    if moved is not None:
        condition = tables.repos.c.id == moved.id
        values = {"root": git_repo.root, "git_dir": git_repo.git_dir}
        writing.connection.execute(sa.update(tables.repos).where(condition).values(values))
        writing.emit(RepoMoved(root=git_repo.root, was=moved.root), repo=moved.id)
        return Repo(id=moved.id, added_at=moved.added_at, **values)
    taken = {repo.id for repo in (*known_repos, *removed)}
    # Of a store that was lost: its workspaces and what is in its trash are known by that id.
    again = _ID.fullmatch(kept) is not None and kept not in taken
    repo = Repo(
        id=kept if again else RepoId(uuid.uuid4().hex[:8]),
        root=git_repo.root,
        git_dir=git_repo.git_dir,
        added_at=writing.now,
    )
    rows.add_repo(writing, repo)
    (Path(git_repo.git_dir) / REPO_ID_FILE).write_text(repo.id + "\n")
    writing.emit(RepoAdded(root=repo.root), repo=repo.id)
    return repo


def clear_leftovers(context: Context) -> None:
    """Deletes the temporary folders of git calls that died with an earlier daemon."""
    for folder in context.folders.mirrors.glob(f"{LENT_PREFIX}*"):
        erase(str(folder))
    for repo in context.store.read(rows.repos):
        if Path(repo.git_dir).is_dir():
            workspace_state.clear_leftovers(git(repo))


def by_id(context: Context, repo: RepoId) -> Repo:
    """The known repository that an agent or intent names."""
    return _require_known(context.store.read(rows.repos), repo)


def _require_known(known_repos: list[Repo], wanted: RepoId) -> Repo:
    for repo in known_repos:
        if repo.id == wanted:
            return repo
    raise NotFound(f"no repository {wanted}", "`wl repo list` shows the known ones")
