"""`wl hooks`: settings files of people, and what the hooks in them do for a session."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.ground import Done, Ground, grounded, until
from tests.support.settings_files import EVENTS, settings_file

from windlass.core.person import own_skill
from windlass.core.person.marked_block import BEGIN, END
from windlass.daemon.person.primary_hooks import instructions, instructions_without_hooks

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def shared() -> Iterator[Ground]:
    """One repository and one daemon for all that only changes files."""
    with grounded() as made:
        made.unbox()
        yield made


class Files:
    """The files that `wl hooks` may touch, none of which is there yet."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.repo = ground.folder / "repo"
        self.project = self.repo / ".claude" / "settings.local.json"
        self.user = ground.home / ".claude" / "settings.json"
        for folder in (self.project.parent, self.user.parent):
            _remove(folder)
        for name in ("CLAUDE.md", "AGENTS.md"):
            _remove(self.repo / name)

    def wl(self, *args: str, **how: Any) -> Done:
        """Runs `wl hooks`."""
        return self.ground.wl("hooks", *args, **how)

    def put(self, path: Path, held: bytes) -> None:
        """Writes a file."""
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(held)

    def status(self) -> dict[str, dict[str, Any]]:
        """What is where, by place."""
        return {one["where"]: one for one in self.wl("status", "--json").ok().json()}


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@pytest.fixture
def files(shared: Ground) -> Files:
    """They are looked at and changed by the one daemon."""
    return Files(shared)


@pytest.mark.parametrize("seed", range(20))
def test_install_then_uninstall_leaves_a_settings_file_as_it_was(files: Files, seed: int) -> None:
    where, path = (("--user", files.user), ("--project", files.project))[seed % 2]
    held = settings_file(seed)
    files.put(path, held)
    path.chmod(0o640)
    files.wl("install", where).ok()
    merged = json.loads(path.read_text(encoding="utf-8-sig"))
    assert all("windlass-hook" in str(merged["hooks"][event][-1]) for event in EVENTS)
    files.wl("uninstall", where).ok()
    assert path.read_bytes() == held
    assert path.stat().st_mode & 0o777 == 0o640
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_what_was_made_goes_again_and_what_was_there_stays(files: Files) -> None:
    files.wl("install").ok()
    assert files.project.is_file()
    once = files.project.read_bytes()
    again = files.wl("install", "--json").ok().json()
    assert again == {"files": [{"path": str(files.project), "changed": False}]}
    assert files.project.read_bytes() == once
    assert files.ground.git("status", "--porcelain", "-uno") == ""
    files.wl("uninstall").ok()
    assert not files.project.parent.exists()
    files.project.parent.mkdir()
    files.wl("install").ok()
    files.wl("uninstall").ok()
    assert list(files.project.parent.iterdir()) == []
    assert "unchanged" in files.wl("uninstall").ok().out


@pytest.mark.parametrize("where", ["--project", "--user"])
def test_the_skill_for_boards_comes_and_goes_with_them(files: Files, where: str) -> None:
    settings = files.user if where == "--user" else files.project
    skill = settings.parent / "skills" / "kanban" / "SKILL.md"
    assert str(skill) in files.wl("install", where).ok().out
    assert "## TASKS" in skill.read_text()
    skill.write_text(own_skill.sealed("of an older version"))
    name = where.removeprefix("--")
    assert not files.status()[name]["current"]
    files.wl("install", where).ok()
    assert files.status()[name]["current"]
    files.wl("uninstall", where).ok()
    assert not settings.parent.exists()


def test_a_skill_of_the_persons_own_stays_and_that_is_said(files: Files) -> None:
    skill = files.project.parent / "skills" / "kanban" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine")
    said = files.wl("install").ok()
    assert "it is there already, and your own" in said.err
    assert files.status()["project"]["current"]
    files.wl("uninstall").ok()
    assert skill.read_text() == "mine"
    shutil.rmtree(files.project.parent / "skills")
    elsewhere = files.repo.parent / "skills"
    elsewhere.mkdir()
    (files.project.parent / "skills").symlink_to(elsewhere)
    assert "links are not followed" in files.wl("install").ok().err
    files.wl("uninstall").ok()
    assert [*elsewhere.iterdir()] == []


def test_other_changes_made_meanwhile_stay(files: Files) -> None:
    files.put(files.project, b'{\n  "model": "x"\n}\n')
    files.wl("install").ok()
    changed = files.project.read_text().replace('"x"', '"y",\n  "new": [1]')
    files.project.write_text(changed)
    files.wl("uninstall").ok()
    assert files.project.read_text() == '{\n  "model": "y",\n  "new": [1]\n}\n'


