"""Attacks that are on nobody's list; their numbers begin at 45."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import http.client
import json
import os
import socket
from pathlib import Path

from tests.redteam.inside.ipc import asked, own_socket, proxied
from tests.redteam.inside.processes import LIBC, called
from tests.redteam.inside.trying import NOT_HERE, Map, attack, loot, opens, plant, run


@attack("45 root of 1")
def _(known: Map) -> object:
    return loot(f"/proc/1/root{known['main']}/.env")


@attack("46 holder")
def _(known: Map) -> object:
    folder = f"/proc/{known['sibling_holder']}/fd"
    return [str(path.readlink()) for path in Path(folder).iterdir()]


@attack("47 environment")
def _(_: Map) -> object:
    return [name for name, value in os.environ.items() if "SECRET" in value]


@attack("47 tmux")
def _(_: Map) -> object:
    return os.environ.get("TMUX")


@attack("48 box files")
def _(_: Map) -> object:
    own = Path(os.environ["CLAUDE_CONFIG_DIR"]).parent / "sessions"
    found = [path for path in own.rglob("*") if path.is_file() and path.name != "events.jsonl"]
    return [opens(path) for path in found]


@attack("49 hostname")
def _(_: Map) -> object:
    name = socket.gethostname().encode()
    called(LIBC.sethostname(name, len(name)), "sethostname")
    return "set it"


@attack("50 keyring")
def _(known: Map) -> object:
    number = known["call"]["request_key"]
    LIBC.syscall(number, b"user", known["survivor"].encode(), None, -4)
    # There is no such key: what counts is whether one may ask.
    return ctypes.get_errno() != errno.EPERM


@attack("51 io_uring")
def _(_: Map) -> object:
    room = ctypes.create_string_buffer(256)
    return called(LIBC.syscall(425, 1, room), "io_uring_setup")


@attack("52 clone3")
def _(_: Map) -> object:
    fields = (ctypes.c_uint64 * 11)(0x10000000, 0, 0, 0, 17)
    child = LIBC.syscall(435, fields, ctypes.sizeof(fields))
    if child == 0:
        os._exit(0)
    os.waitpid(called(child, "clone3"), 0)
    return "a user namespace"


@attack("53 core_pattern")
def _(_: Map) -> object:
    return opens("/proc/sys/kernel/core_pattern")


@attack("54 sysrq")
def _(_: Map) -> object:
    return opens("/proc/sysrq-trigger")


@attack("55 sys")
def _(_: Map) -> object:
    return opens("/sys/kernel/mm/transparent_hugepage/enabled")


@attack("56 device")
def _(_: Map) -> object:
    os.mknod("disk", 0o60600, Path("/").stat().st_dev)
    return "made a device"


@attack("57 queue")
def _(known: Map) -> object:
    return called(LIBC.mq_open(known["queue"].encode(), os.O_RDONLY), "mq_open")


@attack("58 groups")
def _(_: Map) -> object:
    found = list(Path("/sys/fs/cgroup").rglob("cgroup.procs"))[:1]
    return [opens(path) for path in found]


@attack("59 smuggling")
def _(known: Map) -> object:
    if "HTTP_PROXY" not in os.environ:
        return NOT_HERE
    port = known["tcp"]
    targets = (
        *(f"a@127.0.0.1:{port}", f"allowed.example@127.0.0.1:{port}", f"127.0.0.1:{port}#@x"),
        *(f"[fe80::1%25lo]:{port}", f"[::1%lo]:{port}", f"127.0.0.1:0{port}", "127.0.0.1:0"),
        *(f"127.0.0.1%00.allowed.example:{port}", f"127.0.0.1\\@allowed.example:{port}"),
        *(f"allowed.example:80\r\nHost: 127.0.0.1:{port}", f"allowed.example:{port} HTTP/1.1\r\n"),
        *(f"//127.0.0.1:{port}", f"127.0.0.1:{port}/x:80", f"allowed.example:80:127.0.0.1:{port}"),
        *(f"allowed.example.:{port}", f"ALLOWED.example@LOCALHOST:{port}", f"localtest.me:{port}"),
    )
    return {target: got for target in targets if (got := proxied(target))}


@attack("60 sibling's way")
def _(known: Map) -> object:
    path = Path(known["sibling_socket"]).with_name("wake")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as there:
        there.connect(str(path))
    return "connected"


@attack("61 vsock")
def _(_: Map) -> object:
    with socket.socket(socket.AF_VSOCK) as there:
        return f"a socket to the host of this machine: {there.fileno()}"


@attack("62 packets")
def _(_: Map) -> object:
    with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as there:
        return f"a raw socket: {there.fileno()}"


@attack("63 mirror")
def _(_: Map) -> object:
    if "WINDLASS_BOXED" not in os.environ:
        return NOT_HERE
    origin = run("git", "config", "remote.origin.url")
    return plant(f"{origin}/config")


@attack("64 end")
def _(known: Map) -> object:
    return asked(own_socket(), "end", agents=[known["sibling_id"]], force=True)


@attack("64 configure")
def _(_: Map) -> object:
    return asked(own_socket(), "config.set", config_key="isolation", value="hooks")


@attack("64 steer")
def _(known: Map) -> object:
    done = []
    for verb in ("pause", "interrupt", "resume"):
        try:
            asked(own_socket(), verb, agent=known["sibling_id"])
        except OSError:
            continue
        done.append(verb)
    return done


@attack("64 trust")
def _(_: Map) -> object:
    return asked(own_socket(), "drivers.trust", driver="standin")


@attack("64 repository")
def _(known: Map) -> object:
    return asked(own_socket(), "repo.add", repo=known["victim"])


@attack("64 elsewhere")
def _(known: Map) -> object:
    return asked(own_socket(), "whoami", cwd=known["victim"])["repo"] == known["victim"]


@attack("64 empty")
def _(_: Map) -> object:
    return asked(own_socket(), "trash.empty", older_than=0.0)


@attack("65 unboxed child")
def _(_: Map) -> object:
    return _child(isolation="hooks")


@attack("65 child with network")
def _(_: Map) -> object:
    if "HTTP_PROXY" not in os.environ:
        return NOT_HERE
    return _child(network="host")


@attack("65 child in your checkout")
def _(_: Map) -> object:
    return _child(worktree=False)


@attack("65 child with a script of yours")
def _(known: Map) -> object:
    return _child(script=known["foreign_script"])


@attack("68 diff")
def _(known: Map) -> object:
    said = json.dumps(asked(own_socket(), "diff", agent=known["sibling_id"]))
    return "SECRET" in said


@attack("68 screen")
def _(known: Map) -> object:
    return asked(own_socket(), "look", agent=known["sibling_id"])


@attack("68 log")
def _(known: Map) -> object:
    return asked(own_socket(), "log", agent=known["sibling_id"])[:1]


@attack("68 place")
def _(known: Map) -> object:
    return asked(own_socket(), "place", agent=known["sibling_id"])


@attack("68 events")
def _(known: Map) -> object:
    said = b""
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(0.5)
        there.connect(own_socket())
        there.sendall(b"GET /v1/events?after=0 HTTP/1.1\r\nHost: w\r\n\r\n")
        with contextlib.suppress(TimeoutError):
            while more := there.recv(1 << 16):
                said += more
    assert b"agent.created" in said, said
    return f"be {known['sibling_id']}".encode() in said


@attack("69 hook receiver")
def _(known: Map) -> object:
    """Says, without the token, that the sibling's session has ended."""
    said = {"hook_event_name": "SessionEnd", "reason": "other"}
    headers = {"content-type": "application/json", "authorization": "Bearer guessed"}
    there = http.client.HTTPConnection("127.0.0.1", known["sibling_hooks"], timeout=5)
    there.request("POST", "/hook", json.dumps(said), headers)
    return there.getresponse().status == http.client.OK


def _child(**more: object) -> object:
    if "WINDLASS_BOXED" not in os.environ:
        return NOT_HERE
    return asked(own_socket(), "spawn", goal="escape", driver="standin", **more)["id"]
