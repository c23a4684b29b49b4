"""Changes land on a remote's branch by a push that expects where it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GATE, PERSON
from tests.daemon.landing.upstream_ground import UpstreamGround

from windlass.daemon.kernel import repos
from windlass.daemon.kernel.context import Context
from windlass.daemon.landing.views import ChangeViews
from windlass.git import remotes, repository


@pytest.fixture
def ground(context: Context, tmp_path: Path) -> UpstreamGround:
    """Its tests are green on main, here and on the remote."""
    (tmp_path / "home").mkdir()
    files = {**CODE, ".windlass/config.toml": GATE}
    made = gate_ground.make_as(UpstreamGround, context, tmp_path / "shop", files)
    made.begin_remote()
    return made


def test_a_change_lands_by_a_push_and_the_checkout_goes_along(ground: UpstreamGround) -> None:
    """On the remote's tip as it is then, whoever pushed meanwhile."""
    head = ground.commit({"more.py": "more = 1\n"}, branch="mine")
    theirs = ground.commit_upstream("theirs.txt")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.remote("rev-parse", "main") == shown["commit"]
    assert ground.remote("log", "-1", "--format=%P", "main").split() == [theirs, head]
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert (ground.root / "theirs.txt").read_text() == "theirs\n"
    assert ground.git("status", "--porcelain") == ""
    assert shown["why"] == ""


def test_a_branch_with_commits_of_its_own_is_never_moved_and_that_is_said(
    ground: UpstreamGround,
) -> None:
    """The change lands on the remote; the next one is held until the two are one again."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit({"next.py": "next = 1\n"}, branch="next")
    own = ground.commit({"own.txt": "mine\n"})
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], ground.remote("rev-parse", "main")) == ("landed", shown["commit"])
    assert ground.git("rev-parse", "main") == own
    assert "git pull --rebase origin main" in shown["why"]
    assert any("stays as it is" in text for text in ground.notices())
    later = ground.submit("next")
    ground.settle()
    held = ground.change(later)
    assert held["state"] == "held"
    assert "diverged" in held["why"]
    line = held["why"].rpartition(": ")[2]
    assert line == "git pull --rebase origin main"
    ground.git(*line.split()[1:])
    ground.submit("next")
    ground.settle()
    assert ground.change(later)["state"] == "landed"
    assert ground.remote("rev-parse", "main") == ground.change(later)["commit"]
    assert "own.txt" not in ground.remote("ls-tree", "--name-only", "main")


def test_what_a_protected_branch_refuses_is_held_and_pull_requests_are_offered(
    ground: UpstreamGround,
) -> None:
    """Nothing moved, here or there."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    before = ground.remote("rev-parse", "main")
    ground.refuse()
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert "Protected branch update failed" in shown["why"]
    assert "wl config set landing.mode pr" in shown["why"]
    assert ground.remote("rev-parse", "main") == before == ground.git("rev-parse", "main")


def test_a_push_that_comes_too_late_is_tried_anew_on_the_present_tip(
    ground: UpstreamGround,
) -> None:
    """Somebody else pushes between the fetch and the landing."""
    head = ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    theirs = ground.before("landing.land.plan", lambda: ground.commit_upstream("theirs.txt"))
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.remote("log", "-1", "--format=%P", "main").split() == [theirs[0], head]
    assert ground.prove(ground.remote("rev-parse", "main^{tree}"))["cached"] is True


def test_a_target_that_was_rewritten_while_gating_is_never_overwritten(
    ground: UpstreamGround,
) -> None:
    """What was proven was proven on what is no more; the person brings the two together."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    ground.commit_upstream("old.txt")
    ground.git("pull", "-q", "--ff-only", "origin", "main")
    name = ground.submit("mine")
    rewritten = ground.before("landing.land.plan", ground.rewrite_upstream)
    ground.settle()
    assert ground.change(name)["state"] == "held"
    assert "diverged" in ground.change(name)["why"]
    assert [ground.remote("rev-parse", "main")] == rewritten


def test_a_target_that_was_deleted_is_not_made_again(ground: UpstreamGround) -> None:
    """The line to type is with the change."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.before("landing.land.plan", lambda: ground.remote("update-ref", "-d", "refs/heads/main"))
    ground.settle()
    shown = ground.change(name)
    assert (shown["state"], ground.remote("for-each-ref")) == ("held", "")
    assert shown["why"].endswith("git push origin main")


