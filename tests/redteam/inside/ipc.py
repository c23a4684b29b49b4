"""Lines 29 to 36: sockets of others, identities of others, and the network."""

from __future__ import annotations

import http.client
import json
import os
import shlex
import socket
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.redteam.inside.trying import NOT_HERE, OUTSIDE, Map, attack, run

_SECONDS = 3.0


def connected(family: int, address: Any, say: bytes = b"hello\n") -> str | None:
    """What a listener of the ground answers."""
    with socket.socket(family, socket.SOCK_STREAM) as there:
        there.settimeout(_SECONDS)
        there.connect(address)
        there.sendall(say)
        said = there.recv(200)
    return said.decode(errors="replace") if b"SECRET" in said else None


def asked(path: str, verb: str, **request: Any) -> Any:
    """What the daemon answers on a socket; an error if it refuses."""
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(60)
        there.connect(path)
        connection = http.client.HTTPConnection("windlass")
        connection.sock = there
        body = json.dumps(request)
        connection.request("POST", f"/v1/{verb}", body, {"content-type": "application/json"})
        answer = connection.getresponse()
        said = json.loads(answer.read())
    if answer.status != 200:
        raise OSError(f"{answer.status}: {said.get('message')}")
    return said


def own_socket() -> str:
    """The socket that was given to this agent."""
    return os.environ["WINDLASS_SOCKET"]


@attack("29 ours")
def _(known: Map) -> object:
    return run("tmux", "-S", known["tmux"], "run-shell", f"touch '{known['marks']}/29 ours'")


@attack("29 theirs")
def _(known: Map) -> object:
    line = f"touch '{known['marks']}/29 theirs'"
    return run("tmux", "-S", known["tmux_of_person"], "run-shell", line)


_WHO = """
import http.client, json, socket, sys
connection = http.client.HTTPConnection("windlass")
connection.sock = socket.socket(socket.AF_UNIX, fileno=int(sys.argv[2]) if sys.argv[2:] else None)
if not sys.argv[2:]:
    connection.sock.connect(sys.argv[1])
connection.request("POST", "/v1/whoami", "{}")
print(json.loads(connection.getresponse().read()).get("role"))
"""
"""Says as whom a socket takes the process that this is."""


