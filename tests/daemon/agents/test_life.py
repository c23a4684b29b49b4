"""A whole life of an agent: the real services on real git, and a session that the test plays."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec
import pytest
from tests.support.workshop import Workshop, git

from windlass import drivers
from windlass.core.errors import Conflict, GitError, Unavailable
from windlass.core.reasons import COMPLETE_PHRASE, Reason
from windlass.core.states import Observation, Source, State
from windlass.daemon.states import observations


def test_an_agent_is_spawned_paused_resumed_and_ended_and_nothing_of_its_work_is_lost(
    workshop: Workshop,
) -> None:
    made = workshop.ask(
        "spawn", goal="say hello", name="fox", driver="standin", isolation="hooks", mode="live"
    )
    fox = workshop.agent(made["uid"])
    first = workshop.session(fox)
    assert "say hello" in first.launch.argv
    assert workshop.state(fox) is State.CREATING
    first.hook("SessionStart", source="startup", session_id=fox.conversation)
    first.hook("PreToolUse", tool_name="Write")
    assert workshop.state(fox) is State.RUNNING
    workshop.converse(fox, "say hello")

    workshop.ask("pause", agent="fox")
    assert not first.alive
    assert workshop.state(fox) is State.PAUSED

    workshop.ask("resume", agent="fox")
    second = workshop.session(fox)
    assert second is not first
    argv = second.launch.argv
    assert argv[argv.index("--resume") + 1] == fox.conversation
    second.hook("SessionStart", source="resume", session_id=fox.conversation)
    assert workshop.state(fox) is State.CREATING, "it takes up the turn in which it was paused"
    (Path(fox.workspace) / "hello.txt").write_text("hello\n")
    git(Path(fox.workspace), "add", "-A")
    git(Path(fox.workspace), "commit", "-q", "-m", "says hello")
    (Path(fox.workspace) / "draft.txt").write_text("not yet\n")
    second.hook("Stop", last_assistant_message=f"Done.\n{COMPLETE_PHRASE}")
    assert workshop.state(fox) is State.COMPLETE

    workshop.ask("end", agents=["fox"])
    ended = workshop.agent(fox.uid)
    assert not second.alive
    assert ended.ended_at is not None
    assert not Path(fox.workspace).exists()
    (kept,) = workshop.ask("trash")
    assert (kept["agent"], kept["summary"]["commits"], kept["summary"]["untracked"]) == (
        "fox",
        1,
        1,
    )
    assert "says hello" in git(workshop.repo, "log", "--format=%s", kept["ref"])


def test_who_outlives_a_pause_is_not_paused_and_can_be_paused_again_and_resumed(
    workshop: Workshop,
) -> None:
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    fox = workshop.agent(made["uid"])
    session = workshop.session(fox)
    session.hook("PreToolUse", tool_name="Write")
    assert workshop.state(fox) is State.RUNNING
    session.unkillable = ("7 cat (disk-sleep)",)
    for _ in range(2):
        with pytest.raises(Unavailable, match="7 cat"):
            workshop.ask("pause", agent="fox")
        assert workshop.state(fox) is State.UNKNOWN
        with pytest.raises(Conflict, match="not stopped: it is unknown") as refused:
            workshop.ask("resume", agent="fox")
        assert refused.value.hint == "wl pause fox first"
    evidence = workshop.ask("why", agent="fox")["winner"]["evidence"]
    assert evidence.startswith("could not be paused: processes of fox would not end: 7 cat")

    session.unkillable = ()
    assert workshop.ask("pause", agent="fox")["state"] == State.PAUSED
    assert not session.alive
    with pytest.raises(Conflict, match="paused already"):
        workshop.ask("pause", agent="fox")
    assert workshop.ask("resume", agent="fox")["session"] == 2


@pytest.mark.parametrize("again", [True, False])
def test_who_lived_when_it_was_called_paused_can_be_paused_again_and_resumed(
    workshop: Workshop, again: bool
) -> None:
    """It may just be on its way to that: who says so is not told to pause it first."""
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    fox = workshop.agent(made["uid"])
    paused = Observation(
        source=Source.WINDLASS,
        value=State.PAUSED,
        at=workshop.context.clock.now(),
        reason=Reason(kind="paused", text="paused with `wl pause`"),
        session=1,
    )
    workshop.context.store.write(lambda w: observations.observe(w, fox, paused))
    first = workshop.session(fox)
    if again:
        workshop.ask("pause", agent="fox")
    assert workshop.ask("resume", agent="fox")["session"] == 2
    assert not first.alive


@pytest.mark.parametrize(
    ("hook", "goes_on"), [("PreToolUse", True), ("Stop", False)], ids=["in a turn", "after one"]
)
def test_a_session_goes_on_by_itself_only_with_a_turn_that_was_not_over(
    workshop: Workshop, hook: str, goes_on: bool
) -> None:
    made = workshop.ask("spawn", goal="say hello", name="fox", driver="standin", isolation="hooks")
    fox = workshop.agent(made["uid"])
    first = workshop.session(fox)
    first.hook("SessionStart", source="startup", session_id=fox.conversation)
    first.hook("UserPromptSubmit", prompt="say hello")
    first.hook(hook, tool_name="Write", last_assistant_message="What now?")
    workshop.state(fox)
    workshop.converse(fox, "say hello")
    first.end(0)
    assert workshop.state(fox) is State.STOPPED
    workshop.ask("resume", agent="fox")
    second = workshop.session(fox)
    assert second is not first
    assert ("CLAUDE_CODE_RESUME_INTERRUPTED_TURN" in second.launch.env) is goes_on


def test_a_merge_whose_agent_cannot_be_ended_says_that_it_is_merged(workshop: Workshop) -> None:
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    folder = Path(workshop.agent(made["uid"]).workspace)
    (folder / "hello.txt").write_text("hello\n")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "says hello")
    git(workshop.repo, "update-ref", "refs/windlass/trash/fox", "HEAD")  # no place for its work
    with pytest.raises(GitError, match=r"is merged into main, but fox could not be ended") as told:
        workshop.ask("merge", agent="fox")
    assert "wl kill fox" in told.value.hint
    assert (workshop.repo / "hello.txt").exists()
    assert folder.exists(), "what cannot be kept is not removed"

    git(workshop.repo, "update-ref", "-d", "refs/windlass/trash/fox")
    workshop.ask("end", agents=["fox"])
    assert not folder.exists()


@pytest.mark.parametrize(("level", "said"), [("hooks", "fox"), ("box", "")])
def test_who_takes_a_conversation_out_of_a_box_is_told_so(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, level: str, said: str
) -> None:
    """The stand-in does not fork, so it is said to; nothing is started with that here."""
    driver = drivers.get("standin")
    able = msgspec.structs.replace(driver.abilities, fork=True)
    monkeypatch.setattr(type(driver), "abilities", able)
    kind = {"goal": "g", "driver": "standin", "mode": "live"}
    fox = workshop.ask("spawn", name="fox", isolation="box", **kind)
    workshop.converse(workshop.agent(fox["uid"]), "g")
    made = workshop.ask("spawn", name="owl", isolation=level, fork="fox", **kind)
    assert made["out_of_box"] == said


def test_an_ending_starts_git_only_so_often(
    workshop: Workshop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each start takes some milliseconds, for which whoever types `wl kill` waits."""
    made = workshop.ask("spawn", goal="g", name="fox", driver="standin", isolation="hooks")
    workspace = Path(workshop.agent(made["uid"]).workspace)
    git(workspace, "commit", "-q", "--allow-empty", "-m", "work")
    (workspace / "draft.txt").write_text("not yet\n")
    calls = tmp_path / "calls"
    (tmp_path / "git").write_text(
        f'#!/bin/sh\necho "$*" >> {calls}\nexec {shutil.which("git")} "$@"\n'
    )
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    workshop.ask("end", agents=["fox"])
    started = calls.read_text().splitlines()
    assert len(started) <= 15, started
