"""Each is the agent's own loss: the box is held, and the test that started it goes on."""

from __future__ import annotations

import os
import resource
import shlex
import subprocess
from pathlib import Path

import pytest
from tests.box.conftest import Ground, Stage, until

from windlass.box import groups, wrapper
from windlass.core.box_spec import Quota

MEBIBYTE = 1 << 20


def test_files_of_the_private_tmp_fit_its_size(ground: Ground) -> None:
    ground.show(quota=Quota(temp_size=4 * MEBIBYTE))
    code = """
import errno, os
for place in ("/tmp", "/dev/shm", "/run"):
    written = 0
    try:
        with open(place + "/fill", "wb", buffering=0) as file:
            for _ in range(64):
                written += file.write(b"x" * (1 << 20))
    except OSError as error:
        print(place, written >> 20, errno.errorcode[error.errno])
    os.unlink(place + "/fill")
"""
    said = ground.python(code).splitlines()
    assert said == ["/tmp 4 ENOSPC", "/dev/shm 4 ENOSPC", "/run 4 ENOSPC"]


def test_a_large_file_stops_at_its_limit(ground: Ground) -> None:
    ground.show(quota=Quota(file_size=MEBIBYTE))
    done = ground.run("/bin/sh", "-c", "head -c 9000000 /dev/zero >large; echo $?")
    assert done.stdout.strip() != "0"
    assert (ground.work / "large").stat().st_size == MEBIBYTE


def test_deleted_files_that_a_box_holds_open_are_seen_from_outside(stage: Stage) -> None:
    """Also of a process that has left its parent; not its memory."""
    code = """
import os, time
if os.fork():
    time.sleep(1000)
os.setsid()
if os.fork():
    os._exit(0)
for place, name in (("/tmp", "memory"), (os.getcwd(), "disk")):
    file = os.open(place + "/" + name, os.O_RDWR | os.O_CREAT)
    os.write(file, bytes(range(256)) * (3 << 12))
    os.unlink(place + "/" + name)
open("said", "w").write("held")
time.sleep(1000)
"""
    stage.python(code)
    until(lambda: stage.said() == "held")
    assert stage.sessions.nameless(stage.folder, on=[stage.ground.work]) == 3 * MEBIBYTE


@pytest.mark.parametrize("quota", [Quota(), Quota(open_files=1 << 29)])
def test_no_box_has_all_open_files_that_the_system_allows(ground: Ground, quota: Quota) -> None:
    """With all of them on their way through sockets, no tmux client of the person's would start."""
    ground.show(quota=quota)
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft_inside, hard_inside = map(int, ground.python(code).split())
    assert soft_inside == hard_inside == max(hard // 2, hard - 4096)


def test_open_files_are_counted(ground: Ground) -> None:
    ground.show(quota=Quota(open_files=64))
    code = """
import errno, os
held = []
try:
    while True:
        held.append(os.open("/dev/null", os.O_RDONLY))
except OSError as error:
    print(len(held), errno.errorcode[error.errno])
"""
    number, why = ground.python(code).split()
    assert 32 < int(number) < 64
    assert why == "EMFILE"


def test_a_limit_cannot_be_raised_again(ground: Ground) -> None:
    ground.show(quota=Quota(open_files=64, file_size=MEBIBYTE))
    done = ground.run(
        "/bin/sh", "-c", "ulimit -n 100 && echo raised; ulimit -f 100000 && echo raised; true"
    )
    assert done.stdout == ""


_BOMB = """
import errno, os, signal, sys
children, why = [], ""
while len(children) < 500:
    try:
        child = os.fork()
    except OSError as error:
        why = errno.errorcode[error.errno]
        break
    if child == 0:
        signal.pause()
    children.append(child)
print(len(children), why, flush=True)
for child in children:
    os.kill(child, signal.SIGKILL)
"""


def test_a_fork_bomb_stays_within_its_number(ground: Ground) -> None:
    ground.show(quota=Quota(processes=50))
    number, *why = ground.python(_BOMB).split()
    assert 30 < int(number) < 50
    assert why == ["EAGAIN"]


def test_without_a_limit_it_would_not(ground: Ground) -> None:
    assert ground.python(_BOMB).split() == ["500"]


_GREEDY = """
import subprocess, sys
code = "held = []\\nfor one in range(20): held.append(bytearray(16 << 20)); print(one, flush=True)"
done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True)
print(len(done.stdout.split()), done.returncode)
"""


def test_memory_of_the_whole_box_is_held(ground: Ground) -> None:
    if not groups.available().memory:
        pytest.skip(f"no memory limit for whole boxes here: {groups.available().why}")
    assert ground.python(_GREEDY).split() == ["20", "0"]
    ground.show(quota=Quota(memory=128 * MEBIBYTE))
    pieces, code = ground.python(_GREEDY).split()
    assert 1 < int(pieces) < 8
    assert code == "-9"


def _groups(lines: str) -> list[Path]:
    return [Path(shlex.split(line)[2]) for line in lines.splitlines() if line.startswith("[")]


def test_groups_are_removed_and_removing_them_again_is_fine(ground: Ground) -> None:
    made = _groups(groups.enter(ground.files, Quota(processes=10, memory=MEBIBYTE * 64)))
    assert all(group.is_dir() for group in made)
    assert groups.remove(ground.files)
    assert not any(group.exists() for group in made)
    assert groups.remove(ground.files)


def test_a_line_made_before_its_groups_were_removed_still_holds(ground: Ground) -> None:
    ground.show(quota=Quota(processes=50))
    program, needed = wrapper.interpreter()
    ground.show(readable=needed)
    line = wrapper.prefix(ground.boxing, folder=ground.files, env={})
    assert groups.remove(ground.files)
    done = subprocess.run(
        [*line, program, "-I", "-c", _BOMB], env={}, capture_output=True, text=True, check=True
    )
    assert 30 < int(done.stdout.split()[0]) < 50


def test_groups_that_nobody_removed_are_swept_up_later(
    ground: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = _groups(groups.enter(ground.files, Quota(processes=10)))
    monkeypatch.setattr(groups, "_swept", [-1e9])
    groups.sweep()
    assert all(group.is_dir() for group in made), "it may be about to be entered"
    for group in made:
        os.utime(group, (0, 0))
    monkeypatch.setattr(groups, "_swept", [-1e9])
    groups.sweep()
    assert not any(group.exists() for group in made)
