"""A boxed agent that wants out through us: nothing outside its clone changes, and nothing is read.

And its work is kept all the same: what git cannot read is kept as raw bytes, and an ending never
fails for it.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.git.come_home import fetch
from tests.git.conftest import git
from tests.git.differences import shown
from tests.git.hostile_clones import (
    ATTACKS,
    SECRET,
    Attack,
    Scene,
    object_that_lies,
    pack_that_lies,
)

from windlass.core.errors import WindlassError
from windlass.git import trash
from windlass.git.repository import Repository


@pytest.fixture
def scene(repo: Repository, tmp_path: Path) -> Scene:
    """A clone with some work in it."""
    made = Scene(repo, tmp_path)
    (made.clone / "work.txt").write_text("work\n")
    return made


@pytest.mark.parametrize("prepare", ATTACKS, ids=lambda attack: attack.__name__)
def test_nothing_outside_a_clone_changes_or_is_told_when_it_is_looked_at(
    scene: Scene, prepare: Attack
) -> None:
    prepare(scene)
    before = scene.untouched()
    said = scene.look()
    assert scene.untouched() == before
    assert SECRET.encode() not in said


@pytest.mark.parametrize("prepare", ATTACKS, ids=lambda attack: attack.__name__)
def test_a_hostile_clone_is_ended_and_brought_back_and_its_files_with_it(
    scene: Scene, prepare: Attack
) -> None:
    prepare(scene)
    before = scene.untouched()
    kept = scene.keep()
    assert git(scene.repo.root, "show", f"{kept.commit}:files/work.txt") == "work"
    assert SECRET not in _everything(scene, kept.commit)
    scene.end()
    back = scene.restore()
    assert (back / "work.txt").read_text() == "work\n"
    assert scene.untouched() == before
    git(scene.repo.root, "fsck", "--strict")


def _everything(scene: Scene, commit: str) -> str:
    listed = git(scene.repo.root, "rev-list", "--objects", commit, "--not", "main").split("\n")
    oids = [line.split(" ")[0] for line in listed if line]
    return git(scene.repo.root, "cat-file", "--batch", stdin="\n".join(oids).encode() + b"\n")


@pytest.mark.parametrize("lie", [object_that_lies, pack_that_lies])
def test_a_diff_shows_what_would_be_merged_whatever_object_files_say(
    scene: Scene, lie: Attack
) -> None:
    lie(scene)
    said = scene.look()
    assert b"+harmless" in said
    assert b"evil" not in said
    with pytest.raises(WindlassError):
        fetch(scene.repo, scene.clone)
    assert "code" not in git(scene.repo.root, "ls-tree", "-r", "--name-only", "agent/c1")


def test_no_attribute_in_a_clone_hides_what_its_files_say(scene: Scene) -> None:
    (scene.clone / ".gitattributes").write_text("* -diff\n")
    (scene.clone / "evil.py").write_text("evil\n")
    patch = shown(scene.repo, scene.clone, box=scene.reads)
    assert b"+evil\n" in patch
    assert b"+work\n" in patch


def test_what_cannot_be_read_is_kept_as_raw_bytes_and_listed(scene: Scene) -> None:
    (scene.clone / ".git/index").write_bytes(bytes(4096))
    scene.keep()
    (entry,) = trash.entries(scene.repo)
    dropped = trash.show(scene.repo, entry).dropped
    assert [(drop.path, "raw bytes" in drop.reason) for drop in dropped] == [
        (".git/index", True),
        (".git/objects", True),
    ]


def test_a_folder_that_is_exchanged_for_a_link_leads_nowhere(scene: Scene) -> None:
    """As often as possible, while git reads the files."""
    folder, hidden = scene.clone / "folder", scene.clone / "hidden"
    folder.mkdir()
    for number in range(50):
        (folder / f"secret{number or ''}").write_text("mine\n")
        (scene.outside / f"secret{number or ''}").write_text(f"{SECRET}\n")
    stop = threading.Event()

    def exchange() -> None:
        while not stop.is_set():
            folder.rename(hidden)
            folder.symlink_to(scene.outside)
            folder.unlink()
            hidden.rename(folder)

    agent = threading.Thread(target=exchange)
    agent.start()
    try:
        said = b"".join(scene.look() for _ in range(3))
    finally:
        stop.set()
        agent.join()
    assert SECRET.encode() not in said
