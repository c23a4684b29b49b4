"""Repositories that are added, removed, and added again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.contexts import Turned, lent
from tests.support.workshop import Workshop

from windlass.core.errors import NotFound
from windlass.daemon.kernel import repos
from windlass.daemon.person.status_files import StatusFiles
from windlass.daemon.policy import decisions
from windlass.store import rows


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    """A daemon's services, and a repository that is known."""
    with lent(Turned(tick=0.001), {}) as context:
        made = Workshop(context)
        made.ask("repo.add", repo=".")
        yield made
        made.close()


def remove(workshop: Workshop) -> None:
    workshop.ask("repo.remove", repo=str(workshop.repo))


def test_a_removed_repository_is_in_no_list_and_cannot_be_removed_again(
    workshop: Workshop,
) -> None:
    (before,) = workshop.ask("repos")
    known = repos.by_id(workshop.context, before["id"])
    remove(workshop)
    assert workshop.ask("repos") == []
    assert workshop.context.store.read(rows.repos) == []
    with pytest.raises(NotFound):
        remove(workshop)
    with pytest.raises(NotFound):
        repos.by_id(workshop.context, known.id)
    with pytest.raises(NotFound):
        workshop.context.store.write(lambda w: repos.forget(w, known))
    (kept,) = workshop.context.store.read(rows.removed_repos)
    assert kept.git_dir.count("#") == 1


def test_a_repository_that_is_added_again_has_its_id_again(
    workshop: Workshop, tmp_path: Path
) -> None:
    other = workshop.repo.rename(tmp_path / "other")  # whose word about its id is believed
    before = workshop.ask("repo.add", repo=str(other))
    workshop.ask("repo.remove", repo=str(other))
    assert repos.known(workshop.context, str(other)) is None
    assert workshop.ask("repo.add", repo=str(other)) == before
    assert workshop.context.store.read(rows.removed_repos) == []
    assert repos.known(workshop.context, str(other)) is not None


def test_nothing_is_written_into_a_removed_repository(workshop: Workshop) -> None:
    (workshop.context.folders.home / "config.toml").write_text("status_file = true\n")
    remove(workshop)
    StatusFiles(workshop.context).refresh()
    assert [path.name for path in workshop.repo.iterdir()] == [".git"]


def test_a_removed_repository_is_open_to_the_agents_of_others_as_any_folder(
    workshop: Workshop, tmp_path: Path
) -> None:
    other = workshop.repo.rename(tmp_path / "other")
    workshop.ask("repo.add", repo=str(other))
    spawned = workshop.ask(
        "spawn", goal="g", name="fox", driver="standin", isolation="hooks", cwd=str(other)
    )
    fox = workshop.agent(spawned["uid"])
    assert str(other) in decisions.places(workshop.context, fox).closed
    workshop.ask("end", agents=["fox"], cwd=str(other))
    workshop.ask("repo.remove", repo=str(other))
    assert str(other) not in decisions.places(workshop.context, fox).closed
