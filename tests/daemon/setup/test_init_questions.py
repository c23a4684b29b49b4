"""What `wl init` asks about landing: who looks before, and whether a remote gets it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from tests.daemon.setup.init_ground import CODE, CONFIG, InitGround
from tests.support.workshop import git

from windlass.daemon.kernel import settings


@pytest.fixture
def ground(context: object) -> InitGround:
    """A project with a test, and no gate yet."""
    made = InitGround(context)  # type: ignore[arg-type]
    made.commit(CODE)
    return made


def with_remote(ground: InitGround) -> None:
    """Somebody has the project elsewhere as well."""
    bare = ground.repo.parent / "origin.git"
    git(ground.repo, "init", "-q", "--bare", str(bare))
    git(ground.repo, "remote", "add", "origin", str(bare))


def written(ground: InitGround) -> dict[str, object]:
    """What the committed configuration says of landing."""
    held = tomllib.loads(git(ground.repo, "show", f"HEAD:{CONFIG}"))
    return dict(held.get("landing", {}))


def test_answers_are_written_with_the_gate_committed_and_in_force(ground: InitGround) -> None:
    """What was shown is what is committed; nobody is asked again, and nothing waits."""
    with_remote(ground)
    look = ground.look()
    assert (look["asks_review"], look["asks_remote"]) == (True, "origin")
    answers = {"review": "none", "mode": "pr"}
    look = ground.look(**answers)
    (shown,) = look["proposals"]["files"]
    done = ground.accepted(digest=look["digest"], **answers)
    assert git(ground.repo, "show", f"HEAD:{CONFIG}") == shown["text"]
    assert written(ground) == {"review": "none", "mode": "pr"}
    assert done["waiting"] == []
    now = settings.load(ground.context.folders.home, str(ground.repo)).landing
    assert (now.review, now.mode) == ("none", "pr")
    again = ground.look()
    assert (again["asks_review"], again["asks_remote"]) == (False, None)


def test_where_landings_go_to_a_remote_the_line_that_brings_the_gate_there_is_said(
    ground: InitGround,
) -> None:
    """Until then that branch has no gate; where they stay here there is nothing to push."""
    with_remote(ground)
    answers = {"mode": "push"}
    done = ground.accepted(digest=ground.look(**answers)["digest"], **answers)
    assert done["push"] == "git push origin main"


def test_unanswered_nothing_of_it_is_written(ground: InitGround) -> None:
    """Without a remote nobody is asked where landings go."""
    look = ground.look()
    assert (look["asks_review"], look["asks_remote"]) == (True, None)
    assert ground.accepted(digest=look["digest"])["push"] == ""
    assert written(ground) == {}
    now = settings.load(ground.context.folders.home, str(ground.repo)).landing
    assert (now.review, now.mode) == ("", "local")


def test_private_answers_count_for_the_person_alone(ground: InitGround) -> None:
    """The repository has nothing of them."""
    before = ground.head()
    answers = {"review": "person", "private": True}
    ground.accepted(digest=ground.look(**answers)["digest"], **answers)
    assert ground.head() == before
    assert not Path(ground.repo / CONFIG).exists()
    assert settings.load(ground.context.folders.home, str(ground.repo)).landing.review == "person"


def test_what_a_person_has_said_already_is_neither_asked_nor_changed(ground: InitGround) -> None:
    """Whichever of their files says it."""
    with_remote(ground)
    file = ground.context.folders.home / settings.USER_FILE
    settings.put(file, "landing.review", "none")
    settings.put(file, "landing.mode", "push")
    look = ground.look()
    assert (look["asks_review"], look["asks_remote"]) == (False, None)
    ground.accepted(digest=ground.look(review="person")["digest"], review="person")
    assert written(ground) == {}