def test_without_network_it_waits_and_lands_once_there_is_one(ground: UpstreamGround) -> None:
    """It asks again by itself; the person is told once."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    away = ground.bare.rename(ground.bare.with_name("away.git"))
    name = ground.submit("mine")
    ground.settle()
    assert ground.wake_landing()
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "queued"
    assert "origin cannot be read" in shown["why"]
    assert len(ground.notices()) == 1
    away.rename(ground.bare)
    assert ground.wake_landing()
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.change(name)["why"] == ""


def test_a_push_without_an_answer_is_settled_before_anything_else_lands(
    ground: UpstreamGround,
) -> None:
    """The remote took it and went away: nobody pushes once more, and nothing lands meanwhile."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    away = ground.bare.with_name("away.git")
    ground.vanish_after_update(away)
    ground.settle()
    assert "nobody knows yet" in ground.change(name)["why"]
    ground.commit({"next.py": "next = 1\n"}, branch="next")
    second = ground.submit("next")
    ground.settle()
    assert ground.states() == {"mine": "gating", "next": "queued"}
    away.rename(ground.bare)
    (ground.bare / "hooks" / "reference-transaction").unlink()
    pushed = ground.remote("rev-parse", "main")
    assert ground.wake_landing()
    ground.settle()
    assert ground.states() == {"mine": "landed", "next": "landed"}
    assert ground.change(name)["commit"] == pushed == ground.remote("rev-parse", "main^1")
    assert ground.remote("rev-parse", "main") == ground.change(second)["commit"]


def test_a_push_that_the_remote_never_answers_is_given_up_and_held(
    ground: UpstreamGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By then it is known that the remote has nothing of it, so it may be proposed once more."""
    monkeypatch.setitem(remotes.push.__kwdefaults__ or {}, "timeout", 2.0)
    hook = ground.bare / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    hook.chmod(0o755)
    before = ground.remote("rev-parse", "main")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert "did not finish within 2 s" in shown["why"]
    assert ground.remote("rev-parse", "main") == before
    hook.unlink()
    ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.remote("rev-parse", "main") == ground.change(name)["commit"]


def test_hooks_of_the_repository_are_not_run_by_a_push(ground: UpstreamGround) -> None:
    """What decides is the gate; a hook may come from the tree that is to land."""
    hook = ground.root / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_what_is_pushed_to_another_place_than_is_read_has_not_landed(
    ground: UpstreamGround, tmp_path: Path
) -> None:
    """Nobody who fetches from the remote has it; once it is pushed where it is read, it lands."""
    fork = tmp_path / "fork.git"
    ground.git("clone", "-q", "--bare", str(ground.bare), str(fork))
    ground.git("remote", "set-url", "--push", "origin", str(fork))
    before = ground.remote("rev-parse", "main")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert f"pushed to at {fork}, and main where it is read did not get it" in shown["why"]
    assert "git config --unset-all remote.origin.pushurl" in shown["why"]
    assert ground.remote("rev-parse", "main") == ground.git("rev-parse", "main") == before
    ground.commit({"next.py": "next = 1\n"}, branch="next")
    later = ground.submit("next")
    ground.settle()
    assert "where it is read did not get it" in ground.change(later)["why"]
    ground.git("config", "--unset-all", "remote.origin.pushurl")
    ground.judge("change.retry", name)
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.remote("rev-parse", "main") == ground.change(name)["commit"]


def test_what_is_pushed_at_another_address_of_the_same_place_lands(ground: UpstreamGround) -> None:
    """As with one address to read without a password, and one to write."""
    ground.git("remote", "set-url", "--push", "origin", f"file://{ground.bare}")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    assert ground.change(name)["state"] == "landed"
    assert ground.remote("rev-parse", "main") == ground.change(name)["commit"]


def test_without_such_a_remote_it_is_held(ground: UpstreamGround) -> None:
    """The person named one that there is not."""
    ground.configure("landing.remote", "upstream")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert "there is no remote upstream" in shown["why"]


def test_what_was_pushed_is_taken_back_by_a_revert_alone(ground: UpstreamGround) -> None:
    """Others have it: the branch here is not moved back."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    landed = ground.change(name)["commit"]
    git = repos.git(repos.by_id(ground.context, ground.proofs_repo))
    assert repository.is_elsewhere(git, landed, branch="main")


@pytest.mark.parametrize("method", ["merge", "squash"])
def test_what_the_server_makes_of_a_push_is_what_has_landed(
    ground: UpstreamGround, method: str
) -> None:
    """It has the proven tree; the branch here follows it, and it is known to hold the branch."""
    ground.configure("landing.method", method)
    hook = ground.bare / "hooks" / "post-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        "#!/bin/sh\nwhile read old new ref; do\n"
        "made=$(git -c user.name=Forge -c user.email=f@example.org"
        ' commit-tree -p "$old" -m squashed "$new^{tree}")\n'
        'git update-ref "$ref" "$made"\ndone\n'
    )
    hook.chmod(0o755)
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.remote("log", "-1", "--format=%H %s", "main") == f"{shown['commit']} squashed"
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert (ground.root / "more.py").exists()
    assert shown["why"] == ""
    ground.git("branch", "once-more", "mine")
    again = ground.submit("once-more")
    ground.settle()
    assert ground.change(again)["state"] == "nothing-to-land"


