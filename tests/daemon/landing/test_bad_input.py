"""Odd changes: each lands as it is or comes back with where it conflicts, and main is never odd."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.daemon.landing.landing_ground import LandingGround

FIRST, SECOND = b"\x00\x01first", b"\x00\x02second"


def on(ground: LandingGround, branch: str, *, at: str = "main") -> None:
    """Has a branch of the person's own be checked out, for what only plain git can make."""
    ground.git("checkout", "-q", "-B", branch, at)


def commit(ground: LandingGround, *more: str) -> str:
    """Commits all that lies there, and goes back to main."""
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "odd", *more)
    made = ground.git("rev-parse", "HEAD")
    ground.git("checkout", "-q", "main")
    return made


def land(ground: LandingGround, *branches: str) -> dict[str, str]:
    """Proposes branches and waits until nothing is left to do; what became of each."""
    for branch in branches:
        ground.submit(branch)
    ground.settle()
    return ground.states()


def is_proven(ground: LandingGround) -> bool:
    """Whether main's very tree is known to be green, and its checkout shows it."""
    known = ground.prove(ground.git("rev-parse", "main^{tree}"))
    return bool(known["cached"]) and ground.git("status", "--porcelain") == ""


def names(folder: Path) -> set[str]:
    """What lies in a folder, by the names that the file system has."""
    return {path.name for path in folder.iterdir()}


def test_a_branch_of_merge_commits_lands_with_both_its_sides(ground: LandingGround) -> None:
    ground.commit({"left.py": "left = 1\n"}, branch="left")
    ground.commit({"right.py": "right = 1\n"}, branch="right")
    on(ground, "left", at="left")
    ground.git("merge", "-q", "--no-ff", "-m", "both", "right")
    ground.git("checkout", "-q", "main")
    ground.commit({"later.py": "later = 1\n"})
    assert land(ground, "left") == {"left": "landed"}
    assert {"left.py", "right.py", "later.py"} <= names(ground.root)
    assert is_proven(ground)


def test_a_binary_file_that_two_have_changed_is_a_conflict_with_its_name(
    ground: LandingGround,
) -> None:
    for branch, content in (("one", FIRST), ("two", SECOND)):
        on(ground, branch)
        (ground.root / "logo.bin").write_bytes(content)
        commit(ground)
    assert land(ground, "one", "two") == {"one": "landed", "two": "conflict"}
    (second,) = (change for change in ground.changes() if change.branch == "two")
    assert ground.change(second.id)["ticket"]["paths"] == ["logo.bin"]
    assert (ground.root / "logo.bin").read_bytes() == FIRST
    assert is_proven(ground)


def test_an_edit_of_a_file_that_another_has_renamed_lands_in_the_renamed_one(
    ground: LandingGround,
) -> None:
    text = "".join(f"line {number}\n" for number in range(30))
    ground.commit({"old.txt": text})
    ground.commit({"old.txt": text.replace("line 3\n", "edited\n")}, branch="edits")
    on(ground, "renames")
    ground.git("mv", "old.txt", "new.txt")
    commit(ground)
    assert land(ground, "renames", "edits") == {"renames": "landed", "edits": "landed"}
    assert "edited" in (ground.root / "new.txt").read_text()
    assert not (ground.root / "old.txt").exists()
    assert is_proven(ground)


def test_a_file_that_one_deletes_and_another_edits_is_a_conflict(ground: LandingGround) -> None:
    ground.commit({"old.txt": "text\n"})
    ground.commit({"old.txt": None}, branch="deletes")
    ground.commit({"old.txt": "edited\n"}, branch="edits")
    assert land(ground, "deletes", "edits") == {"deletes": "landed", "edits": "conflict"}
    assert not (ground.root / "old.txt").exists()


def test_a_change_of_a_mode_alone_lands_and_is_in_the_checkout(ground: LandingGround) -> None:
    ground.commit({"run.sh": "true\n"})
    on(ground, "modes")
    (ground.root / "run.sh").chmod(0o755)
    commit(ground)
    assert land(ground, "modes") == {"modes": "landed"}
    assert os.access(ground.root / "run.sh", os.X_OK)
    assert is_proven(ground)


