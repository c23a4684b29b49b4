"""`wl uninstall` takes out what Windlass put anywhere, loses nothing, and leaves plain git."""

from __future__ import annotations

import json

from tests.support.ground import Ground


def ended(ground: Ground) -> None:
    """An agent that has worked and was ended: its work is in the trash."""
    place = ground.new("api", flags=("--isolation", "hooks"))
    (place / "kept.txt").write_text("mine\n")
    ground.wl("kill", "api", "-y").ok()


def test_nothing_is_removed_while_an_agent_lives(ground: Ground) -> None:
    ground.new("api", flags=("--isolation", "hooks"))
    refused = ground.wl("uninstall", "-y").failed(1)
    assert "api lives" in refused.err
    assert "wl kill api" in refused.err
    assert (ground.state / "windlass.db").exists()
    ground.wl("info", "api").ok()
    ground.wl("kill", "api", "-y").ok()


def test_what_windlass_put_anywhere_is_gone_and_plain_git_goes_on(ground: Ground) -> None:
    """Branches and what is committed stay; so does salvaged work, and it is said where."""
    repo = ground.folder / "repo"
    before = ground.git("rev-parse", "main")
    (repo / "CLAUDE.md").write_text("# Mine\n")
    ended(ground)
    ground.wl("config", "set", "status_file", "true", "--global").ok()
    ground.wl("hooks", "install").ok()
    ground.wl("hooks", "install", "--user").ok()
    ground.wl("hooks", "install", "--instructions", "claude-md").ok()
    ground.wl("daemon", "install").ok()
    branches = ground.git("branch", "--format=%(refname)")
    refs = ground.git("for-each-ref", "--format=%(refname)", "refs/windlass/trash/").split()
    assert refs
    done = ground.wl("uninstall", "-y", "--json").ok().json()
    assert done["problems"] == []
    assert done["left"] == []
    assert not ground.state.exists()
    assert ground.living_daemon() is None
    assert (repo / "CLAUDE.md").read_text() == "# Mine\n"
    assert not (repo / ".windlass" / "STATUS.md").exists()
    for settings in (repo / ".claude/settings.local.json", ground.home / ".claude/settings.json"):
        assert not settings.exists() or "windlass" not in settings.read_text()
        assert not (settings.parent / "skills").exists()
    assert not list((ground.home / ".config").rglob("*windlass*"))
    assert not (repo / ".git" / "windlass").exists()
    assert not (repo / ".git" / "windlass-id").exists()
    assert ground.git("branch", "--format=%(refname)") == branches
    assert ground.git("rev-parse", "main") == before
    assert "kept.txt" in ground.git("ls-tree", "-r", "--name-only", refs[0])
    (repo / "more.txt").write_text("more\n")
    ground.git("add", "more.txt")
    ground.git("commit", "-q", "-m", "on")
    assert ground.git("fsck", "--no-dangling") == ""


def test_refs_go_only_where_that_is_said(ground: Ground) -> None:
    """With the question unanswered nothing goes at all."""
    ended(ground)
    ground.wl("uninstall").failed(2)
    assert (ground.state / "windlass.db").exists()
    said = ground.wl("uninstall", "-y", "--refs").ok().out
    assert "refs below refs/windlass/" in said
    assert ground.git("for-each-ref", "refs/windlass/") == ""


def test_what_is_not_ours_in_the_state_folder_stays(ground: Ground) -> None:
    """And who uninstalls once more has nothing to remove but what that began."""
    ground.wl("list").ok()
    (ground.state / "notes.txt").write_text("mine\n")
    done = ground.wl("uninstall", "-y", "--json").ok().json()
    assert done["left"] == [str(ground.state / "notes.txt")]
    assert [path.name for path in ground.state.iterdir()] == ["notes.txt"]
    again = json.loads(ground.wl("uninstall", "-y", "--json").ok().out)
    assert again["problems"] == []