def test_squashed_a_remote_has_one_commit_as_well(ground: UpstreamGround) -> None:
    """And the branch here follows it."""
    ground.configure("landing.method", "squash")
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    theirs = ground.commit_upstream("theirs.txt")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "landed", shown
    assert ground.remote("rev-parse", "main") == shown["commit"]
    assert ground.git("rev-parse", "main") == shown["commit"]
    assert ground.git("log", "-1", "--format=%P", "main") == theirs
    ground.git("branch", "once-more", "mine")
    again = ground.submit("once-more")
    ground.settle()
    assert ground.change(again)["state"] == "nothing-to-land"


def test_what_the_remote_has_got_meanwhile_is_no_edit_of_the_branch_upon_it(
    ground: UpstreamGround,
) -> None:
    """Also where nobody has asked the remote since: a protected path of theirs holds nobody."""
    ground.commit_upstream(".envrc")
    ground.git("fetch", "-q", "origin")
    ground.git("checkout", "-q", "-b", "mine", "origin/main")
    (ground.root / "more.py").write_text("more = 1\n")
    ground.git("add", "more.py")
    ground.git("commit", "-qm", "mine")
    ground.git("checkout", "-q", "main")
    name = ground.submit("mine")
    assert ground.change(name)["guards"] == []
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_a_gate_that_is_here_and_not_on_the_remote_is_said_with_the_line_to_type(
    ground: UpstreamGround,
) -> None:
    """Changes land there, by the gate that is there."""
    held = (ground.root / ".windlass/config.toml").read_text()
    ground.git("rm", "-q", ".windlass/config.toml")
    ground.git("commit", "-qm", "no gate")
    ground.git("push", "-q", "origin", "main")
    ground.commit({".windlass/config.toml": held})
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    ground.settle()
    shown = ground.change(name)
    assert shown["state"] == "held"
    assert "is not pushed; type: git push origin main" in shown["why"]
    ground.git("push", "-q", "origin", "main")
    assert ground.submit("mine") == name, "the remote is asked again, and has it"
    ground.settle()
    assert ground.change(name)["state"] == "landed"


def test_who_waits_for_a_landing_on_the_remote_waits_for_the_branch_here_as_well(
    ground: UpstreamGround,
) -> None:
    """Between the two it has landed, and is not over."""
    ground.commit({"more.py": "more = 1\n"}, branch="mine")
    name = ground.submit("mine")
    asked: Any = {"cwd": str(ground.root), "change": name}
    views = ChangeViews(ground.context)

    def is_under_way() -> bool:
        return views._is_under_way(PERSON, asked, views.show(PERSON, asked))  # noqa: SLF001

    came = ground.before("landing.land.follow", lambda: f"{is_under_way()}")
    ground.settle()
    assert came == ["True"]
    assert ground.git("rev-parse", "main") == ground.remote("rev-parse", "main")
    assert not is_under_way()
