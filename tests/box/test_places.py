from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.box.conftest import Ground, Stage, until

from windlass.box import wrapper
from windlass.core.box_spec import BoxSpec
from windlass.core.errors import ConfigError, Denied

_WALK = """
import os, sys
for top, folders, files in os.walk("/"):
    if top == "/":
        folders[:] = [one for one in folders if one not in ("proc", "usr", "dev")]
    for name in files:
        print(os.path.join(top, name))
"""


def test_nothing_is_seen_but_the_system_and_what_is_shown(ground: Ground) -> None:
    (ground.folder / "secret").write_text("no\n")
    (ground.work / "own").write_text("yes\n")
    seen = ground.python(_WALK).splitlines()
    _, python = wrapper.interpreter()
    allowed = (str(ground.work), "/etc/", "/sys/devices/system/cpu/", *python)
    allowed = (*allowed, str(Path(wrapper.__file__).parent))
    ours = set(map(str, ground.files.glob("*.json")))
    strange = [path for path in seen if not path.startswith(allowed) and path not in ours]
    assert strange == []
    assert str(ground.work / "own") in seen


def test_no_keys_or_passwords_of_the_machine_are_seen(ground: Ground) -> None:
    said = ground.run(
        "/bin/sh", "-c", "ls -a /etc /etc/ssl /home /root /var /boot /srv /mnt 2>&1"
    ).stdout
    for name in ("shadow", "gshadow", "ssh", "sudoers", "private", "machine-id"):
        assert name not in said.split()
    assert "passwd" in said.split()


def test_nothing_can_be_written_outside_the_places_given(ground: Ground) -> None:
    code = """
import os
for top, folders, _ in os.walk("/"):
    if top == "/":
        folders[:] = [one for one in folders if one not in ("proc", "sys")]
    if top.count("/") > 3:
        folders[:] = []
    try:
        os.close(os.open(top + "/planted", os.O_CREAT | os.O_WRONLY))
        print(top)
    except OSError:
        pass
"""
    written = set(ground.python(code).splitlines())
    ours = str(ground.folder)
    own = {place for place in written if place.startswith(f"{ours}/") or place == ours}
    assert str(ground.work) in own
    # What lies around it in the private /tmp is nobody else's, if it looks like one of our folders.
    private = {place for place in written - own if place.startswith("/tmp/")}
    assert written - own - private == {"/tmp", "/run", "/dev/shm"}
    assert not [place for place in written - own if (Path(place) / "planted").exists()]
    assert sorted(path.name for path in ground.folder.iterdir()) == ["box", "s", "work"]


def test_a_file_of_ours_covers_one_in_a_folder_of_the_box_which_cannot_exchange_it(
    ground: Ground,
) -> None:
    ours, covered = ground.folder / "ours", ground.work / "covered"
    ours.write_text("ours\n")
    covered.write_text("theirs\n")
    ground.show(covers=((str(ours), str(covered)),))
    code = f"""
import os
print(open({str(covered)!r}).read(), end="")
for what in (
    lambda: open({str(covered)!r}, "w"),
    lambda: os.unlink({str(covered)!r}),
    lambda: os.rename({str(covered)!r}, {str(covered)!r} + "2"),
    lambda: os.rename(__file__, {str(covered)!r}),
    lambda: os.symlink("/etc/passwd", {str(covered)!r}),
):
    try:
        what()
        print("done")
    except Exception:
        print("refused")
print(os.path.exists({str(ours)!r}))
"""
    said = ground.python(code).splitlines()
    assert said == ["ours", *["refused"] * 5, "False"]
    assert covered.read_text() == "theirs\n"
    covered.unlink()
    covered.symlink_to("/etc/passwd")
    with pytest.raises(Denied, match="symbolic link"):
        ground.python(code)


def test_the_kernels_switches_cannot_be_turned(ground: Ground) -> None:
    """For root they could, with bubblewrap's own /proc: `core_pattern` runs programs outside."""
    code = """
import os
for top, folders, files in os.walk("/proc"):
    if top == "/proc":
        folders[:] = [one for one in folders if not one.isdigit() and "self" not in one]
    for name in files:
        try:
            os.close(os.open(top + "/" + name, os.O_WRONLY | os.O_NONBLOCK))
            print(top + "/" + name)
        except OSError:
            pass
"""
    assert ground.python(code) == ""