def test_a_change_of_case_alone_lands_under_its_new_name(ground: LandingGround) -> None:
    ground.commit({"Readme.txt": "text\n"})
    on(ground, "case")
    ground.git("mv", "Readme.txt", "README.txt")
    commit(ground)
    assert land(ground, "case") == {"case": "landed"}
    assert "README.txt" in names(ground.root)
    assert "Readme.txt" not in names(ground.root)
    assert is_proven(ground)


@pytest.mark.parametrize("kind", ["an empty commit", "a change and its undoing"])
def test_commits_that_change_nothing_have_nothing_to_land(ground: LandingGround, kind: str) -> None:
    before = ground.git("rev-parse", "main")
    on(ground, "empty")
    if kind == "an empty commit":
        commit(ground, "--allow-empty")
    else:
        (ground.root / "more.py").write_text("more = 1\n")
        commit(ground)
        on(ground, "empty", at="empty")
        ground.git("revert", "--no-edit", "HEAD")
        ground.git("checkout", "-q", "main")
    assert land(ground, "empty") == {"empty": "nothing-to-land"}
    assert ground.git("rev-parse", "main") == before


def test_a_change_of_five_thousand_files_lands(ground: LandingGround) -> None:
    on(ground, "many")
    for number in range(5000):
        file = ground.root / "many" / f"{number // 100}" / f"{number}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{number}\n")
    commit(ground)
    ground.commit({"beside.py": "beside = 1\n"})
    assert land(ground, "many") == {"many": "landed"}
    assert len(list((ground.root / "many").rglob("*.txt"))) == 5000
    assert is_proven(ground)


def test_a_link_in_the_place_of_a_folder_lands_and_nothing_is_written_through_it(
    ground: LandingGround, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "mine.txt").write_text("mine\n")
    ground.commit({"folder/file.txt": "text\n"})
    on(ground, "links")
    (ground.root / "folder" / "file.txt").unlink()
    (ground.root / "folder").rmdir()
    (ground.root / "folder").symlink_to(outside)
    commit(ground)
    ground.commit({"folder/more.txt": "more\n"}, branch="writes")
    states = land(ground, "links", "writes")
    assert states == {"links": "landed", "writes": "conflict"}
    assert (ground.root / "folder").is_symlink()
    assert names(outside) == {"mine.txt"}
    assert (outside / "mine.txt").read_text() == "mine\n"
    assert is_proven(ground)


def test_a_folder_in_the_place_of_a_link_lands_beside_what_that_led_to(
    ground: LandingGround, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    on(ground, "main")
    (ground.root / "folder").symlink_to(outside)
    commit(ground)
    on(ground, "folders")
    (ground.root / "folder").unlink()
    (ground.root / "folder").mkdir()
    (ground.root / "folder" / "file.txt").write_text("text\n")
    commit(ground)
    assert land(ground, "folders") == {"folders": "landed"}
    assert not (ground.root / "folder").is_symlink()
    assert names(outside) == set()
    assert is_proven(ground)


def test_a_change_that_moves_a_submodule_lands_and_leaves_its_checkout_alone(
    ground: LandingGround, tmp_path: Path
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    ground.git("init", "-q", "-b", "main", str(inner))
    for name in ("one", "two"):
        ground.git("-C", str(inner), "commit", "-q", "--allow-empty", "-m", name)
    two = ground.git("-C", str(inner), "rev-parse", "main")
    ground.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    ground.git("-C", "sub", "checkout", "-q", "HEAD~1")
    ground.git("add", "-A")
    ground.git("commit", "-q", "-m", "submodule")
    on(ground, "moves")
    ground.git("-C", "sub", "checkout", "-q", two)
    commit(ground)
    ground.git("submodule", "-q", "update")
    (ground.root / "sub" / "mine.txt").write_text("mine\n")
    assert land(ground, "moves") == {"moves": "landed"}
    assert ground.git("ls-tree", "main", "sub").split()[2] == two
    assert (ground.root / "sub" / "mine.txt").read_text() == "mine\n"
