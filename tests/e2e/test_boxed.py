"""Boxed agents from end to end: what works in a box, what comes home, and what stays out."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest
from tests.redteam.terminal import terminal, told
from tests.support.ground import WL, Ground, until

pytestmark = pytest.mark.slow

NEW = ("new", "--driver", "standin")
STAY = {"text": "WAITING"}
DONE = {"text": "I HAVE COMPLETED THE GOAL"}


def bash(command: str) -> dict[str, object]:
    return {"tool": "Bash", "input": {"command": command}}


def broken_bubblewrap(ground: Ground) -> None:
    """What a new Ubuntu does to bubblewrap without a profile for it."""
    folder = ground.folder / "bin"
    folder.mkdir()
    program = folder / "bwrap"
    program.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && { echo bubblewrap 0.8.0; exit; }\n'
        "echo 'bwrap: setting up uid map: Permission denied' >&2\n"
        "exit 1\n"
    )
    program.chmod(0o755)
    ground.env["PATH"] = f"{folder}:{ground.env['PATH']}"


def test_git_pytest_and_wl_work_in_a_box(ground: Ground) -> None:
    ground.new("peer", STAY, {"await": "message"}, STAY)
    ground.wait("peer", states="waiting")
    commands = (
        "git config user.email fox@example.com",
        "echo one > one.txt && git add one.txt && git commit -qm one",
        "echo two > two.txt && git add two.txt && git stash -q && git stash pop -q",
        "git commit -qm two && git tag v1 && git rebase -q --root",
        "git fetch -q origin && git rebase -q origin/main",
        f"echo 'def test_it(): pass' > test_it.py && {sys.executable} -m pytest -q test_it.py",
        "wl send peer 'from the box' && wl list",
    )
    steps = [bash(f"({line}) >> said.txt 2>&1; echo $? >> codes.txt") for line in commands]
    workspace = ground.new("fox", *steps, DONE)
    ground.wait("fox")
    assert (workspace / "codes.txt").read_text().split() == ["0"] * len(commands), (
        workspace / "said.txt"
    ).read_text()
    heard = [e["data"]["text"] for e in ground.events("peer") if e["kind"] == "message.received"]
    assert heard == ["from the box"]
    listed = {one["id"]: one["isolation"] for one in ground.agents()}
    assert listed == {"peer": "box", "fox": "box"}


def test_what_a_boxed_agent_commits_comes_home_by_itself(ground: Ground) -> None:
    ground.new("fox", bash("echo x > x.txt; git add .; git commit -qm 'in the box'"), STAY)
    ground.wait("fox", states="waiting")
    until(lambda: "in the box" in ground.git("log", "-1", "agent/fox"), what="the commit")
    tip = ground.git("rev-parse", "agent/fox").strip()
    # Told after the branch has moved.
    until(lambda: tip in _tips_told(ground, "fox"), what="its event")


def _tips_told(ground: Ground, name: str) -> list[str]:
    return [e["data"]["tip"] for e in ground.events(name) if e["kind"] == "branch.moved"]


def commit_under_the_persons_eyes(ground: Ground) -> None:
    """Has fox commit while its branch is checked out, and waits until that was complained of."""
    gate = ground.shown / "go"
    work = f"while [ ! -e {gate} ]; do read -t 0.1 x; done; echo x > x; git add x; git commit -qm x"
    ground.new("fox", bash(work), STAY)
    ground.git("checkout", "-q", "agent/fox")
    gate.touch()
    ground.wait("fox", states="waiting")
    until(
        lambda: any(e["kind"] == "branch.stuck" for e in ground.events("fox")), what="the complaint"
    )


def test_a_branch_that_the_person_looks_at_is_not_moved_under_them(ground: Ground) -> None:
    commit_under_the_persons_eyes(ground)
    assert not (ground.folder / "repo" / "x").exists()
    assert ground.git("status", "--porcelain") == ""


def test_a_daemon_that_is_killed_does_not_cut_a_boxed_agent_off(ground: Ground) -> None:
    gate = ground.shown / "go"
    wait = f"touch begun; while [ ! -e {gate} ]; do read -t 0.1 x; done"
    workspace = ground.new("fox", bash(wait), bash("wl note 'still here' > out.txt 2>&1"), DONE)
    until((workspace / "begun").exists, what="fox at work, its call decided")
    ground.kill_daemon()
    ground.wl("list").ok()
    gate.touch()
    ground.wait("fox", states="complete")
    assert "still here" in (workspace / "out.txt").read_text()
    assert [e["data"]["text"] for e in ground.events("fox") if e["kind"] == "note"] == [
        "still here"
    ]


def test_wl_in_a_box_waits_a_moment_for_a_daemon_and_starts_none(ground: Ground) -> None:
    gate = ground.shown / "go"
    wait = f"echo > begun; while [ ! -e {gate} ]; do read -t 0.1 x; done"
    # Without a daemon the hook allows only plain lines, so all of it is one command.
    workspace = ground.new("fox", bash(f"{wait}; wl note x > out.txt 2>&1; echo $? >> out.txt"))
    until((workspace / "begun").exists, what="the command running")
    ground.wl("daemon", "stop").ok()
    gate.touch()
    until(lambda: "\n6\n" in "\n" + _text(workspace / "out.txt"), what="the refusal", within=40)
    assert "agents do not start it" in _text(workspace / "out.txt")
    assert ground.daemon_pid() is None


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def test_without_a_box_auto_says_so_and_required_refuses(ground: Ground) -> None:
    broken_bubblewrap(ground)
    refused = ground.wl(*NEW, "--isolation", "required", "--name", "fox", "x").failed(3)
    assert "Permission denied" in refused.err
    assert "wl doctor" in refused.err
    assert ground.agents() == []
    assert "agent/fox" not in ground.git("branch", "--list")
    script = ground.script("fox", STAY)
    made = ground.wl(*NEW, "--script", script, "--name", "fox", "x").ok()
    assert "not boxed, hooks only advise it" in made.out
    assert "Permission denied" in made.out
    assert ground.agents()[0]["isolation"] == "hooks"
    doctor = ground.wl("doctor", env={"WINDLASS_DRIVER": "standin"}).ok().out
    assert "no  bubblewrap" in doctor
    assert "for a box, " in doctor
    ground.wl("config", "set", "isolation", "required").ok()
    ground.wl(*NEW, "--name", "two", "x").failed(3)


def test_a_boxed_agent_whose_box_is_gone_is_not_resumed_without_one(ground: Ground) -> None:
    ground.new("fox", STAY)
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    ground.wl("daemon", "stop").ok()
    broken_bubblewrap(ground)
    refused = ground.wl("resume", "fox").failed(3)
    assert "fox is boxed" in refused.err
    assert ground.state_of("fox") in ("stopped", "paused")


def test_what_a_boxed_manager_starts_is_boxed_and_reaches_no_further(ground: Ground) -> None:
    child = ground.script("child", STAY)
    start = f"wl new -q --driver standin --script {child}"
    workspace = ground.new(
        "lead",
        bash(f"{start} --name one x > one.txt 2>&1; echo $? >> one.txt"),
        bash(f"{start} --name two --isolation hooks x > two.txt 2>&1; echo $? >> two.txt"),
        bash(f"{start} --name three --network host x > three.txt 2>&1; echo $? >> three.txt"),
        bash(f"{start} --name four --no-worktree x > four.txt 2>&1; echo $? >> four.txt"),
        DONE,
        flags=["--manager", "--network", "none"],
    )
    # Done, or set going once more by news of the one that it started.
    ground.wait("lead", states="complete,stopped,waiting")
    assert _text(workspace / "one.txt").split() == ["one", "0"]
    assert "cannot start an agent that is not" in _text(workspace / "two.txt")
    assert "cannot give network host" in _text(workspace / "three.txt")
    for name, code in (("two", 7), ("three", 7), ("four", 7)):
        assert _text(workspace / f"{name}.txt").split()[-1] == str(code), name
    made = {a["id"]: (a["isolation"], a["network"]) for a in ground.agents()}
    assert made == {"lead": ("box", "none"), "one": ("box", "none")}


def test_a_boxed_child_is_merged_into_its_boxed_manager(ground: Ground) -> None:
    child = ground.script("child", bash("echo c > c.txt; git add .; git commit -qm child"), DONE)
    workspace = ground.new(
        "lead",
        bash("echo l > l.txt; git add .; git commit -qm lead"),
        bash(f"wl new -q --driver standin --script {child} --name hand x"),
        bash("wl wait hand --for complete --timeout 60"),
        bash("wl merge hand --force > merged.txt 2>&1; echo $? >> merged.txt"),
        bash("git log --oneline > log.txt; git status --porcelain > status.txt"),
        STAY,
        flags=["--manager"],
    )
    ground.wait("lead", states="waiting")
    assert _text(workspace / "merged.txt").endswith("0\n"), _text(workspace / "merged.txt")
    assert (workspace / "c.txt").exists()
    assert "Merge agent hand" in _text(workspace / "log.txt")
    assert "c.txt" not in _text(workspace / "status.txt")
    until(lambda: "c.txt" in ground.git("ls-tree", "agent/lead"), what="the merge at home")


def test_what_edits_protected_paths_is_marked_and_no_agent_merges_it_into_main(
    ground: Ground,
) -> None:
    edit = "mkdir -p .github/workflows; echo x > .github/workflows/ci.yml; echo y > y.txt"
    child = ground.script("child", bash(f"{edit}; git add .; git commit -qm ci"), DONE)
    workspace = ground.new(
        "lead",
        bash(f"wl new -q --driver standin --script {child} --name hand x"),
        bash("wl wait hand --for complete --timeout 60"),
        bash("wl merge hand --into main --force > merged.txt 2>&1; echo $? >> merged.txt"),
        STAY,
        flags=["--manager"],
    )
    ground.wait("lead", states="waiting")
    assert "lead may not merge into main" in _text(workspace / "merged.txt")
    assert _text(workspace / "merged.txt").endswith("7\n")
    assert "y.txt" not in ground.git("ls-tree", "main")
    checked = ground.wl("merge-check", "hand", "--json").ok().json()
    assert checked["protected"] == [".github/workflows/ci.yml"]
    assert "protected    .github/workflows/ci.yml" in ground.wl("merge-check", "hand").ok().out


def test_a_command_of_the_persons_runs_in_the_agents_box(ground: Ground) -> None:
    ground.new("fox", STAY)
    secret = ground.home / "secret"
    secret.write_text("mine")
    inside = ground.wl("exec", "fox", "--", "sh", "-c", f"cat {secret}; echo $HOME; pwd")
    assert "mine" not in inside.out
    assert str(ground.home) not in inside.out.splitlines()
    outside = ground.wl("exec", "--outside", "fox", "--", "cat", str(secret)).ok()
    assert outside.out == "mine"


def test_a_command_in_a_box_is_on_a_terminal_that_only_draws(ground: Ground) -> None:
    ground.new("fox", STAY)
    line = r"test -t 0 && test -t 1 && printf '\033]52;c;aGk=\007spoken\n'; read word; echo =$word="
    with terminal(ground, "exec", "fox", "--", "sh", "-c", line) as person:
        shown = told(person, until=b"spoken")
        os.write(person, b"typed\r")
        shown += told(person, until=b"=typed=")
    assert b"\x1b]52" not in shown


@pytest.mark.parametrize("how", ["| cat", "2> /dev/null | cat", "> /dev/null", "--raw"])
def test_no_command_in_a_box_has_the_persons_own_terminal(ground: Ground, how: str) -> None:
    workspace = ground.new("fox", STAY)
    seen = "readlink /proc/self/fd/0; (: < /dev/tty) && echo opened; read word"
    inside = f"({seen}; echo =$word=) > seen.txt 2>&1"
    option, rest = (how, "") if how == "--raw" else ("", how)
    line = f"tty; {WL} exec {option} fox -- sh -c '{inside}' {rest}; echo over; read answer"
    with terminal(ground, "-c", line, program="/bin/sh") as person:
        own = told(person, until=b"\n").decode().strip()
        front = os.tcgetpgrp(person)
        until((workspace / "seen.txt").exists, what="the command")
        os.write(person, b"typed\r")
        told(person, until=b"over")
        assert os.tcgetpgrp(person) == front
        os.write(person, b"\r")
    said = (workspace / "seen.txt").read_text()
    assert "=typed=" in said
    assert f"{own}\n" not in said
    assert ("opened" in said) == (how == "--raw"), "one of its own, or none"


def test_setup_and_teardown_run_in_the_box(ground: Ground) -> None:
    secret = ground.home / "secret"
    secret.write_text("mine")
    setup = f"cat {secret} > seen.txt 2>&1; env > told.txt; true"
    ground.wl("config", "set", "workspace.setup", setup).ok()
    workspace = ground.new("fox", STAY)
    assert "No such file" in _text(workspace / "seen.txt")
    told = _text(workspace / "told.txt")
    assert "WINDLASS_AGENT=fox" in told
    assert f"HOME={ground.home}\n" not in told
    assert "WINDLASS_SOCKET" not in told


def test_agents_see_into_themselves_and_those_below_but_not_into_others(ground: Ground) -> None:
    ground.new("other", bash("echo private"), STAY)
    ground.wait("other", states="waiting")
    child = ground.script("child", STAY)
    verbs = ("look", "log", "diff", "info", "path", "denials")
    tries = [bash(f"wl {verb} other > {verb}.txt 2>&1; echo $? >> {verb}.txt") for verb in verbs]
    own = [
        bash(f"wl {verb} hand > own-{verb}.txt 2>&1; echo $? >> own-{verb}.txt") for verb in verbs
    ]
    workspace = ground.new(
        "lead",
        bash(f"wl new -q --driver standin --script {child} --name hand x"),
        *tries,
        *own,
        DONE,
        flags=["--manager"],
    )
    ground.wait("lead")
    for verb in verbs:
        assert _text(workspace / f"{verb}.txt").endswith("7\n"), _text(workspace / f"{verb}.txt")
        assert "private" not in _text(workspace / f"{verb}.txt")
        assert _text(workspace / f"own-{verb}.txt").endswith("0\n"), verb


def test_ending_and_undoing_a_boxed_agent_brings_its_clone_back_whole(ground: Ground) -> None:
    mess = (
        "echo c > c.txt; git add c.txt; git commit -qm c; echo d > d.txt; git stash -qu; echo e > e"
    )
    workspace = ground.new("fox", bash(mess), STAY)
    ground.wait("fox", states="waiting")
    ground.wl("kill", "fox", "--force").ok()
    assert not workspace.exists()
    ground.wl("undo").ok()
    assert (workspace / "e").read_text() == "e\n"
    assert "c" in ground.git("log", "-1", "--format=%s", "agent/fox")
    listed = ground.wl("exec", "fox", "--", "git", "stash", "list").ok().out
    assert listed.count("stash@") == 1
    (agent,) = ground.agents()
    assert agent["isolation"] == "box"
    ground.wl("resume", "fox").ok()
    ground.wait("fox", states="waiting")
    assert os.path.isdir(workspace / ".git")  # noqa: PTH112 - a clone again, no pointer


def test_who_fills_the_disk_is_paused_and_keeps_its_work(ground: Ground) -> None:
    ground.wl("config", "set", "box.disk_mb", "8").ok()
    fill = "for n in 1 2 3; do head -c 5000000 /dev/urandom > f$n; done; sleep 100"
    workspace = ground.new("fox", bash(fill), STAY)
    ground.wl("wait", "fox", "--for", "paused", "--timeout", "60").ok()
    assert "box.disk_mb is 8" in ground.wl("why", "fox").ok().out
    assert (workspace / "f3").stat().st_size == 5_000_000


def test_who_commits_more_than_may_come_home_is_paused_and_every_face_says_why(
    ground: Ground,
) -> None:
    ground.wl("config", "set", "box.home_mb", "1").ok()
    more = "head -c 3000000 /dev/urandom > f; git add f; git commit -qm f; sleep 100"
    workspace = ground.new("fox", bash(more), STAY)
    ground.wl("wait", "fox", "--for", "paused", "--timeout", "60").ok()
    why = "box.home_mb is 1, of which 0 are used"
    step = "raise it: wl config set box.home_mb 2, then wl resume fox"
    assert why in ground.wl("list").ok().out
    assert f"{why}; {step}" in ground.wl("status", "fox").ok().out
    assert f"{why}; {step}" in ground.wl("why", "fox").ok().out
    ground.wl("config", "set", "box.home_mb", "20").ok()
    ground.wl("resume", "fox").ok()
    tip = ground.git("rev-parse", "HEAD", cwd=workspace).strip()
    until(lambda: tip == ground.git("rev-parse", "agent/fox").strip(), what="the homecoming")


def test_one_file_grows_no_further_than_it_may(ground: Ground) -> None:
    ground.wl("config", "set", "box.file_mb", "2").ok()
    workspace = ground.new("fox", bash("head -c 5000000 /dev/zero > f; echo $? > code"), STAY)
    ground.wait("fox", states="waiting")
    assert (workspace / "f").stat().st_size == 2 << 20
    assert _text(workspace / "code") != "0\n"


def test_a_setup_reaches_the_domains_that_its_agent_may(ground: Ground) -> None:
    ground.wl("config", "set", "network", "proxy").ok()
    fetch = "curl -sS -m 5 -o /dev/null -w '%{http_code}' http://not.allowed.example/ > code.txt"
    ground.wl("config", "set", "workspace.setup", f"{fetch} 2>&1; true").ok()
    workspace = ground.new("fox", STAY)
    assert _text(workspace / "code.txt") == "403"  # by our proxy, which was there to say so


def test_agents_cannot_go_below_what_the_person_requires(ground: Ground) -> None:
    ground.unbox()
    ground.new(
        "lead",
        bash("touch ready; while [ ! -e go ]; do sleep 0.1; done"),
        bash("wl new -q --driver standin --isolation hooks --name a x > a.txt 2>&1"),
        bash("wl new -q --driver standin --no-worktree --name b x > b.txt 2>&1; echo $? >> b.txt"),
        DONE,
        flags=["--manager"],
    )
    (lead,) = ground.agents()
    workspace = Path(lead["workspace"])
    until((workspace / "ready").exists, what="lead at work")
    ground.wl("config", "set", "roles.worker.isolation", "required").ok()
    (workspace / "go").touch()
    ground.wait("lead")
    assert _text(workspace / "b.txt").endswith("7\n")
    made = {one["id"]: one["isolation"] for one in ground.agents()}
    assert made == {"lead": "hooks", "a": "box"}


def test_a_network_that_nothing_would_enforce_is_refused(ground: Ground) -> None:
    refused = ground.wl(*NEW, "--isolation", "hooks", "--network", "none", "x").failed(3)
    assert "nothing keeps an agent from the network" in refused.err
    ground.wl("config", "set", "network", "none").ok()
    script = ground.script("fox", STAY)
    ground.wl(*NEW, "--isolation", "hooks", "--script", script, "--name", "fox", "x").ok()
    (agent,) = ground.agents()
    assert (agent["isolation"], agent["network"]) == ("hooks", "host")


def test_a_homecoming_that_was_in_the_way_is_made_up_for(ground: Ground) -> None:
    commit_under_the_persons_eyes(ground)
    ground.git("checkout", "-q", "main")
    until(lambda: "x" in ground.git("log", "-1", "--format=%s", "agent/fox"), what="the commit")


@pytest.mark.parametrize("line", [b"[" * 30_000, b"\xff\xfe", b"x\n" * 5_000])
def test_what_an_agent_writes_into_its_events_blinds_nobody(ground: Ground, line: bytes) -> None:
    (ground.shown / "junk").write_bytes(line + b"\n")
    workspace = ground.new(
        "fox",
        bash(f"cat {ground.shown}/junk >> $(ls -d $HOME/../sessions/*/events.jsonl)"),
        bash("echo on > on.txt"),
        DONE,
    )
    ground.wait("fox")
    assert ground.state_of("fox") == "complete"
    assert (workspace / "on.txt").exists()
    assert [e for e in ground.events("fox") if e["kind"] == "hook.garbage"] != []


def test_a_pipe_in_place_of_a_commit_holds_up_nobody(ground: Ground) -> None:
    a_pipe_for_a_commit = (
        "t=$(git commit-tree -p HEAD -m done HEAD^{tree}); mkdir -p .git/refs/heads/agent;"
        " f=.git/objects/$(echo $t | cut -c1-2)/$(echo $t | cut -c3-); rm -f $f; mkfifo $f;"
        " echo $t > .git/refs/heads/agent/fox"
    )
    ground.new("fox", bash(a_pipe_for_a_commit), STAY)
    ground.wait("fox", states="waiting")
    ground.new("owl", bash("git commit -q --allow-empty -m done"), STAY)
    until(lambda: "done" in ground.git("log", "-1", "agent/owl"), what="owl's commit")
    assert ground.wl("list").ok().out.count("waiting") > 0
    refused = ground.wl("merge", "fox", "--force").failed(4)
    assert "does not come home" in refused.err
    assert "did not finish" not in refused.err
    assert "does not come home" in ground.wl("why", "fox").ok().out


def test_one_without_a_box_is_not_resumed_where_a_box_is_required_by_now(ground: Ground) -> None:
    ground.new("fox", STAY, flags=["--isolation", "hooks"])
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    ground.wl("config", "set", "roles.worker.isolation", "required").ok()
    refused = ground.wl("resume", "fox").failed(3)
    assert "fox has no box, and isolation is required" in refused.err
    assert ground.state_of("fox") == "paused"
    ground.wl("config", "set", "roles.worker.isolation", "auto").ok()
    ground.wl("resume", "fox").ok()


def test_a_word_to_end_reaches_the_program_in_the_box(ground: Ground) -> None:
    workspace = ground.new("fox", bash("touch begun; sleep 100"), STAY)
    until((workspace / "begun").exists, what="fox at work")
    (holder,) = ground.state.glob("agents/*/sessions/1/holder.json")
    os.kill(json.loads(holder.read_text())["pid"], signal.SIGTERM)
    ground.wait("fox", states="stopped")
    assert "exit code 143" in ground.wl("why", "fox").ok().out


def test_a_repository_that_an_agent_made_is_not_taken_for_one_that_is_away(ground: Ground) -> None:
    other = ground.repository("other")
    ground.wl("repo", "add", str(other)).ok()
    planted = (other / ".git" / "windlass-id").read_text()
    plant = f"git init -q nested; printf {planted.strip()} > nested/.git/windlass-id"
    workspace = ground.new("fox", bash(plant), STAY)
    ground.wait("fox", states="waiting")
    other.rename(ground.folder / "away")
    nested = workspace / "nested"
    assert "fox" in ground.wl("list", cwd=nested).ok().out
    ground.wl("repo", "add", str(nested))
    roots = {one["id"]: one["root"] for one in ground.wl("repo", "list", "--json").ok().json()}
    assert roots[planted.strip()] == str(other)


def test_a_boxed_agent_is_told_of_calls_of_its_own_and_not_of_any_folder(ground: Ground) -> None:
    call = '{"tool_name": "Read", "tool_input": {"file_path": "/root/x"}, "cwd": "/root"}'
    (ground.shown / "call.json").write_text(call)
    ask = f"wl explain tool {ground.shown}/call.json"
    workspace = ground.new(
        "fox",
        bash(f"{ask} --level hooks > any.txt 2>&1; echo $? >> any.txt"),
        bash(f"{ask} --agent self > own.txt 2>&1; echo $? >> own.txt"),
        DONE,
    )
    ground.wait("fox")
    assert _text(workspace / "any.txt").endswith("\n7\n"), _text(workspace / "any.txt")
    assert "asks about itself" in _text(workspace / "any.txt")
    assert "asks about itself" not in _text(workspace / "own.txt")


def test_a_tool_that_is_installed_later_is_in_the_next_box(ground: Ground) -> None:
    ground.env["PATH"] = f"{ground.env['PATH']}:{ground.folder}/later"
    ground.new("fox", STAY)
    ground.wait("fox", states="waiting")
    later = ground.folder / "later"
    later.mkdir()
    (later / "greet").write_text("#!/bin/sh\necho hello\n")
    (later / "greet").chmod(0o755)
    workspace = ground.new("owl", bash("greet > said.txt 2>&1"), DONE)
    ground.wait("owl")
    assert _text(workspace / "said.txt") == "hello\n"


def test_disk_that_cannot_be_counted_is_told_of_and_pauses_nobody(ground: Ground) -> None:
    folder = ground.folder / "bin"
    folder.mkdir()
    (folder / "du").write_text("#!/bin/sh\necho too many >&2\nexit 1\n")
    (folder / "du").chmod(0o755)
    ground.env["PATH"] = f"{folder}:{ground.env['PATH']}"
    ground.wl("config", "set", "box.disk_mb", "8").ok()
    ground.new("fox", STAY)
    log = ground.state / "daemon.log"
    told = "not known how much disk fox takes: du ended with 1"
    until(lambda: told in log.read_text(), what="the log line")
    assert ground.state_of("fox") == "waiting"


EXCHANGE = """
import os
config = os.path.join(os.path.dirname(os.environ["HOME"]), "config")
for name in ("remote-settings.json", "CLAUDE.md", "rules", "skills", "commands", "agents"):
    os.symlink("/oldroot/tmp/planted", os.path.join(config, "link"))
    try:
        os.rename(os.path.join(config, "link"), os.path.join(config, name))
        print("exchanged", name)
    except OSError:
        os.unlink(os.path.join(config, "link"))
"""


def test_what_boxes_cover_is_exchanged_in_none_of_them_also_before_there_is_anything_to_show(
    ground: Ground,
) -> None:
    """A link there is followed by what sets the next box up: it made a file outside, as the person.

    While an agent is paused nothing of the person's is there to be seen.
    """
    workspace = ground.new("fox", {"text": "I wait.\n\nWAITING"}, flags=["--isolation", "box"])
    ground.wait("fox", states="waiting")
    ground.wl("pause", "fox").ok()
    (workspace / "exchange.py").write_text(EXCHANGE)
    assert ground.wl("exec", "fox", "--", "python3", "exchange.py").ok().out == ""
