"""Gates that do whatever they like, and trees with odd things in them: nothing of it is green.

Nor does anything outlive a run or reach what is outside of it. One ground for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GateGround
from tests.support.contexts import lent
from tests.support.small_disk import ONLY_ROOT, mounted

from windlass.box import groups
from windlass.daemon.gate.places import GatePlaces
from windlass.daemon.kernel.clock import SystemClock

LONG = f"sleep {100_000 + os.getpid()}"
"""No other process of this machine says that. Stands for @LONG below: every worker of the tests has
to know them by the same names."""
LIMITS = "[box]\nmemory_mb = 128\nprocesses = 200\n"
NEEDS = 'import socket; socket.getaddrinfo("pypi.invalid", 443)'
EATS = "held = [bytearray(b'x' * (8 << 20)) for _ in range(64)]; print(len(held))"
FORKS = """
import os, sys, time
try:
    for _ in range(1000):
        if not os.fork():
            os.setsid()
            time.sleep(1000)
except OSError as error:
    sys.exit(str(error))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GateGround]:
    """A repository with a gate that calls a script of the tree."""
    with lent(SystemClock()) as context:
        (context.folders.home / "config.toml").write_text(LIMITS)
        yield gate_ground.make(context, tmp_path_factory.mktemp("g") / "shop", dict(CODE))


def prove(
    ground: GateGround, script: str, *more: str, files: Mapping[str, str] = {}
) -> dict[str, Any]:
    """Runs a script as the gate of main; what the check came to, with all that it said."""
    lines = ["[[gate.check]]", 'name = "c"', 'run = "sh ./gate.sh"', *more]
    files = {**files, "gate.sh": script, ".windlass/config.toml": "\n".join(lines)}
    ground.commit(dict(files))
    (check,) = ground.prove()["checks"]
    said = Path(check["log"]).read_text(errors="replace") if check["log"] else ""
    return {**check, "said": said}


def left_running(mark: str) -> list[str]:
    """Processes with these words among their arguments."""
    lines = (
        " ".join(process.info["cmdline"] or ()) for process in psutil.process_iter(["cmdline"])
    )
    return [line for line in lines if mark in line]


@pytest.mark.parametrize(
    ("script", "more", "outcome", "why"),
    [
        (
            "trap '' TERM HUP; while :; do sleep 1; done",
            "timeout = 0.5",
            "could-not-run",
            "longer",
        ),
        ("exec 2>&1; setsid sh -c '@LONG' & exit 0", "", "ran-nothing", "nothing says"),
        ("kill -9 $PPID; exit 0", "", "could-not-run", "killed"),
        ("kill -9 -1; exit 0", "", "could-not-run", "killed"),
        ("kill -9 0", "", "could-not-run", "killed"),
        ('cd /; rm -rf "$OLDPWD"/* "$OLDPWD"/.??*; exit 0', "", "ran-nothing", "nothing says"),
        (f"python3 -c '{NEEDS}'", "", "failed", "it has no network: gate.network"),
        ("echo 'OSError: No space left on device'; exit 1", "", "could-not-run", "no room"),
        ("./missing", "", "could-not-run", "a command is missing"),
    ],
)
def test_what_a_gate_does_to_itself_is_never_green(
    shared: GateGround, script: str, more: str, outcome: str, why: str
) -> None:
    """Each in one line with its reason, and nothing of it runs on or stays."""
    done = prove(shared, script.replace("@LONG", LONG), more)
    assert (done["outcome"], why in done["why"]) == (outcome, True), done
    assert left_running(LONG) == []
    places = GatePlaces(shared.context.folders.home, shared.proofs_repo)
    assert list(places.runs.iterdir()) == []


def test_after_all_of_that_a_good_tree_is_green(shared: GateGround) -> None:
    """The pooled tree and the daemon are as they were."""
    assert prove(shared, "python3 -m unittest -v")["outcome"] == "passed"


def test_a_gate_that_forks_without_an_end_comes_to_its_limit(shared: GateGround) -> None:
    """And all of them are gone with it."""
    if not groups.available().processes:
        pytest.skip("this machine limits no group of processes")
    done = prove(shared, f"exec python3 -c '{FORKS}' {LONG}", 'tests = "none"')
    assert (done["outcome"], "unavailable" in done["said"]) == ("failed", True), done
    assert left_running(LONG) == []


def test_a_gate_that_takes_all_memory_is_ended_and_could_not_run(shared: GateGround) -> None:
    """It says nothing about the tree."""
    if not groups.available().memory:
        pytest.skip("this machine limits no group's memory")
    done = prove(shared, f'python3 -c "{EATS}"', 'tests = "none"')
    assert (done["outcome"], "memory" in done["why"]) == ("could-not-run", True), done


