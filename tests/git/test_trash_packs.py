"""The packs of many salvages become one, and everything stays readable."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.git.conftest import git

from windlass.git import trash, trash_packs
from windlass.git.repository import Repository
from windlass.git.salvage import salvage


def packs(repo: Repository) -> set[str]:
    """What packs there are."""
    return {path.name for path in (Path(repo.git_dir) / "objects/pack").glob("*.pack")}


def salvages(repo: Repository, ws: Path, number: int) -> None:
    """Keeps a workspace so many times, each time with another file."""
    for count in range(number):
        (ws / "draft.txt").write_text(f"draft {count}\n" * 50)
        salvage(repo, path=str(ws), agent="fox", stamp=f"20260101T0000{count:02d}", meta={})


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three packs are many."""
    monkeypatch.setattr(trash_packs, "MANY", 2)


@pytest.mark.usefixtures("few")
def test_packs_of_salvages_become_one_and_those_of_the_person_stay(
    repo: Repository, ws: Path
) -> None:
    git(repo.root, "gc", "-q")
    own = packs(repo)
    assert own
    salvages(repo, ws, 4)
    first, *_ = trash.entries(repo)
    trash.empty(repo, {first.ref: first.commit})
    assert len(packs(repo)) == len(own) + 4
    assert trash_packs.consolidate(repo, removes=False).packs == 3
    assert len(packs(repo)) == len(own) + 4, "it was only asked"
    done = trash_packs.consolidate(repo)
    assert done.packs == 3
    assert done.size > 0
    assert len(packs(repo)) == len(own) + 2, "one of them, and that of which nobody knows"
    assert own < packs(repo)
    assert "missing" not in git(repo.root, "fsck", "--full", "--strict")
    for entry in trash.entries(repo):
        assert [change.path for change in trash.show(repo, entry).changes] == ["draft.txt"]
    assert git(repo.root, "cat-file", "-t", first.commit) == "commit", "git decides about that one"
    assert trash_packs.consolidate(repo).packs == 0


@pytest.mark.usefixtures("few")
def test_what_somebody_has_plans_with_stays(repo: Repository, ws: Path) -> None:
    salvages(repo, ws, 3)
    before = packs(repo)
    (Path(repo.git_dir) / "objects/pack" / min(before)).with_suffix(".keep").touch()
    assert trash_packs.consolidate(repo).packs == 0
    git(repo.root, "multi-pack-index", "write")
    salvages(repo, ws, 9)
    assert trash_packs.consolidate(repo).packs == 0
    assert before < packs(repo)


@pytest.mark.usefixtures("few")
def test_where_git_fails_every_pack_stays(repo: Repository, ws: Path) -> None:
    """An object of one of them cannot be read."""
    salvages(repo, ws, 3)
    before = packs(repo)
    broken = Path(repo.git_dir) / "objects/pack" / min(before)
    broken.chmod(0o600)
    with broken.open("r+b") as file:
        file.seek(12)
        file.write(bytes(64))
    assert trash_packs.consolidate(repo).packs == 0
    assert packs(repo) == before
