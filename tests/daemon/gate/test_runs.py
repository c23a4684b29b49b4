"""What a run sees and what it leaves: one tree, nothing of the person's, and nothing afterwards."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest
from tests.daemon.gate.gate_ground import BROKEN, CODE, UNITTEST, GateGround

from windlass.core.errors import ConfigError, NotFound
from windlass.daemon.gate.places import GatePlaces


def gate(script: str, *more: str) -> dict[str, str]:
    """A gate that runs a script of the tree, and need not test anything."""
    lines = ["[[gate.check]]", 'name = "c"', 'run = "sh ./gate.sh"', 'tests = "none"', *more]
    return {".windlass/config.toml": "\n".join(lines), "gate.sh": script}


def said(ground: GateGround, script: str, *more: str) -> str:
    """What a script prints as the gate of main, which it passes."""
    ground.commit(gate(script, *more))
    done = ground.prove()
    log = Path(done["checks"][0]["log"]).read_text()
    assert done["outcome"] == "passed", (done, log)
    return log


def test_it_sees_one_commit_that_says_nothing_but_the_tree(ground: GateGround) -> None:
    """At the same path in every run."""
    script = "pwd; git status --porcelain; git log --format='%an %ad' --date=unix; git remote"
    assert said(ground, script).splitlines() == ["/windlass/tree", "Windlass 946684800"]


def test_it_sees_nothing_of_the_persons_and_no_network(ground: GateGround) -> None:
    """Neither the repository, nor Windlass's own state, nor the hosts around."""
    secret = Path(ground.context.folders.home) / "secret"
    secret.write_text("s3cret")
    script = f"""
cat {secret} 2>&1
ls {ground.root} 2>&1
echo "home is $HOME"
python3 -c 'import socket; print(socket.if_nameindex())'
env | grep -i windlass_ | grep -v WINDLASS_RUN
exit 0
"""
    log = said(ground, script)
    assert "s3cret" not in log
    assert "calc.py" not in log
    assert "home is /windlass/home" in log
    assert "[(1, 'lo')]" in log
    assert "WINDLASS_" not in log


def test_nothing_that_a_run_does_to_its_tree_reaches_the_next(ground: GateGround) -> None:
    """It mends what is broken, deletes the rest, fills its home: the next verdict is the same."""
    poison = """
printf 'def add(a, b):\\n    return a + b\\n' >calc.py
rm -rf .git test_calc.py; touch -d @0 gate.sh; echo x >"$HOME/x"; ls -A "$HOME" /tmp
"""
    bad = {**BROKEN, **gate(poison)}
    ground.commit(bad)
    assert ground.outcome() == "passed"
    places = GatePlaces(ground.context.folders.home, ground.proofs_repo)
    assert list(places.runs.iterdir()) == []
    check = 'cat calc.py; ls -a; ls -A "$HOME"'
    log = said(ground, check)
    assert "a - b" in log
    assert "test_calc.py" in log
    assert ".git\n" in log
    assert not log.rstrip().endswith("x")


def test_a_gate_without_a_box_is_the_persons_word_and_the_verdict_says_so(
    ground: GateGround,
) -> None:
    """A repository's file alone cannot leave the box."""
    ground.commit(gate("pwd", "[gate]", "box = false"))
    done = ground.prove()
    assert (done["box"], done["outcome"]) == ("box", "passed")
    own = Path(ground.context.folders.home) / "config.toml"
    own.write_text("[gate]\nbox = false\n")
    with pytest.raises(ConfigError, match="would run outside of a box"):
        ground.prove()
    own.write_text(f"[gate]\nbox = false\ncommands = ['{UNITTEST}']\n")
    done = ground.prove()
    assert (done["box"], done["outcome"]) == ("hooks", "passed"), done


