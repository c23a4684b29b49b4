"""What the person has not committed is named to who starts an agent, and taken along if wanted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.support.replies import as_declared
from tests.support.workshop import Workshop, git

from windlass.core.errors import Conflict, UserError
from windlass.core.gate.verdicts import Verdict
from windlass.daemon.kernel import repos
from windlass.daemon.states import reports
from windlass.store import verdicts

CHANGED = ["gone.txt", "kept.txt", "new/own.txt", "staged.txt"]


@pytest.fixture
def at_work(workshop: Workshop) -> Workshop:
    """A person in the middle of something: edited, deleted, staged and new files."""
    for name in ("gone.txt", "kept.txt", "same.txt"):
        (workshop.repo / name).write_text("old\n")
    git(workshop.repo, "add", "-A")
    git(workshop.repo, "commit", "-q", "-m", "begins")
    (workshop.repo / "gone.txt").unlink()
    (workshop.repo / "kept.txt").write_text("edited\n")
    (workshop.repo / "kept.txt").chmod(0o755)
    (workshop.repo / "staged.txt").write_text("staged\n")
    git(workshop.repo, "add", "staged.txt")
    (workshop.repo / "new").mkdir()
    (workshop.repo / "new" / "own.txt").write_text("mine\n")
    return workshop


def spawn(workshop: Workshop, **more: Any) -> dict[str, Any]:
    asked = {"goal": "g", "name": "fox", "driver": "standin", "isolation": "hooks", **more}
    made: dict[str, Any] = workshop.ask("spawn", **asked)
    as_declared("spawn", made)
    return made


def contents(folder: Path) -> dict[str, tuple[str, bool]]:
    """Every file of a checkout, and whether it is a program."""
    files = [path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts]
    return {
        str(path.relative_to(folder)): (path.read_text(), os.access(path, os.X_OK))
        for path in files
    }


def test_what_a_filter_of_theirs_writes_is_no_change(at_work: Workshop) -> None:
    """Git without the filter sees another content once the file has been touched."""
    for key, value in {"clean": "tr a-z n-za-m", "smudge": "tr n-za-m a-z"}.items():
        git(at_work.repo, "config", f"filter.rot.{key}", value)
    (at_work.repo / ".gitattributes").write_text("*.sec filter=rot\n")
    (at_work.repo / "key.sec").write_text("secret\n")
    git(at_work.repo, "add", ".gitattributes", "key.sec")
    git(at_work.repo, "commit", "-q", "-m", "key", "--", ".gitattributes", "key.sec")
    (at_work.repo / "key.sec").write_text("secret\n")
    assert spawn(at_work)["changes"]["names"] == CHANGED


def test_they_are_named_and_the_agent_has_none_of_them(at_work: Workshop) -> None:
    made = spawn(at_work)
    assert made["changes"] == {"files": 4, "names": CHANGED, "carried": False, "problem": ""}
    assert git(Path(made["workspace"]), "status", "--porcelain") == ""


@pytest.mark.parametrize("isolation", ["hooks", "box"])
def test_they_are_taken_along_and_both_sides_have_all_of_it(
    at_work: Workshop, isolation: str
) -> None:
    before = contents(at_work.repo), git(at_work.repo, "status", "--porcelain")
    made = spawn(at_work, with_changes=True, isolation=isolation)
    assert made["changes"]["carried"]
    assert made["left_out"] == []
    assert contents(Path(made["workspace"])) == before[0]
    assert (contents(at_work.repo), git(at_work.repo, "status", "--porcelain")) == before
    assert git(Path(made["workspace"]), "rev-parse", "HEAD").strip() == made["base"]


def test_what_was_taken_along_is_not_the_agent_s_work_until_it_changes_it(
    at_work: Workshop,
) -> None:
    made = spawn(at_work, with_changes=True)
    fox = at_work.agent(made["uid"])
    assert reports.uncommitted(at_work.context, fox).files == 0
    (Path(fox.workspace) / "kept.txt").write_text("more\n")
    assert reports.uncommitted(at_work.context, fox).names == ("kept.txt",)


def test_those_of_the_checkout_that_the_person_is_in_are_meant(at_work: Workshop) -> None:
    other = at_work.repo.parent / "other"
    git(at_work.repo, "worktree", "add", "-q", "-b", "side", str(other))
    (other / "here.txt").write_text("x\n")
    made = spawn(at_work, cwd=str(other), with_changes=True)
    assert made["changes"]["names"] == ["here.txt"]
    assert (Path(made["workspace"]) / "here.txt").exists()


def make_red(workshop: Workshop) -> None:
    """What is checked out is known to fail, so agents begin at what was proven before."""
    repo = repos.require(workshop.context, str(workshop.repo))
    failed = Verdict(
        repo=repo.id,
        tree=git(workshop.repo, "rev-parse", "HEAD^{tree}").strip(),
        check="tests",
        check_key="k",
        layer="",
        box="hooks",
        versions="",
        outcome="failed",
        code=1,
        seconds=1.0,
    )
    workshop.context.store.write(lambda writing: verdicts.add(writing, failed))


def test_they_are_not_put_on_another_commit_than_they_were_made_to(at_work: Workshop) -> None:
    git(at_work.repo, "update-ref", "refs/windlass/green", "HEAD~1")
    make_red(at_work)
    with pytest.raises(Conflict, match="and the agent begins at"):
        spawn(at_work, with_changes=True)
    assert at_work.ask("agents") == []


def test_a_link_that_leads_elsewhere_is_left_out_and_named(at_work: Workshop) -> None:
    (at_work.repo / "out").symlink_to("/etc/passwd")
    made = spawn(at_work, with_changes=True)
    assert made["left_out"] == ["out"]


def test_an_agent_does_not_take_along_what_it_has_not_committed(at_work: Workshop) -> None:
    lead = at_work.agent(spawn(at_work, role="manager")["uid"])
    with pytest.raises(UserError, match="a person's own checkout"):
        at_work.ask_as(lead, "spawn", goal="g", driver="standin", with_changes=True)