def is_person(known: Map, *before: str, env: dict[str, str] | None = None, after: str = "") -> bool:
    """Whether a new process, started behind other words, is the person on the control socket."""
    line = shlex.join([*before, sys.executable, "-c", _WHO, known["person"]])
    given = {} if env is None else env
    done = subprocess.run(
        ["sh", "-c", f"{line} {after}"], env=given, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == "person"


@attack("30 control")
def _(known: Map) -> object:
    return asked(known["person"], "whoami")["role"] == "person"


@attack("30 bare")
def _(known: Map) -> object:
    return is_person(known)


@attack("30 detached")
def _(known: Map) -> object:
    # Its parent is gone before it calls; what it says is waited for all the same.
    return is_person(known, "setsid", "sh", "-c", 'sleep 0.2; exec "$@"', "sh", after="&")


@attack("30 sibling")
def _(known: Map) -> object:
    environ = Path(f"/proc/{known['sibling_pid']}/environ").read_bytes().split(b"\0")
    (marker,) = [each for each in environ if each.startswith(b"WINDLASS_SESSION=")]
    return is_person(known, env={"WINDLASS_SESSION": marker.decode().partition("=")[2]})


@attack("30 handed")
def _(known: Map) -> object:
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        try:
            with socket.socket(socket.AF_UNIX) as called:
                called.connect(known["person"])
                socket.send_fds(theirs, [b"x"], [called.fileno()])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    theirs.close()
    _, (handed,), _, _ = socket.recv_fds(ours, 1, 1)
    line = [sys.executable, "-c", _WHO, known["person"], str(handed)]
    done = subprocess.run(
        line, pass_fds=[handed], env={}, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() == "person"


@attack("30 tmux")
def _(known: Map) -> object:
    said = Path.cwd() / "said-30"
    # In the place of the shell, which has the environment of some session.
    line = shlex.join(["exec", "env", "-i", sys.executable, "-c", _WHO, known["person"]])
    run("tmux", "-S", known["tmux"], "run-shell", f"{line} >{said}")
    return said.read_text().strip() == "person"


@attack("31 claim")
def _(known: Map) -> object:
    name = known["sibling_id"]
    said = asked(own_socket(), "whoami", agent=name, caller=name, **{"from": name})
    return said["agent"] == name


@attack("31 variable")
def _(known: Map) -> object:
    os.environ["WINDLASS_AGENT"] = known["sibling_id"]
    said = run("wl", "info", "--json")
    return json.loads(said)["id"] == known["sibling_id"]


@attack("31 socket")
def _(known: Map) -> object:
    return asked(known["sibling_socket"], "whoami")["agent"] == known["sibling_id"]


@attack("32 store")
def _(known: Map) -> object:
    with sqlite3.connect(f"file:{known['store']}?mode=ro", uri=True) as store:
        return store.execute("select count(*) from agents").fetchone()


@attack("32 folder")
def _(known: Map) -> object:
    found = [path for path in Path(known["sibling_folder"]).rglob("*") if path.is_file()]
    return [str(path) for path in found if path.read_bytes()][:3]


@attack("33 steal")
def _(known: Map) -> object:
    text = (Path(known["sibling_folder"]) / "settings.json").read_text()
    return "token" if "Bearer" in text or "token" in text else None


@attack("34 abstract")
def _(known: Map) -> object:
    return connected(socket.AF_UNIX, "\0" + known["abstract"])


@attack("34 ssh-agent")
def _(known: Map) -> object:
    return connected(socket.AF_UNIX, known["ssh_agent"])


@attack("34 docker")
def _(known: Map) -> object:
    return connected(socket.AF_UNIX, known["docker"])


@attack("34 variable")
def _(_: Map) -> object:
    names = ("SSH_AUTH_SOCK", "DOCKER_HOST", "DBUS_SESSION_BUS_ADDRESS", "DISPLAY")
    return [name for name in names if name in os.environ]


@attack("35 tcp")
def _(known: Map) -> object:
    return connected(socket.AF_INET, ("127.0.0.1", known["tcp"]))


@attack("35 udp")
def _(known: Map) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as there:
        there.sendto(b"from the agent", ("127.0.0.1", known["udp"]))
    return OUTSIDE


@attack("36 direct")
def _(known: Map) -> object:
    return connected(socket.AF_INET, (known["address"], known["tcp_all"]))


def proxied(target: str) -> str | None:
    """What a listener of the ground answers through the proxy, asked in both ways."""
    proxy = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rpartition(":")[2]))
    whole = f"http://{target}/"
    for first in (f"CONNECT {target} HTTP/1.1", f"GET {whole} HTTP/1.1"):
        with socket.create_connection(proxy, timeout=_SECONDS) as there:
            said = b""
            # A refusal may close before all was sent; what was said until then counts.
            with suppress(ConnectionError):
                there.sendall(f"{first}\r\nHost: {target}\r\n\r\n".encode())
                there.sendall(b"hello\n")
                while more := there.recv(4096):
                    said += more
            if b"SECRET" in said:
                return said.decode(errors="replace")
    return None


@attack("36 proxy")
def _(known: Map) -> object:
    if "HTTP_PROXY" not in os.environ:
        return NOT_HERE
    port = known["tcp"]
    hosts = (
        *("127.0.0.1", "localhost", "LOCALHOST", "localhost.", "127.1", "2130706433", "0x7f000001"),
        *("017700000001", "0.0.0.0", "0", "[::1]", "[::ffff:127.0.0.1]", "[::]", "127.0.0.1."),  # noqa: S104 - to be refused
        known["address"],
    )
    return {host: got for host in hosts if (got := proxied(f"{host}:{port}"))}


@attack("36 metadata")
def _(_: Map) -> object:
    if "HTTP_PROXY" not in os.environ:
        return NOT_HERE
    # Nobody is there on this ground: what counts is that the proxy does not even try.
    said = _answered("GET http://169.254.169.254/latest/meta-data/ HTTP/1.1")
    return None if said.startswith("HTTP/1.1 403") else said


@attack("36 relay")
def _(known: Map) -> object:
    if "HTTP_PROXY" not in os.environ:
        return NOT_HERE
    path = Path(own_socket()).with_name("proxy")
    said = f"RELAY 127.0.0.1:{known['tcp']}\nhello\n".encode()
    return connected(socket.AF_UNIX, str(path), said)


def _answered(first: str) -> str:
    proxy = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rpartition(":")[2]))
    with socket.create_connection(proxy, timeout=_SECONDS) as there:
        there.sendall(f"{first}\r\nHost: x\r\n\r\n".encode())
        return there.recv(4096).decode(errors="replace")
