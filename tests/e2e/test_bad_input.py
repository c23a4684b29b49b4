"""Bad input gets words, the right exit code, and leaves everything as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.ground import Ground

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unboxed")]

NEW = ("new", "--driver", "standin")


def test_outside_of_a_repository_new_says_so(ground: Ground) -> None:
    outside = ground.folder / "outside"
    outside.mkdir()
    done = ground.wl(*NEW, "x", cwd=outside).failed(4)
    assert "not in a git repository" in done.err
    assert "git init" in done.err


def test_a_repository_without_a_commit_is_refused_with_what_to_do(ground: Ground) -> None:
    fresh = ground.folder / "fresh"
    fresh.mkdir()
    ground.git("init", "-q", cwd=fresh)
    done = ground.wl(*NEW, "x", cwd=fresh).failed(4)
    assert "has no commit yet" in done.err
    assert "git commit" in done.err


def test_a_bare_repository_is_refused(ground: Ground) -> None:
    bare = ground.folder / "bare.git"
    bare.mkdir()
    ground.git("init", "-q", "--bare", cwd=bare)
    assert "bare" in ground.wl(*NEW, "x", cwd=bare).failed(4).err


def test_from_a_detached_head_agents_start_but_merging_wants_a_branch(ground: Ground) -> None:
    ground.git("checkout", "-q", "--detach")
    made = ground.wl(*NEW, "--name", "a1", "--json", "x").ok().json()
    assert "detached" in made["base_from"]
    ground.wait("a1")
    done = ground.wl("merge", "a1", "--force").failed(2)
    assert "--into" in done.err
    assert ground.state_of("a1") == "complete"
    ground.wl("merge", "a1", "--force", "--into", "main").ok()
    assert "Merge agent a1" in ground.git("log", "-1", "--format=%s", "main")


def test_a_dirty_main_tree_refuses_a_merge_and_loses_nothing(ground: Ground) -> None:
    repo = ground.folder / "repo"
    ground.new("a1")
    ground.wait("a1")
    (repo / "README").write_text("half a thought\n")
    done = ground.wl("merge", "a1", "--force").failed(1)
    assert "uncommitted changes in README" in done.err
    assert (repo / "README").read_text() == "half a thought\n"
    assert ground.state_of("a1") == "complete"
    ground.git("checkout", "README")
    (repo / "untracked.txt").write_text("mine\n")
    ground.wl("merge", "a1", "--force").ok()
    assert (repo / "untracked.txt").read_text() == "mine\n"


def test_an_untracked_file_in_the_way_refuses_a_merge(ground: Ground) -> None:
    repo = ground.folder / "repo"
    write = {"tool": "Write", "input": {"file_path": "new.txt", "content": "theirs\n"}}
    commit = {"tool": "Bash", "input": {"command": "git add . && git commit -qm new"}}
    ground.new("a1", write, commit, {"text": "I HAVE COMPLETED THE GOAL"})
    ground.wait("a1")
    (repo / "new.txt").write_text("mine\n")
    ground.wl("merge", "a1", "--force").failed(1)
    assert (repo / "new.txt").read_text() == "mine\n"
    assert ground.git("log", "--format=%s") == "first\n"


def test_an_agent_with_uncommitted_work_is_not_merged(ground: Ground) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    (workspace / "loose.txt").write_text("x")
    done = ground.wl("merge", "a1", "--force").failed(1)
    assert "loose.txt" in done.err
    assert ground.state_of("a1") == "complete"


def test_a_merge_that_would_conflict_names_the_files_and_touches_nothing(ground: Ground) -> None:
    repo = ground.folder / "repo"
    ground.new("a1", _write("README", "theirs\n"), _commit(), {"text": "WAITING"})
    ground.wait("a1", states="waiting")
    (repo / "README").write_text("ours\n")
    ground.git("commit", "-qam", "ours")
    assert "README" in ground.wl("merge", "a1", "--force").failed(1).err
    check = ground.wl("merge-check", "a1", "--json")
    assert check.code == 1
    assert check.json()["conflicts"] == ["README"]
    assert ground.state_of("a1") == "waiting"
    assert ground.git("log", "-1", "--format=%s") == "ours\n"


@pytest.mark.parametrize("name", ["a b", "-x", "a/b", "user", "x" * 60])
def test_an_invalid_name_is_refused(ground: Ground, name: str) -> None:
    done = ground.wl(*NEW, f"--name={name}", "x").failed(2)
    assert "name" in done.err
    assert ground.agents() == []


def test_a_taken_name_and_an_existing_branch_are_refused(ground: Ground) -> None:
    ground.new("a1")
    assert "taken" in ground.wl(*NEW, "--name", "a1", "x").failed(1).err
    ground.git("branch", "agent/old")
    assert "agent/old exists" in ground.wl(*NEW, "--name", "old", "x").failed(1).err
    assert ground.git("rev-parse", "agent/old") == ground.git("rev-parse", "main")
    assert len(ground.agents()) == 1


def test_unknown_and_ambiguous_ids_are_told_apart(ground: Ground) -> None:
    ground.new("api-one")
    ground.new("api-two")
    assert "no agent 'zzz'" in ground.wl("look", "zzz").failed(8).err
    assert "api-one, api-two" in ground.wl("look", "api").failed(2).err
    ground.wl("look", "api-o").ok()


def test_a_missing_and_a_malformed_script_start_nothing(ground: Ground) -> None:
    missing = ground.wl(*NEW, "--name", "a1", "--script", "nope.json", "x").failed(2)
    assert "nope.json" in missing.err
    bad = ground.folder / "bad.json"
    bad.write_text(json.dumps({"turns": [{"text": "a"}, {"tol": "Write"}]}))
    told = ground.wl(*NEW, "--name", "a1", "--script", str(bad), "x").failed(2)
    assert "turns[1]" in told.err
    bad.write_text("{not json")
    ground.wl(*NEW, "--name", "a1", "--script", str(bad), "x").failed(2)
    assert ground.agents() == []
    assert "agent/a1" not in ground.git("branch", "--list")
    ground.wl(*NEW, "--name", "a1", "x").ok()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("frobnicate",), 2),
        (("new", "--frobnicate", "x"), 2),
        (("new",), 2),
        (("new", "--driver", "nope", "x"), 5),
        (("new", "--manager", "--worker", "--driver", "standin", "x"), 2),
        (("kill", "a1"), 8),
        (("wait", "x", "--for", "happy"), 2),
        (("wait", "x", "--timeout", "soon"), 2),
        (("config", "get", "nope"), 3),
        (("config", "set", "max_agents", "many"), 3),
        (("trash", "restore", "nope"), 8),
        (("undo",), 8),
        (("send", "nobody", "x"), 8),
        (("-C", "/nonexistent-folder", "list"), 2),
        (("exec", "nobody", "--", "true"), 8),
        (("help", "nope"), 8),
    ],
)
def test_what_cannot_be_done_has_its_exit_code(
    ground: Ground, args: tuple[str, ...], code: int
) -> None:
    ground.wl("init").ok()
    ground.wl(*args).failed(code)


def test_an_error_is_json_where_json_was_asked_for(ground: Ground) -> None:
    done = ground.wl("look", "zzz", "--json").failed(8)
    assert json.loads(done.err)["error"]["kind"] == "not_found"


def test_a_goal_may_come_on_stdin_or_from_a_file(ground: Ground) -> None:
    ground.wl(*NEW, "--name", "a1", stdin="from stdin\n").ok()
    prompt = ground.folder / "goal.md"
    prompt.write_text("from a file\n")
    ground.wl(*NEW, "--name", "a2", "--prompt-file", str(prompt)).ok()
    goals = {one["id"]: one["goal"] for one in ground.agents()}
    assert goals == {"a1": "from stdin", "a2": "from a file"}


def test_a_limit_that_was_set_refuses_one_more(ground: Ground) -> None:
    ground.wl("config", "set", "max_agents", "1").ok()
    ground.new("a1")
    assert "max_agents is 1" in ground.wl(*NEW, "x").failed(7).err


def test_a_broken_configuration_is_named_with_its_file(ground: Ground) -> None:
    folder = ground.folder / "repo" / ".windlass"
    folder.mkdir()
    (folder / "config.toml").write_text("max_agents = \n")
    done = ground.wl(*NEW, "x").failed(3)
    assert ".windlass/config.toml" in done.err
    (folder / "config.toml").write_text("max_agent = 3\n")
    assert "max_agents" in ground.wl(*NEW, "x").failed(3).err


def test_a_wrong_configuration_is_shown_with_what_is_wrong_and_mended(ground: Ground) -> None:
    file = ground.folder / "repo" / ".windlass" / "config.toml"
    file.parent.mkdir()
    file.write_text('drvier = "standin"\nmax_agents = "many"\n')
    listed = ground.wl("config", "list").failed(3)
    assert "max_agents" in listed.out
    assert f"{file}: unknown key 'drvier' (did you mean 'driver'?)" in listed.err
    assert f"{file}: max_agents" in listed.err
    got = ground.wl("config", "get", "driver", "--json").failed(3)
    assert got.json() == "claude"
    assert "still wrong" in ground.wl("config", "set", "model", "m").ok().out
    assert "drvier is gone" in ground.wl("config", "remove", "drvier").ok().out
    assert "still wrong" not in ground.wl("config", "set", "max_agents", "3").ok().out
    ground.wl("config", "list").ok()


@pytest.mark.parametrize(
    ("key", "value", "entry"),
    [
        ("permissions.worker.allow", "Bash(git", "[permissions.worker]\nallow"),
        ("box.domains", "http://foo/", "[box]\ndomains"),
    ],
)
def test_a_word_that_means_nothing_is_refused_and_named_where_it_stands(
    ground: Ground, key: str, value: str, entry: str
) -> None:
    file = ground.folder / "repo" / ".windlass" / "config.toml"
    refused = ground.wl("config", "add", key, value).failed(3)
    assert f"{key}: {value!r}" in refused.err
    assert "write it as in" in refused.err
    assert not file.exists()
    file.parent.mkdir()
    file.write_text(f"{entry} = ['{value}']\n")
    assert f"{file}: {key}: {value!r}" in ground.wl(*NEW, "x").failed(3).err
    doctor = ground.wl("doctor")
    assert doctor.code == 3
    assert doctor.out.count(f"{file}: {key}: {value!r}") == 1


@pytest.mark.parametrize("program", ["git", "tmux"])
def test_a_missing_or_old_program_is_named_with_what_to_install(
    ground: Ground, program: str
) -> None:
    tools = ground.folder / "bin"
    tools.mkdir()
    for name in ("git", "tmux", "sh", "bash", "env", "cat", "ps"):
        found = Path("/usr/bin") / name
        target = found if found.exists() else Path("/bin") / name
        (tools / name).symlink_to(target)
    (tools / program).unlink()
    env = {"PATH": str(tools)}
    done = ground.wl(*NEW, "--name", "a1", "x", env=env).failed(3)
    assert program in done.err
    assert "install" in done.err
    ground.wl("daemon", "stop", env=env).ok()
    old = tools / program
    old.write_text(f"#!/bin/sh\necho {program} version 1.8\n")
    old.chmod(0o755)
    assert "1.8" in ground.wl(*NEW, "--name", "a1", "x", env=env).failed(3).err
    ground.wl("daemon", "stop", env=env).ok()
    assert ground.agents() == []
    ground.wl(*NEW, "--name", "a1", "x").ok()


def _write(path: str, content: str) -> dict[str, object]:
    return {"tool": "Write", "input": {"file_path": path, "content": content}}


def _commit() -> dict[str, object]:
    return {"tool": "Bash", "input": {"command": "git add -A && git commit -qm work"}}


@pytest.mark.parametrize("how", ["--detach", "-b other"])
def test_commits_beside_the_agents_branch_are_not_silently_left_behind(
    ground: Ground, how: str
) -> None:
    workspace = ground.new("a1")
    ground.wait("a1")
    ground.git("checkout", "-q", *how.split(), cwd=workspace)
    ground.git("commit", "-q", "--allow-empty", "-m", "beside", cwd=workspace)
    assert "lacks" in ground.wl("merge", "a1", "--force").failed(1).err
    assert ground.wl("merge-check", "a1").code == 1
    assert ground.state_of("a1") == "complete"


def test_a_merge_check_sees_what_a_merge_would(ground: Ground) -> None:
    repo = ground.folder / "repo"
    ground.new("a1")
    ground.wait("a1")
    assert ground.wl("merge-check", "a1").code == 0
    (repo / "README").write_text("changed\n")
    assert ground.wl("merge-check", "a1").code == 1
    ground.git("checkout", "-q", "README")
    (repo / "notes").mkdir()
    (repo / "notes" / "a1.md").write_text("mine\n")
    assert ground.wl("merge-check", "a1").code == 1
    ground.wl("merge", "a1", "--force").failed(1)
    assert ground.state_of("a1") == "complete", "a refused merge stops nobody"


def test_a_command_in_a_linked_worktree_means_that_ones_branch(ground: Ground) -> None:
    side = ground.folder / "side"
    ground.git("worktree", "add", "-q", "-b", "side", str(side))
    ground.git("commit", "-q", "--allow-empty", "-m", "on the side", cwd=side)
    made = ground.wl(*NEW, "--name", "a1", "--json", "x", cwd=side).ok().json()
    assert "side" in made["base_from"]
    assert made["base"] == ground.git("rev-parse", "side").strip()
    ground.wl("wait", "a1", "--timeout", "60", cwd=side).ok()
    ground.wl("merge", "a1", "--force", cwd=side).ok()
    assert "Merge agent a1" in ground.git("log", "-1", "--format=%s", "side")
    assert ground.git("log", "--format=%s", "main") == "first\n"