def test_its_output_has_an_end_and_the_log_says_so(
    ground: GateGround, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Head and end are kept."""
    monkeypatch.setattr("windlass.daemon.gate.checks.LOG_BYTES", 10_000)
    log = said(ground, "echo first; yes | head -c 1000000; echo last")
    assert len(log) < 11_000
    assert log.startswith("first\n")
    assert log.endswith("last\n")
    assert "are left out here" in log


def test_what_it_leaves_running_is_gone(ground: GateGround) -> None:
    """Also what has a session of its own."""
    mark = f"windlass-gate-test-{os.getpid()}"
    said(ground, f"(setsid python3 -c 'import time; time.sleep(1000)' {mark} >/dev/null 2>&1 &)")
    lines = [_command_line(entry) for entry in Path("/proc").glob("[0-9]*")]
    assert not [line for line in lines if mark in line]


def _command_line(process: Path) -> str:
    try:
        return (process / "cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def test_a_run_that_is_cancelled_ends_at_once_and_is_not_green(ground: GateGround) -> None:
    """Its checks could not run; nothing of it goes on."""
    ground.commit(gate("sleep 1000"))
    reply = ground.begin()
    while not ground.due:
        ground.work.pop(0)()
    job = ground.proofs._find(reply["job"])  # noqa: SLF001
    ground.context.store.write(lambda w: ground.jobs.cancel(w, job, "no longer wanted"))
    first = ground.due.pop(0)  # the layer, which had begun
    ground.intents.perform_recorded(first.key)
    ground.settle()
    assert ground.ended(reply["job"])["outcome"] == "could-not-run"


def test_a_run_that_there_is_not_is_named(ground: GateGround) -> None:
    """With where to look."""
    with pytest.raises(NotFound, match="nosuch names no commit here"):
        ground.prove("nosuch")
    with pytest.raises(NotFound, match="no run job-0"):
        ground.ended("job-0")


def test_names_and_links_of_a_tree_stay_in_it(ground: GateGround) -> None:
    """A link out of the tree leads nowhere in the box."""
    (ground.root / "out").symlink_to("/etc/shadow")
    (ground.root / "up").symlink_to("../../../../..")
    ground.commit({**CODE})
    log = said(ground, "cat out 2>&1; ls up/root 2>&1; exit 0")
    assert "root:" not in log


HOLES = "mkdir reports; for i in $(seq 30); do truncate -s 16M reports/$i.xml; done"
DEEP = """python3 -c '
import os
import tracemalloc
for _ in range(1500):
    os.mkdir("d")
    os.chdir("d")
'"""
MORE = "mkdir more; while :; do head -c 1000000 /dev/zero | tr '\\0' x >more/$(date +%N); done"
NAMELESS = "exec 3>more; rm more; while :; do head -c 1000000 /dev/zero | tr '\\0' x >&3; done"


def ran(ground: GateGround, script: str, *more: str) -> tuple[str, str]:
    """What comes of a script as the gate of main: its outcome, and why."""
    lines = ["[[gate.check]]", 'name = "c"', 'run = "sh ./gate.sh"', 'junit = "**/*.xml"', *more]
    ground.commit({".windlass/config.toml": "\n".join(lines), "gate.sh": script})
    done = ground.prove()
    return done["outcome"], done["checks"][0]["why"]


def test_reports_that_take_no_room_on_a_disk_take_none_in_the_daemon(ground: GateGround) -> None:
    """Files of nothing but holes: here they would be gigabytes."""
    tracemalloc.start()
    try:
        assert ran(ground, HOLES)[0] == "ran-nothing"
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()


def test_folders_without_end_are_no_reason_not_to_know_how_it_ended(ground: GateGround) -> None:
    assert ran(ground, DEEP)[0] == "ran-nothing"


@pytest.mark.parametrize("script", [MORE, NAMELESS])
def test_a_run_that_fills_the_disk_is_ended(ground: GateGround, script: str) -> None:
    """In files that are there, and in one that was deleted and is open."""
    outcome, why = ran(ground, script, "[box]", "disk_mb = 16")
    assert outcome == "could-not-run"
    assert why.endswith("and box.disk_mb is 16")