def test_a_gate_writes_nothing_outside_of_its_own_room(shared: GateGround) -> None:
    """Neither where the person's things are, nor in the system."""
    home = shared.context.folders.home
    targets = [shared.root, home, home / "gates", Path("/usr"), Path("/windlass"), Path("/var")]
    lines = [f"touch {target}/planted-by-a-gate 2>&1" for target in targets]
    done = prove(shared, "\n".join([*lines, "exit 0"]), 'tests = "none"')
    assert done["outcome"] == "passed"
    assert not [target for target in targets if (target / "planted-by-a-gate").exists()]


def test_the_parts_of_a_tree_that_git_fills_elsewhere_are_as_the_tree_has_them(
    shared: GateGround,
) -> None:
    """A submodule is an empty folder, an LFS pointer its text: no filter and no fetch."""
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    (shared.root / "data.bin").write_text(pointer)
    (shared.root / ".gitattributes").write_text("*.bin filter=lfs diff=lfs merge=lfs -text\n")
    module = f'[submodule "m"]\n\tpath = m\n\turl = {shared.root}\n'
    (shared.root / ".gitmodules").write_text(module)
    link = f"160000,{shared.git('rev-parse', 'HEAD')},m"
    shared.git("update-index", "--add", "--cacheinfo", link)
    shared.git("add", ".gitattributes", ".gitmodules", "data.bin")
    shared.git("commit", "-q", "-m", "parts of elsewhere")
    (shared.root / "m").mkdir()
    check = "cat data.bin; ls -d m; ls m; git status --porcelain; exit 0"
    done = prove(shared, check, 'tests = "none"')
    assert done["outcome"] == "passed"
    assert done["said"] == f"{pointer}m\n"
    shared.git("rm", "-q", "-f", ".gitmodules", ".gitattributes", "data.bin")
    shared.git("rm", "-q", "--cached", "m")


@pytest.mark.parametrize(
    ("setup", "why"),
    [
        ("mkdir deps; echo half >deps/half; exit 3", "gate.setup ended with 3"),
        ("mkdir deps; kill -9 $$", "gate.setup ended with 137"),
        ("mkdir deps; (setsid @LONG &) ; exit 1", "gate.setup ended with 1"),
    ],
)
def test_a_setup_that_fails_half_way_leaves_nothing_and_is_run_again(
    shared: GateGround, setup: str, why: str
) -> None:
    """What it had made by then is no layer."""
    setup = setup.replace("@LONG", LONG)
    config = f'[gate]\nsetup = "{setup}"\nsetup_network = false\ndeps = ["deps"]\n'
    config += '[[gate.check]]\nname = "c"\nrun = "true"\ntests = "none"\n'
    shared.commit({".windlass/config.toml": config})
    for _ in range(2):
        done = shared.prove()
        assert (done["outcome"], done["checks"][0]["why"]) == ("could-not-run", why)
    places = GatePlaces(shared.context.folders.home, shared.proofs_repo)
    assert [path.name for path in places.layers.glob("*")] == []
    assert left_running(LONG) == []


def test_a_lock_file_that_points_elsewhere_finds_no_network(shared: GateGround) -> None:
    """A change's own dependencies reach what the target's gate names, and it names nothing."""
    look = 'python3 -c "import socket; print([n for _, n in socket.if_nameindex()])" >deps/seen'
    config = "[gate]\nsetup = 'mkdir -p deps; cp lock.txt deps; sh ./look.sh'\n"
    config += 'deps = ["deps"]\ninputs = ["lock.txt"]\n'
    config += '[[gate.check]]\nname = "c"\nrun = "cat deps/lock.txt deps/seen"\ntests = "none"\n'
    shared.commit({".windlass/config.toml": config, "lock.txt": "good\n", "look.sh": look})
    shared.commit({"lock.txt": "https://elsewhere.invalid/\n"}, branch="sly")
    (check,) = shared.prove("sly")["checks"]
    assert Path(check["log"]).read_text() == "https://elsewhere.invalid/\n['lo']\n"


@ONLY_ROOT
def test_on_a_full_disk_it_could_not_run_and_goes_on_once_there_is_room(
    shared: GateGround,
) -> None:
    """What a run writes is of the disk that it is kept on."""
    shared.commit({".windlass/config.toml": '[gate]\ncommands = ["python3 -m unittest -v"]\n'})
    places = GatePlaces(shared.context.folders.home, shared.proofs_repo)
    places.runs.mkdir(parents=True, exist_ok=True)
    with mounted(places.runs, megabytes=2) as disk:
        disk.fill(but=0)
        done = shared.prove(fresh=True)
        assert done["outcome"] == "could-not-run", done
        disk.make_room()
        assert shared.prove(fresh=True)["outcome"] == "passed"
