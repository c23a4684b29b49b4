"""A repository with a gate and a queue, and a daemon's part that lands, driven by the test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tests.daemon.gate.gate_ground import PERSON, GateGround

from windlass import forge
from windlass.core.landing import job as landing_job
from windlass.core.landing import request as request_job
from windlass.core.landing.changes import Change
from windlass.core.ports import Forge
from windlass.daemon.kernel import settings
from windlass.daemon.kernel.requests import IntentVerb
from windlass.daemon.landing.authors import Authors
from windlass.daemon.landing.cancellations import Cancellations
from windlass.daemon.landing.failures import Failures
from windlass.daemon.landing.judgements import Judgements
from windlass.daemon.landing.landings import Landings
from windlass.daemon.landing.pull_requests import PullRequests
from windlass.daemon.landing.pushes import Pushes
from windlass.daemon.landing.recoveries import Recoveries
from windlass.daemon.landing.stops import Stops
from windlass.daemon.landing.submissions import Submissions
from windlass.daemon.landing.tries import Tries
from windlass.daemon.landing.upstreams import Upstreams
from windlass.daemon.landing.views import ChangeViews
from windlass.daemon.launch.commit_fetcher import CommitFetcher
from windlass.store import changes as rows


def _nobody(*_: object) -> None:
    """There are no agents."""


class LandingGround(GateGround):
    """Everything that waits is done in the test's own thread, by `settle`."""

    programs_of_forges = "/nonexistent"
    """The PATH on which what asks forges is looked for."""

    def start_daemon(self) -> None:
        """Starts a daemon in the place of the one before."""
        super().start_daemon()
        self.submissions = Submissions(self.context, self.jobs, CommitFetcher(self.context))
        self.judgements = Judgements(self.context, self.submissions)
        upstreams = Upstreams(self.context)
        requests = PullRequests(self.context, self.jobs, upstreams, self._forge)
        self.intents.add(
            (
                self.submissions.operation(),
                *self.judgements.operations(),
                Tries(self.context, self.proofs, upstreams).operation(),
                Landings(
                    self.context, self.proofs, Pushes(self.context, upstreams), requests
                ).operation(),
                requests.operation(),
                Cancellations(self.context, self.jobs).operation(),
                Failures(self.context).operation(),
                Recoveries(self.context, self.proofs, upstreams).operation(),
                Stops(self.context, Authors(self.context, _nobody, _nobody)).operation(),
            )
        )
        self.jobs.add((landing_job.KIND, request_job.KIND))

    def _forge(self, addresses: Sequence[str]) -> Forge:
        return forge.at(addresses, env={"PATH": self.programs_of_forges})

    def submit(self, branch: str, **more: Any) -> str:
        """Proposes a branch; the id of its change."""
        verb = IntentVerb(self.intents, "submit", self.submissions.begin)
        asked: Any = {"cwd": str(self.root), "change": branch, **more}
        return str(verb(PERSON, asked)["change"])

    def configure(self, key: str, value: str) -> None:
        """Sets a key of the person's own configuration."""
        settings.put(self.context.folders.home / settings.USER_FILE, key, value)

    def judge(self, kind: str, name: str, **more: Any) -> dict[str, Any]:
        """Approves, blocks or drops a change."""
        verb = IntentVerb(self.intents, kind, partial(self.judgements.begin, kind))
        asked: Any = {"cwd": str(self.root), "change": name, **more}
        return dict(verb(PERSON, asked))

    def change(self, name: str) -> dict[str, Any]:
        """One change as it is shown."""
        views = ChangeViews(self.context)
        return dict(views.show(PERSON, {"cwd": str(self.root), "change": name}))

    def changes(self) -> list[Change]:
        """All changes."""
        return self.context.store.read(partial(rows.listed, repo=self.proofs_repo))

    def states(self) -> dict[str, str]:
        """Where each change is, by its branch."""
        return {change.branch: change.state for change in self.changes()}

    def first_parents(self) -> list[str]:
        """The trees along main's own line, the oldest first."""
        return self.git("log", "--first-parent", "--reverse", "--format=%T", "main").splitlines()
