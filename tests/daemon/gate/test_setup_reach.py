"""What the setup of a change's own dependencies reaches: what its author does, or is approved."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.daemon.gate import gate_ground
from tests.daemon.gate.gate_ground import CODE, GateGround
from tests.support.workshop import Workshop

LOOK = """
import os, socket, sys
how = "proxy" if "HTTP_PROXY" in os.environ else "none"
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5).close()
    how = "host"
except OSError:
    pass
print(how)
"""
CONFIG = """
[gate]
setup = "mkdir deps && python3 look.py {port} >deps/how"
deps = ["deps"]
inputs = ["lock.txt"]
{more}
[[gate.check]]
name = "c"
run = "cat deps/how"
tests = "none"
"""


@pytest.fixture
def port() -> Iterator[int]:
    """Of this machine's loopback, which only a box with the host's network has."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def ground(workshop: Workshop, tmp_path: Path, port: int) -> GateGround:
    """The person's own gate, whose setup tells what it reaches."""
    configure(workshop, port)
    return gate_ground.make(workshop.context, tmp_path / "shop", {**CODE, "look.py": LOOK})


def configure(workshop: Workshop, port: int, more: str = "", box: str = "") -> None:
    """Writes the person's configuration."""
    text = CONFIG.format(port=port, more=more) + box
    (workshop.context.folders.home / "config.toml").write_text(text)


def propose(workshop: Workshop, ground: GateGround, name: str, network: str, lock: str) -> None:
    """Starts an agent with a network, whose branch is a commit with inputs of its own."""
    asked = {"goal": "g", "name": name, "driver": "standin", "isolation": "box"}
    workshop.ask("spawn", cwd=str(ground.root), network=network, **asked)
    ground.commit({"lock.txt": lock}, branch="change")
    ground.git("update-ref", f"refs/heads/agent/{name}", "change")


def reached(ground: GateGround, rev: str, **more: bool) -> str:
    """What the setup of a commit says that it reached."""
    done = ground.prove(rev, **more)
    assert done["outcome"] == "passed", done
    return Path(done["checks"][0]["log"]).read_text().strip()


@pytest.mark.parametrize(("network", "how"), [("none", "none"), ("host", "host")])
def test_it_reaches_what_its_author_does(
    workshop: Workshop, ground: GateGround, network: str, how: str
) -> None:
    propose(workshop, ground, "fox", network, "of fox\n")
    assert reached(ground, "agent/fox") == how


def test_the_hosts_that_the_gate_names_come_on_top(
    workshop: Workshop, ground: GateGround, port: int
) -> None:
    configure(workshop, port, 'setup_domains = ["packages.invalid"]')
    propose(workshop, ground, "fox", "none", "of fox\n")
    assert reached(ground, "agent/fox") == "proxy"


def test_of_several_authors_the_one_that_reaches_least_counts(
    workshop: Workshop, ground: GateGround
) -> None:
    """Else what one writes would be fetched once another has merged it."""
    propose(workshop, ground, "fox", "none", "of fox\n")
    propose(workshop, ground, "owl", "host", "of owl\n")
    ground.git("update-ref", "refs/heads/agent/owl", "agent/fox")
    assert reached(ground, "agent/owl") == "none"


def test_what_is_nobodys_reaches_nothing_until_the_person_approves_it(
    workshop: Workshop, ground: GateGround
) -> None:
    """For that tree; and what was made with it stays."""
    propose(workshop, ground, "fox", "host", "of fox\n")
    needs_it = LOOK + 'assert how != "none"\n'
    ground.commit({"lock.txt": "somebody's\n", "look.py": needs_it}, branch="a")
    why = ground.prove("a")["checks"][0]["why"]
    assert "had no network" in why
    assert "--setup-network" in why
    assert reached(ground, "a", setup_network=True) == "host"
    assert reached(ground, "a", fresh=True) == "host"


def test_a_setup_that_is_not_accepted_reaches_nothing_whoever_wrote_it(
    workshop: Workshop, ground: GateGround, port: int
) -> None:
    (workshop.context.folders.home / "config.toml").write_text("")
    ground.commit({".windlass/config.toml": CONFIG.format(port=port, more="")})
    propose(workshop, ground, "fox", "host", "of fox\n")
    assert reached(ground, "agent/fox", setup_network=True) == "none"
