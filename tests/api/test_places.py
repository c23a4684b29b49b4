"""Where things are: short socket paths, private folders, one runtime folder per state folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from windlass.api import daemon_start, places
from windlass.core.errors import ConfigError


def test_the_state_folder_is_the_one_named_or_the_platforms(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WINDLASS_HOME", str(tmp_path / "here"))
    assert places.home() == str(tmp_path / "here")
    monkeypatch.delenv("WINDLASS_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert places.home() == str(tmp_path / "state" / "windlass")


def test_a_relative_state_folder_means_the_same_one_ever_after(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WINDLASS_HOME", "state")
    assert places.home() == str(tmp_path / "state")
    monkeypatch.chdir("/")
    assert places.home() == str(tmp_path / "state")
    assert os.environ["WINDLASS_HOME"] == str(tmp_path / "state")


def test_a_relative_folder_of_the_platform_is_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("WINDLASS_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert places.home() == str(tmp_path / ".local" / "state" / "windlass")


@pytest.mark.parametrize("letter", ["y", "ü"])
@pytest.mark.parametrize("length", [10, 60, 200, 1000])
def test_socket_paths_stay_short_whatever_the_folders_are_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, length: int, letter: str
) -> None:
    monkeypatch.setenv("WINDLASS_HOME", "/x" * (length // 2))
    deep = tmp_path / (letter * min(length, 100))
    deep.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(deep))
    assert len(os.fsencode(places.person_socket())) < 100


def test_two_state_folders_have_two_runtime_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    folders = []
    for home in ("/a", "/b", "/a"):
        monkeypatch.setenv("WINDLASS_HOME", home)
        folders.append(places.runtime())
    assert folders[0] != folders[1]
    assert folders[0] == folders[2]


def test_what_was_settled_holds_in_every_environment(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = places.runtime()
    assert first.startswith(str(short / "rt"))
    assert (short / "state" / "runtime").stat().st_mode & 0o777 == 0o600
    (short / "other").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short / "other"))
    assert places.runtime() == first
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setenv("TMPDIR", str(short / "other"))
    assert places.runtime() == first
    (short / "link").symlink_to(short / "state")
    monkeypatch.setenv("WINDLASS_HOME", str(short / "link"))
    assert places.runtime() == first


def test_asking_where_it_is_writes_nothing(short: Path) -> None:
    shutil.rmtree(short / "state")
    shutil.rmtree(short / "rt" / "windlass")
    assert places.runtime().startswith(str(short / "rt"))
    assert [path.name for path in short.rglob("*")] == ["rt"]


@pytest.mark.parametrize("damage", ["gone", "file", "link", "relative", "long", "binary", "empty"])
def test_a_remembered_folder_that_is_not_usable_is_decided_anew(
    short: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    first = Path(places.runtime())
    note = short / "state" / "runtime"
    (short / "other").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(short / "other"))
    said = {
        "relative": f"rt/windlass/{first.name}",
        "long": f"/{'x' * 90}/windlass/{first.name}",
        "binary": "\0\udcff",
        "empty": "",
    }
    if damage in said:
        note.write_bytes(os.fsencode(said[damage]))
    elif damage == "gone":
        shutil.rmtree(short / "rt")
    else:
        first.rmdir()
        first.touch() if damage == "file" else first.symlink_to(short)
    places.settle()
    assert places.runtime() == str(short / "other" / "windlass" / first.name)
    assert note.read_text().strip() == places.runtime()


def test_a_copied_state_folder_has_a_runtime_folder_of_its_own(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the two would end each other's daemons."""
    first = places.runtime()
    shutil.copytree(short / "state", short / "copy")
    monkeypatch.setenv("WINDLASS_HOME", str(short / "copy"))
    assert places.runtime() != first


def test_a_runtime_folder_of_another_user_is_passed_over(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`su` leaves root with the folder of the user before."""
    monkeypatch.setenv("WINDLASS_HOME", str(short / "fresh"))
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert not places.runtime().startswith(str(short / "rt"))


def test_a_private_folder_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "windlass" / "abc"
    places.make_private(str(folder))
    assert folder.stat().st_mode & 0o777 == 0o700
    assert folder.parent.stat().st_mode & 0o777 == 0o700


def test_a_runtime_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Somebody else's link in a shared temporary folder must not lead us elsewhere."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "windlass-1").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="not a folder of its own user"):
        places.make_private(str(tmp_path / "windlass-1" / "abc"))


@pytest.mark.parametrize("place", ["file", "file/below", "/proc/below", "/proc"])
def test_a_state_folder_that_cannot_be_one_is_named(
    short: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (short / "file").touch()
    monkeypatch.setenv("WINDLASS_HOME", str(short / place))
    with pytest.raises(ConfigError, match=f"{places.home()} cannot be the state folder") as caught:
        daemon_start.start()
    assert "WINDLASS_HOME" in caught.value.hint
    assert daemon_start.running() is None


def test_a_state_folder_on_a_read_only_disk_is_named(short: Path) -> None:
    """In a mount namespace of its own, because root may write wherever a mode forbids it."""
    code = "from windlass.api import daemon_start; daemon_start.start()"
    state = short / "state"
    line = f"mount -t tmpfs -o ro none {state} && exec {sys.executable} -c '{code}'"
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", line], capture_output=True, text=True, check=False
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("no mount namespaces here")
    last = done.stderr.strip().splitlines()[-1]
    assert f"ConfigError: {state} cannot be the state folder: Read-only file system" in last


def test_a_runtime_folder_that_cannot_be_made_is_named(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (short / "file").touch()
    with pytest.raises(ConfigError, match="cannot be the folder of sockets") as caught:
        places.make_private(str(short / "file" / "windlass" / "abc"))
    assert "XDG_RUNTIME_DIR" in caught.value.hint
    monkeypatch.setattr(places, "runtime", lambda: "/proc/windlass/abc")
    with pytest.raises(ConfigError, match="/proc/windlass/abc"):
        daemon_start.start()
