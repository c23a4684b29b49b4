"""The effect `landing.retire`: whose branch has landed is ended, unless there is more of it.

What an agent committed or left since the revision that landed becomes a draft, and the agent stays.
"""

from __future__ import annotations

from functools import partial

from windlass.core.crew import Agent
from windlass.core.errors import GitError
from windlass.core.ids import RepoId, Uid
from windlass.core.landing import job as landing_job
from windlass.core.landing.changes import Change, ChangeId
from windlass.daemon.agents import ending_settings, endings
from windlass.daemon.agents.endings import Endings
from windlass.daemon.kernel import repos, set_aside
from windlass.daemon.kernel.context import Context
from windlass.daemon.kernel.operations import Operation, Step
from windlass.daemon.kernel.running_intents import RunningIntent
from windlass.daemon.launch import setup_files
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.daemon.mail import notices
from windlass.git import repository
from windlass.store import changes as rows
from windlass.store import rows as agent_rows
from windlass.store.store import Writing

_STOP = "stop"


class Retirements:
    """Ends the authors of what has landed, as every ending does, and deletes their branches."""

    def __init__(self, context: Context, fetcher: CommitFetcher, ending: Endings) -> None:
        self._context = context
        self._fetcher = fetcher
        self._ending = ending

    def operation(self) -> Operation:
        """Look, stop, look again at what came meanwhile, and only then remove."""
        stop, *rest = self._ending.steps()
        if stop.name != _STOP:
            raise AssertionError(stop.name)
        return Operation(
            landing_job.RETIRE,
            (
                Step("look", self._look),
                _unless_more(stop),
                Step("look again", self._look),
                *map(_unless_more, rest),
                Step("delete", self._delete),
            ),
            endings.uids_of,
            self._ending.result,
            stops=endings.uids_of,
            unsaid=endings.UNSAID,
        )

    def _look(self, work: RunningIntent) -> None:
        """Keeps what the steps of an ending need, or that there is more than has landed."""
        repo, data = RepoId(work.intent.repo), work.data
        if data["deletes"]:
            work.read(partial(set_aside.refuse_move, repo=repo, branch=data["branch"]))
        author = self._author(work)
        if author is None or data.get("more"):
            return
        refuse = partial(set_aside.refuse_attached, agents=[author.uid], ends=True)
        self._context.store.write(refuse)
        if "how" not in work.data:
            configured, notes = ending_settings.of_repos(self._context, [author])
            now = self._context.clock.now()
            kept = endings.record([author], configured, how="merge", by="windlass", now=now)
            work.keep(**kept, notes=notes)
        more = self._more(author, work.data["head"])
        if more:
            work.with_next_record(partial(_draft, work=work, author=author, why=more))
            work.keep(more=more)

    def _author(self, work: RunningIntent) -> Agent | None:
        for uid in work.data["agents"]:
            found = self._context.store.read(partial(agent_rows.agent, uid=Uid(uid)))
            return found if found is not None and found.ended_at is None else None
        return None

    def _more(self, author: Agent, head: str) -> str:
        """What an agent has beyond the revision that landed."""
        self._fetcher.fetch(author)
        git = repos.git(repos.by_id(self._context, author.repo))
        tip = repository.read_ref(git, f"refs/heads/{author.branch}")
        if tip is not None and tip != head:
            return f"{author.id} has committed more since"
        work = setup_files.work_status(self._context, author)
        if not work.clean:
            return f"{author.id} has uncommitted work"
        return ""

    def _delete(self, work: RunningIntent) -> None:
        """Deletes the branch where that was asked for, unless it has moved on."""
        if not work.data["deletes"] or work.data.get("more"):
            return
        git = repos.git(repos.by_id(self._context, RepoId(work.intent.repo)))
        ref = f"refs/heads/{work.data['branch']}"
        if repository.read_ref(git, ref) != work.data["head"]:
            return
        if work.data["branch"] in repository.checkouts(git):
            return
        try:
            repository.delete_ref(git, ref, old=work.data["head"])
        except GitError:
            if repository.read_ref(git, ref) == work.data["head"]:
                raise


def _unless_more(step: Step) -> Step:
    return step._replace(
        needed=lambda data: bool(data["agents"]) and not data.get("more") and step.needed(data)
    )


def _draft(writing: Writing, *, work: RunningIntent, author: Agent, why: str) -> None:
    """What came after what landed is a change of its own, which waits for its author.

    The person hears of an author that was stopped for its ending, and stays.
    """
    repo = RepoId(work.intent.repo)
    landed = rows.find(writing.connection, repo, ChangeId(work.data["change"]))
    if _STOP in work.intent.done:
        text = (
            f"{work.data['change']} has landed; {why}, so it stays, stopped: wl resume {author.id}"
        )
        notices.post(writing, repo, author.id, "waiting", text, by_hand=True)
    newest = rows.of_author(writing.connection, author.uid)
    if landed is None or (newest is not None and newest.id != landed.id):
        return
    rows.add(
        writing,
        Change(
            repo=repo,
            id=ChangeId(""),
            target=landed.target,
            branch=landed.branch,
            head=landed.head,
            title=landed.title,
            task=landed.task,
            state="draft",
            why=why,
            author=author.uid,
            ends=landed.ends,
            created_at=writing.now,
            updated_at=writing.now,
        ),
    )
