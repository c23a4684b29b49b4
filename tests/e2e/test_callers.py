"""An agent without a box that goes to the person's socket is the agent there, however it goes."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.support.ground import WL, Ground, until

pytestmark = pytest.mark.slow

STAY = {"text": "WAITING"}
_PYTHON = """
import http.client, json, os, socket, sys
verb, path = sys.argv[1:]
connection = http.client.HTTPConnection("windlass")
connection.sock = socket.socket(socket.AF_UNIX)
connection.sock.connect(path)
said = {"cwd": os.getcwd(), "agents": ["bea"], "force": True}
connection.request("POST", f"/v1/{verb}", json.dumps(said))
answer = connection.getresponse()
print(answer.read().decode())
"""


class Outlaw:
    """An agent that runs what it is told, in a script that its policy cannot look into."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self._steps = 0
        run = {"tool": "Bash", "input": {"command": "sh step.sh", "timeout": 60_000}}
        script = ground.script("fox", STAY, on=[{"match": "go", "turns": [run, STAY]}])
        flags = ("--driver", "standin", "--script", script, "--name", "fox", "--json")
        self.workspace = Path(ground.wl("new", *flags, "be fox").ok().json()["workspace"])
        ground.wait("fox", states="waiting")

    def does(self, line: str) -> str:
        """What a line says that runs in its session; the last line is how it ended."""
        self._steps += 1
        said = self.workspace / f"said-{self._steps}"
        step = self.workspace / "step.sh.part"
        step.write_text(
            f"{{ {line}\n}} >{said}.part 2>&1; echo $? >>{said}.part; mv {said}.part {said}\n"
        )
        step.replace(self.workspace / "step.sh")  # the shell of the step before may read it still
        self.ground.wl("send", "fox", "go").ok()
        until(said.exists, within=60, what=line)
        return said.read_text()

    def wl(self, before: str, *args: str) -> str:
        """What a command says that runs behind other words, without the agent's own socket."""
        return self.does(f"{before} {shlex.join([WL, *args])}")


@pytest.fixture
def outlaw(unboxed: Ground) -> Outlaw:
    """One, with a sibling that it has no say over."""
    unboxed.new("bea", STAY)
    made = Outlaw(unboxed)
    unboxed.wait("bea", states="waiting")
    return made


def bare(ground: Ground) -> str:
    """What drops an environment, and then says no more than is needed to find the daemon."""
    kept = ("PATH", "HOME", "WINDLASS_HOME", "XDG_RUNTIME_DIR")
    return f"env -i {shlex.join(f'{name}={ground.env[name]}' for name in kept)}"


def alive(ground: Ground) -> set[str]:
    """The agents that live."""
    return {agent["id"] for agent in ground.agents()}


def test_an_agent_that_drops_its_socket_its_environment_or_its_parents_is_the_agent_still(
    outlaw: Outlaw,
) -> None:
    ground = outlaw.ground
    nothing, sibling = bare(ground), _marker(ground, "bea")
    (outlaw.workspace / "call.py").write_text(_PYTHON)
    (socket,) = ground.runtime.glob("windlass/*/person.sock")
    ways = {
        "without its socket": "env -u WINDLASS_SOCKET",
        "without an environment": nothing,
        "in another session": f"setsid -w {nothing}",
        "without its parents": f"setsid -f -w {nothing}",
        "in its sibling's name": f"{nothing} WINDLASS_AGENT=bea WINDLASS_SESSION={sibling}",
    }
    for way, before in ways.items():
        said = outlaw.wl(before, "kill", "bea", "--force")
        assert "fox may not end bea, which is not below it" in said, (way, said)
        assert said.endswith("\n7\n"), (way, said)
        listed = json.loads(outlaw.wl(before, "info", "--json").rpartition("\n0\n")[0])
        assert listed["id"] == "fox", way
    for before in ("", f"{nothing} "):
        said = outlaw.does(f"{before}python3 call.py end {socket}")
        assert "fox may not end bea, which is not below it" in said
        told: dict[str, Any] = json.loads(
            outlaw.does(f"{before}python3 call.py whoami {socket}").splitlines()[0]
        )
        assert (told["agent"], told["role"]) == ("fox", "worker")
    assert alive(ground) == {"bea", "fox"}
    ground.wl("kill", "fox", "--force").ok()


def test_what_an_agent_says_over_the_persons_socket_it_says_in_its_own_name(
    outlaw: Outlaw,
) -> None:
    ground = outlaw.ground
    assert outlaw.wl("env -u WINDLASS_SOCKET", "send", "bea", "hello").endswith("\n0\n")
    assert outlaw.wl("env -u WINDLASS_SOCKET", "config", "set", "max_agents", "99").endswith(
        "\n7\n"
    )
    assert [sent["from"] for sent in ground.ask("inbox", agent="bea", all=True)] == ["fox"]


def test_who_has_the_mark_of_an_agent_that_has_ended_or_that_nobody_knows_is_refused(
    unboxed: Ground,
) -> None:
    unboxed.new("bea", STAY)
    unboxed.wait("bea", states="waiting")
    marker = _marker(unboxed, "bea")
    inside = unboxed.wl("info", "--json", env={"WINDLASS_SESSION": marker})
    assert inside.ok().json()["id"] == "bea"
    unboxed.wl("kill", "bea", "--force").ok()
    late = unboxed.wl("list", env={"WINDLASS_SESSION": marker}).failed(7)
    assert "a session of an agent that has ended" in late.err
    strange = unboxed.wl("list", env={"WINDLASS_SESSION": "no-such-session"}).failed(7)
    assert "a session that this daemon does not know" in strange.err
    unboxed.wl("list").ok()


def test_what_a_person_runs_beside_an_agent_is_the_persons(unboxed: Ground) -> None:
    unboxed.new("bea", STAY)
    unboxed.wl("exec", "bea", "--", WL, "config", "set", "max_agents", "9").ok()


def _marker(ground: Ground, name: str) -> str:
    pid = ground.wl("info", name, "--json").ok().json()["pid"]
    return str(psutil.Process(pid).environ()["WINDLASS_SESSION"])
