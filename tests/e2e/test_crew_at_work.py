"""Agents among agents: managers, identity by socket, trees, steering, endings by agents."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.ground import Ground, until

pytestmark = pytest.mark.slow

NEW = ("new", "--driver", "standin")
STAY = {"text": "WAITING"}
DONE = {"text": "I HAVE COMPLETED THE GOAL"}


def bash(command: str, **more: object) -> dict[str, object]:
    return {"tool": "Bash", "input": {"command": command, **more}}


def test_an_agent_that_spawns_becomes_the_parent_and_its_branch_the_base(ground: Ground) -> None:
    child = ground.script("child", STAY)
    ground.new(
        "lead",
        bash("echo plan > plan.md && git add . && git commit -qm plan"),
        bash(f"wl new --driver standin --name hand --script {child} 'work' > out.txt 2>&1"),
        DONE,
        flags=["--manager"],
    )
    ground.wait("lead", states="complete")
    agents = {one["id"]: one for one in ground.agents()}
    assert agents["hand"]["parent"] == "lead"
    assert agents["hand"]["role"] == "worker"
    assert (Path(agents["hand"]["workspace"]) / "plan.md").exists()
    assert "hand" in ground.wl("tree", "lead").ok().out


def test_a_worker_cannot_spawn_and_is_told_why(ground: Ground) -> None:
    workspace = ground.new(
        "hand", bash("wl new --driver standin x > out.txt 2>&1; echo $? >> out.txt"), DONE
    )
    ground.wait("hand")
    told = (workspace / "out.txt").read_text()
    assert "workers do not start agents" in told
    assert told.endswith("7\n")


def test_who_calls_is_decided_by_the_socket_and_not_by_a_variable(ground: Ground) -> None:
    """An agent that claims to be another in its environment is still itself."""
    ground.new("victim", STAY)
    workspace = ground.new(
        "thief", bash("WINDLASS_AGENT=victim wl note 'who am I' > out.txt 2>&1"), DONE
    )
    ground.wait("thief")
    assert "who am I" in (workspace / "out.txt").read_text()
    noted = [e["agent"] for e in ground.events() if e["kind"] == "note"]
    assert noted == ["thief"]


def test_an_agent_ends_only_what_is_below_it_and_only_with_force(ground: Ground) -> None:
    ground.new("other", STAY)
    child = ground.script("child", STAY)
    workspace = ground.new(
        "lead",
        bash(f"wl new -q --driver standin --name hand --script {child} x"),
        bash("wl kill other --force > out1.txt 2>&1; echo $? >> out1.txt"),
        bash("wl kill hand > out2.txt 2>&1; echo $? >> out2.txt"),
        bash("wl kill hand --force > out3.txt 2>&1; echo $? >> out3.txt"),
        DONE,
        flags=["--manager"],
    )
    ground.wait("lead", states="complete")
    assert "not below it" in (workspace / "out1.txt").read_text()
    assert (workspace / "out1.txt").read_text().endswith("7\n")
    assert "--force" in (workspace / "out2.txt").read_text()
    assert (workspace / "out3.txt").read_text().endswith("0\n")
    assert {one["id"] for one in ground.agents()} == {"lead", "other"}


def test_nuke_takes_a_tree_three_levels_deep_and_undo_brings_it_back_as_it_was(
    ground: Ground,
) -> None:
    ground.new("top", STAY, flags=["--manager"])
    ground.wl(
        *NEW, "--name", "mid", "--manager", "top", "--script", ground.script("s", STAY), "x"
    ).ok()
    assert ground.wl("info", "mid", "--json").ok().json()["role"] == "worker"
    ground.wl("kill", "mid", "--force").ok()
    manager = ground.script(
        "mid",
        bash(f"wl new -q --driver standin --name low --script {ground.script('low', STAY)} x"),
        STAY,
    )
    top = ground.script(
        "top2",
        bash(f"wl new -q --manager --driver standin --name mid --script {manager} deeper"),
        STAY,
    )
    ground.wl("kill", "top", "--force").ok()
    ground.wl(*NEW, "--name", "top", "--manager", "--script", top, "go").ok()
    ground.wl("wait", "top", "--for", "waiting", "--timeout", "60").ok()
    ground.wl("wait", "mid", "--for", "waiting", "--timeout", "60").ok()
    ground.wl("wait", "low", "--for", "waiting", "--timeout", "60").ok()
    ground.new("bystander", STAY)
    before = {one["id"]: one["parent"] for one in ground.agents()}
    done = ground.wl("nuke", "top", "--force", "--json").ok().json()
    assert {one["id"] for one in done["ended"]} == {"top", "mid", "low"}
    assert [one["id"] for one in ground.agents()] == ["bystander"]
    ground.wl("undo").ok()
    after = {one["id"]: one["parent"] for one in ground.agents()}
    assert after == before


def test_killing_a_manager_hands_its_children_up_and_undo_hands_them_back(ground: Ground) -> None:
    child = ground.script("child", STAY)
    ground.new(
        "lead", bash(f"wl new -q --driver standin --name hand --script {child} x"), STAY,
        flags=["--manager"],
    )  # fmt: skip
    ground.wait("lead", states="waiting")
    ground.wl("kill", "lead", "--force").ok()
    assert ground.wl("info", "hand", "--json").ok().json()["parent"] is None
    ground.wl("undo").ok()
    assert ground.wl("info", "hand", "--json").ok().json()["parent"] == "lead"


def test_reassigning_is_undone_and_cycles_are_refused(ground: Ground) -> None:
    ground.new("m1", STAY, flags=["--manager"])
    ground.new("m2", STAY, flags=["--manager"])
    ground.new("w", STAY)
    ground.wl("reassign", "m2", "m1").ok()
    assert "cycle" in ground.wl("reassign", "m1", "m2").failed(1).err
    assert "worker" in ground.wl("reassign", "m1", "w").failed(7).err
    ground.wl("reassign", "w", "m2").ok()
    ground.wl("undo").ok()
    assert ground.wl("info", "w", "--json").ok().json()["parent"] is None
    ground.wl("reassign", "m2", "--none").ok()
    assert ground.wl("info", "m2", "--json").ok().json()["parent"] is None


def test_send_reaches_live_and_headless_agents_exactly(ground: Ground) -> None:
    text = 'line one\n  "quoted" $HOME `x` ; C-c Enter ✓ #{pane_id}'
    keep = [{"match": "line one", "turns": [bash("true"), DONE]}]
    for name, flags in (("live", ()), ("quiet", ("--print",))):
        script = ground.script(name, STAY, on=keep)
        ground.wl(*NEW, "--name", name, "--script", script, *flags, "x").ok()
        ground.wait(name, states="waiting")
        ground.wl("send", name, stdin=text).ok()
        ground.wait(name, states="complete")
        path = ground.wl("info", name, "--json").ok().json()["transcript"]
        assert Path(path).read_text().count("line one") >= 1
        received = [e["data"] for e in ground.events(name) if e["kind"] == "message.received"]
        assert [(one["sender"], one["text"]) for one in received] == [("user", text)]


def test_a_message_between_agents_says_who_sent_it(ground: Ground) -> None:
    ground.new("hearer", STAY)
    ground.wait("hearer", states="waiting")
    ground.new("talker", bash("wl send hearer 'good morning'"), DONE)
    ground.wait("talker")
    ground.wl("wait", "hearer", "--for", "waiting").ok()
    (sent,) = [e["data"] for e in ground.events("talker") if e["kind"] == "message.sent"]
    path = Path(ground.wl("info", "hearer", "--json").ok().json()["transcript"])
    said = f"[sent by agent talker]: good morning\\n\\n[message {sent['id']}]"
    until(lambda: said in path.read_text(), what="the message")
    assert (sent["to"], sent["text"]) == ("hearer", "good morning")


def test_mail_of_a_stopped_agent_waits_and_that_is_said(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    ground.wl("pause", "a1").ok()
    assert ground.state_of("a1") == "paused"
    assert "wl resume a1" in ground.wl("send", "a1", "hello").ok().out
    assert "wl resume a1" in ground.wl("attach", "a1").failed(1).err
    ground.wl("resume", "a1").ok()
    ground.wait("a1", states="waiting")
    ground.wl("resume", "a1").failed(1)


def test_commands_inside_a_workspace_know_the_repository(ground: Ground) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    assert len(ground.wl("list", "--json", cwd=workspace).ok().json()) == 1
    done = ground.wl("merge", "a1", "--force", cwd=workspace / "notes").failed(1)
    assert "inside a1's own workspace" in done.err
    assert ground.wl("exec", "a1", "--", "pwd").ok().out.strip() == str(workspace)
    assert ground.wl("exec", "a1", "--", "sh", "-c", "exit 9").code == 9
    told = ground.wl("exec", "a1", "--", "env").ok().out
    assert "WINDLASS_AGENT=a1" in told


def test_an_agent_knows_its_own_slot_ports_and_nothing_of_its_caller(ground: Ground) -> None:
    ground.env |= {"CLAUDE_CODE_CHILD_SESSION": "1", "ANTHROPIC_API_KEY": "k", "TMUX": "/x,1,0"}
    workspace = ground.new("a1", bash("env > told.txt"), DONE)
    ground.wait("a1")
    told = dict(
        line.split("=", 1)
        for line in (workspace / "told.txt").read_text().splitlines()
        if "=" in line
    )
    assert told["WINDLASS_AGENT"] == "a1"
    assert told["WINDLASS_SLOT"] == "0"
    assert told["WINDLASS_PORT_BASE"] == "20000"
    assert told["WINDLASS_REPO"] == str(ground.folder / "repo")
    assert "CLAUDE_CODE_CHILD_SESSION" not in told
    assert "ANTHROPIC_API_KEY" not in told
    assert told.get("TMUX", "") != "/x,1,0"


def test_an_agent_without_a_worktree_works_in_the_persons_checkout(ground: Ground) -> None:
    repo = ground.folder / "repo"
    ground.new("a1", bash("echo x > here.txt"), DONE, flags=["--no-worktree"])
    ground.wait("a1")
    assert (repo / "here.txt").exists()
    ground.wl("merge", "a1", "--force").failed(1)
    ground.wl("kill", "a1", "--force").ok()
    assert (repo / "here.txt").exists()


def test_ignored_files_named_in_worktreeinclude_come_along(ground: Ground) -> None:
    repo = ground.folder / "repo"
    (repo / ".gitignore").write_text(".env\n*.log\n")
    (repo / ".worktreeinclude").write_text(".env\n")
    (repo / ".env").write_text("SECRET=1\n")
    (repo / "x.log").write_text("noise\n")
    ground.git("add", ".gitignore", ".worktreeinclude")
    ground.git("commit", "-qm", "ignore")
    assert not (ground.new("wary", STAY) / ".env").exists()
    waiting = ground.wl("trust", "--json").ok().json()["waiting"]
    assert [(line["key"], line["value"]) for line in waiting] == [("workspace.include", [".env"])]
    ground.wl("trust", "-y").ok()
    workspace = ground.new("a1", STAY)
    assert (workspace / ".env").read_text() == "SECRET=1\n"
    assert not (workspace / "x.log").exists()


def test_the_log_follows_what_happens_and_survives_a_daemon_restart(ground: Ground) -> None:
    ground.new("a1", STAY)
    ground.wait("a1", states="waiting")
    following = ground.start("log", "a1", "--follow", "--json")
    assert following.stdout is not None
    ground.wl("note", "--agent", "a1", "first").ok()
    _read_until(following.stdout, "first")
    ground.kill_daemon()
    ground.wl("note", "--agent", "a1", "second").ok()
    _read_until(following.stdout, "second")
    following.kill()
    following.communicate()


def _read_until(stream: object, text: str) -> None:
    for line in stream:  # type: ignore[attr-defined]
        if text in line:
            return
    raise AssertionError(text)