def test_a_box_has_no_capability_and_sees_no_other_process(ground: Ground) -> None:
    code = """
import os
print([line.split()[1] for line in open("/proc/self/status") if line.startswith("Cap")])
print(sorted(int(one) for one in os.listdir("/proc") if one.isdigit()))
print(os.uname().nodename, sorted(os.listdir("/proc/self/fd"))[:-1])
print(open("/proc/1/comm").read().strip(), os.getpid())
"""
    capabilities, processes, rest, names = ground.python(code).splitlines()
    assert capabilities == str(["0" * 16] * 5)
    assert processes == "[1, 2]"
    assert rest == "windlass-box ['0', '1', '2']"
    # Sessions look for their program behind what is called so.
    assert names == "bwrap 2"


def test_the_environment_is_exactly_the_one_given(ground: Ground) -> None:
    env = {"PATH": "/usr/bin", "A": "1", "ODD": "a\nb=c \udcff", "LD_PRELOAD": ""}
    done = ground.run("/usr/bin/env", "-0", env=env)
    pairs = dict(pair.split("=", 1) for pair in done.stdout.rstrip("\0").split("\0"))
    assert pairs == env


def test_without_a_given_environment_it_is_the_callers(ground: Ground) -> None:
    line = wrapper.prefix(ground.boxing, folder=ground.files)
    done = subprocess.run(
        [*line, "/usr/bin/env"],
        env={"A": "1", "B": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert sorted(done.stdout.splitlines()) == ["A=1", "B=2"]


@pytest.mark.slow
def test_a_session_has_its_environment_its_secrets_and_no_more(
    stage: Stage, ground: Ground
) -> None:
    (ground.folder / "token").write_text("hidden\n")
    stage.start(
        "/bin/sh", "-c", "/usr/bin/env >said.new; mv said.new said",
        mode="headless", env={"A": "1"}, secrets={"TOKEN": str(ground.folder / "token")},
    )  # fmt: skip
    assert stage.ended().exit_code == 0
    pairs = dict(line.split("=", 1) for line in stage.said().splitlines())
    proxied = {name for name in pairs if name.upper() in {"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"}}
    assert len(proxied) == 6
    own = {"PATH", "A", "TOKEN", "WINDLASS_SESSION", "NODE_USE_ENV_PROXY", "PWD"}
    assert set(pairs) - proxied <= own
    assert pairs["TOKEN"] == "hidden"  # noqa: S105 - it is none
    for path in ground.folder.rglob("*"):
        if path.is_file() and path.name not in {"token", "said"}:
            assert b"hidden" not in path.read_bytes(), path


@pytest.mark.slow
def test_a_library_to_load_first_is_not_loaded_into_what_makes_the_box(stage: Stage) -> None:
    """It might be one that the agent has written."""
    stage.start("/bin/sh", "-c", "true", mode="headless", env={"LD_PRELOAD": "/planted.so"})
    stage.ended()
    said = (stage.folder / "stderr").read_text()
    assert said.count("/planted.so") == 1
    until(lambda: not stage.facts.alive)


def test_a_deeper_place_wins_and_read_only_beats_writable(ground: Ground) -> None:
    for name in ("ro", "ro/rw", "both"):
        (ground.work / name).mkdir()
    place = str(ground.work)
    ground.show(
        writable=(f"{place}/both", f"{place}/ro/rw", place),
        readable=(f"{place}/ro", f"{place}/both"),
    )
    done = ground.run(
        "/bin/sh", "-c", "touch here ro/no ro/rw/yes both/no; ls -d here ro/* ro/rw/* both/*"
    )
    assert done.stdout.split() == ["here", "ro/rw", "ro/rw/yes"]


def test_a_link_is_never_made_writable(ground: Ground) -> None:
    (ground.folder / "link").symlink_to("/root")
    ground.show(writable=(str(ground.folder / "link"),))
    with pytest.raises(Denied, match="symbolic link"):
        ground.run("/bin/true")


def test_a_link_that_an_agent_planted_is_not_followed_to_what_is_shown(ground: Ground) -> None:
    """A folder inside the workspace is shown read-only, and the agent has put a link there."""
    (ground.work / "conf").symlink_to("/root")
    ground.show(readable=(f"{ground.work}/conf/.ssh", f"{ground.work}/conf"))
    with pytest.raises(Denied, match="which the agent can write to"):
        ground.run("/bin/true")


def test_a_place_to_write_to_has_to_exist(ground: Ground) -> None:
    ground.show(writable=(str(ground.folder / "none"),))
    with pytest.raises(ConfigError, match="No such file"):
        ground.run("/bin/true")


@pytest.mark.parametrize("place", ["/", "/etc", "/proc", "/tmp", "/run", "//", "/usr/.."])
def test_whole_parts_of_the_machine_are_not_shown(ground: Ground, place: str) -> None:
    ground.show(readable=(place,))
    with pytest.raises(Denied):
        ground.run("/bin/true")


@pytest.mark.parametrize("below", ["", "..", "x/.."])
def test_a_home_is_not_shown(ground: Ground, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    home = ground.folder / "homes" / "me"
    (home / "x").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    ground.show(readable=(str(home / below),))
    with pytest.raises(Denied, match="home"):
        ground.run("/bin/true")
    ground.show(readable=(str(home / "x"),))
    assert ground.run("/bin/true").returncode == 0


def test_what_leaks_in_from_outside_is_closed(ground: Ground) -> None:
    """A folder that is open can be walked out of; the box's first process must have none either."""
    opened = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    try:
        line = wrapper.prefix(ground.boxing, folder=ground.files, env={"PATH": "/usr/bin"})
        done = subprocess.run(
            [*line, "/bin/sh", "-c", "ls /proc/1/fd /proc/self/fd; readlink /proc/1/fd/*"],
            env={}, pass_fds=(opened,), capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    finally:
        os.close(opened)
    assert set(done.stdout.split()) & set(map(str, range(4, 1000))) == set(), done.stdout
    assert "/" not in done.stdout.split()


def test_what_is_not_there_is_left_out(ground: Ground) -> None:
    ground.show(readable=(str(ground.folder / "none"), "/usr/bin", "/usr"))
    assert ground.run("/bin/true").returncode == 0


def test_calls_that_differ_do_not_disturb_each_other(ground: Ground) -> None:
    one = wrapper.prefix(ground.boxing, folder=ground.files, env={"A": "1"})
    two = wrapper.prefix(ground.boxing, folder=ground.files, env={"A": "2"})
    again = wrapper.prefix(ground.boxing, folder=ground.files, env={"A": "1"})
    assert one == again
    assert one != two
    assert {path.stat().st_mode & 0o777 for path in ground.files.iterdir()} == {0o600}


def test_git_works_in_a_box(ground: Ground) -> None:
    line = (
        "git init -q . && git config user.name a && git config user.email a@b && echo 1 >f"
        " && git add f && git commit -qm one && echo 2 >>f && git stash -q && git stash pop -q"
        " && git tag t && git log --oneline"
    )
    env = {"PATH": "/usr/bin:/bin", "HOME": str(ground.work)}
    done = ground.run("/bin/sh", "-c", line, env=env)
    assert done.returncode == 0, done.stderr
    assert "one" in done.stdout


def test_a_shell_can_use_pipes_fifos_and_terminals_of_its_own(ground: Ground) -> None:
    code = """
import os, pty, tempfile, multiprocessing
folder = tempfile.mkdtemp()
os.mkfifo(folder + "/f")
parent, child = pty.openpty()
os.write(child, b"x")
print(os.read(parent, 1), os.path.exists("/dev/shm"))
"""
    assert ground.python(code).strip() == "b'x' True"


def test_the_boxes_files_say_what_they_are(ground: Ground) -> None:
    """One that starts a box by hand, to look into it, finds everything in these three."""
    ground.run("/bin/true")
    (arguments,) = ground.files.glob("*.args")
    words = arguments.read_bytes().split(b"\0")
    assert b"--die-with-parent" in words
    assert b"--new-session" not in words
    (told,) = ground.files.glob("*.json")
    assert json.loads(told.read_text())["limits"].keys() == {"RLIMIT_CORE", "RLIMIT_NOFILE"}


def test_relative_places_are_refused() -> None:
    boxing = BoxSpec(readable=(os.path.relpath(sys.prefix),))
    with pytest.raises(ConfigError, match="absolute"):
        wrapper.prefix(boxing, folder=Path("/tmp/never-made"))