def test_the_status_says_where_they_are_and_whether_they_are_ours_of_today(files: Files) -> None:
    assert not any(one["installed"] for one in files.status().values())
    files.wl("install").ok()
    files.put(files.user, b"{")
    found = files.status()
    assert set(found) == {"project", "user", "claude-md", "agents-md"}
    assert found["project"]["current"]
    assert found["project"]["events"] == list(EVENTS)
    assert "not JSON" in found["user"]["problem"]
    moved = files.project.read_text().replace(
        "primary.py windlass-hook", "old/primary.py windlass-hook"
    )
    files.project.write_text(moved)
    one = files.status()["project"]
    assert (one["installed"], one["current"]) == (True, False)
    assert "wl hooks install puts it right" in files.wl("status").ok().out
    files.wl("install").ok()
    assert files.status()["project"]["current"]
    assert "old/primary.py" not in files.project.read_text()
    files.project.write_text(moved)
    files.wl("uninstall").ok()
    assert not files.project.exists()


def test_each_place_is_told_with_the_command_that_undoes_or_mends_it(files: Files) -> None:
    assert "; wl hooks uninstall undoes it" in files.wl("install").ok().out
    assert "; wl hooks uninstall --user undoes it" in files.wl("install", "--user").ok().out
    both = files.wl("install", "--user", "--instructions", "agents-md").ok().out
    assert "; wl hooks uninstall --user and wl hooks uninstall undo it" in both
    for path, ours in ((files.user, "primary.py windlass"), (files.repo / "AGENTS.md", "wl list")):
        path.write_text(path.read_text().replace(ours, f"old/{ours}"))
    shown = files.wl("status").ok().out
    assert "wl hooks install --user puts it right" in shown
    assert "wl hooks install --instructions agents-md puts it right" in shown
    files.wl("uninstall", "--user").ok()
    files.wl("uninstall").ok()
    assert not any(one["installed"] for one in files.status().values())


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (b"{", "not JSON"),
        (b"", "it is empty"),
        (b"\xff{}", "not UTF-8"),
        (b'{"hooks": []}', "is no object"),
        (b'{"hooks": {"Stop": {}}}', "which is no list"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_and_not_touched(
    files: Files, held: bytes, why: str
) -> None:
    files.put(files.project, held)
    assert why in files.wl("install").failed(3).err
    assert files.project.read_bytes() == held
    assert len(list(files.project.parent.iterdir())) == 1


def test_links_and_what_is_read_only_are_refused_and_not_touched(files: Files) -> None:
    target = files.repo.parent / "elsewhere.json"
    target.write_bytes(b"{}")
    files.project.parent.mkdir()
    files.project.symlink_to(target)
    assert "symbolic link" in files.wl("install").failed(3).err
    assert "symbolic link" in files.wl("uninstall").failed(3).err
    assert "symbolic link" in files.status()["project"]["problem"]
    files.project.unlink()
    files.put(files.project, b"{}")
    files.project.chmod(0o444)
    assert "read-only" in files.wl("install").failed(3).err
    files.wl("uninstall").ok()  # nothing to take out
    assert files.project.read_bytes() == target.read_bytes() == b"{}"
    shutil.rmtree(files.project.parent)
    folder = files.repo.parent / "folder"
    folder.mkdir()
    files.project.parent.symlink_to(folder)
    assert "symbolic link" in files.wl("install").failed(3).err
    assert list(folder.iterdir()) == []


def test_the_callers_own_configuration_folder_is_meant(files: Files) -> None:
    other = files.ground.folder / "claude config"
    other.mkdir()
    files.wl("install", "--user", env={"CLAUDE_CONFIG_DIR": str(other)}).ok()
    assert (other / "settings.json").is_file()
    assert not files.user.parent.exists()
    files.wl("uninstall", "--user", env={"CLAUDE_CONFIG_DIR": str(other)}).ok()
    assert list(other.iterdir()) == []


def test_outside_of_a_repository_only_ones_own_settings_can_be_meant(files: Files) -> None:
    here = files.ground.folder
    for verb in ("install", "uninstall"):
        said = files.wl(verb, cwd=here).failed(2).err
        assert "not in a git repository" in said
        assert "--user" in said
    files.wl("install", "--user", cwd=here).ok()
    assert [one["where"] for one in files.wl("status", "--json", cwd=here).ok().json()] == ["user"]
    files.wl("uninstall", "--user", cwd=here).ok()
    assert not files.user.parent.exists()


@pytest.mark.parametrize(("name", "file"), [("claude-md", "CLAUDE.md"), ("agents-md", "AGENTS.md")])
def test_instructions_go_into_a_block_and_out_again(files: Files, name: str, file: str) -> None:
    path = files.repo / file
    held = "# Mine\r\n\r\nrules ü".encode()
    path.write_bytes(held)
    deep = files.repo / "deep"
    deep.mkdir(exist_ok=True)
    files.wl("install", "--instructions", name, cwd=deep).ok()
    assert not files.project.exists()
    text = path.read_bytes().decode()
    block = text[len(held.decode()) :].replace("\r\n", "\n")
    whole = f"\n{BEGIN}\n<windlass>\n{instructions_without_hooks().strip()}\n</windlass>\n{END}\n"
    assert block == whole
    assert files.status()[name]["current"]
    path.write_bytes(text.replace("wl listen", "wl lasten").encode())
    assert not files.status()[name]["current"]
    files.wl("install", "--project", "--instructions", name).ok()
    assert path.read_bytes().decode() == text
    assert files.project.exists()
    files.wl("uninstall").ok()
    assert path.read_bytes() == held
    assert not files.project.exists()


def test_a_link_from_one_file_of_instructions_to_the_other_keeps_nobody_from_uninstalling(
    files: Files,
) -> None:
    (files.repo / "AGENTS.md").symlink_to("CLAUDE.md")
    assert "symbolic link" in files.wl("install", "--instructions", "agents-md").failed(3).err
    files.wl("install", "--instructions", "claude-md").ok()
    files.wl("uninstall").ok()
    assert not (files.repo / "CLAUDE.md").exists()


class Session:
    """A session of the person's, as far as its hooks can tell."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._repo = ground.folder / "repo"
        settings = self._repo / ".claude" / "settings.local.json"
        self._hooks = json.loads(settings.read_text())["hooks"]

    def fire(self, event: str, **more: Any) -> str:
        """Runs the hook of an event to its end; returns the context that it adds."""
        started = self.start(event, number=0, **more)
        out, err = started.communicate(timeout=20)
        assert (started.returncode, err) == (0, "")
        return str(json.loads(out)["hookSpecificOutput"]["additionalContext"]) if out else ""

    def start(self, event: str, *, number: int, **more: Any) -> subprocess.Popen[str]:
        """Starts one of an event's hooks, as the CLI does."""
        (group,) = self._hooks[event]
        started = subprocess.Popen(
            ["/bin/sh", "-c", group["hooks"][number]["command"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._repo,
            env=self._ground.env,
            text=True,
        )
        told = {"hook_event_name": event, "session_id": "s1", "cwd": str(self._repo), **more}
        assert started.stdin is not None
        started.stdin.write(json.dumps(told))
        started.stdin.close()
        started.stdin = None
        return started


def test_a_session_is_told_of_the_crew_reminded_and_woken(unboxed: Ground) -> None:
    unboxed.wl("hooks", "install").ok()
    session = Session(unboxed)
    start = session.fire("SessionStart", source="startup")
    assert start.startswith(instructions())
    assert "No agents are at work" in start
    asking = {"tool": "Bash", "input": {"command": "wl ask 'which port?'"}}
    unboxed.new("api", asking, {"text": "WAITING"})
    unboxed.wait("api", states="waiting")
    told = session.fire("UserPromptSubmit", prompt="hello")
    assert "  api: waiting" in told
    assert "api asks" in told
    assert "which port?" in told
    assert "No listener is armed" in session.fire("PostToolUse", tool_name="Bash")
    # What has come up so far wakes it at once; the next waits.
    waiting = session.start("SessionStart", number=1)
    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 2
    assert err.startswith("[windlass] News of your crew:\n{")
    waiting = session.start("Stop", number=0)
    until(lambda: "No listener" not in session.fire("PostToolUse", tool_name="Bash"))
    assert waiting.poll() is None
    unboxed.wl("notify", "--type", "complete", "all done").ok()
    _, err = waiting.communicate(timeout=20)
    assert waiting.returncode == 2
    assert json.loads(err.splitlines()[1])["msg"] == "all done"
    assert "No messages" in unboxed.wl("listen", "--timeout", "0.1").ok().out
