"""Wrapping: a command becomes one that runs in a box.

Owns the files that a box is started from and the line that starts it: a shell enters the limits'
groups and opens the files, bubblewrap makes the box, `inside` runs the program in it. None of these
files is seen inside, but for what `inside` reads.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from windlass import whole_file
from windlass.box import bwrap, groups, inside, relay, seccomp
from windlass.core.box_spec import BoxSpec, Quota
from windlass.core.errors import ConfigError
from windlass.core.session_launch import HOOK_PORT, MODEL_PORT, Launch, ProxySpec

_PROGRAMS = Path(inside.__file__).parent, Path(relay.__file__).parent
"""Imported here, so that their compiled forms lie where the box finds them."""
_INSIDE = "import sys; sys.path.insert(0, sys.argv[1]); import inside; inside.start()"
PROXY_PROGRAM = Path(__file__).with_name("proxy.py")
PROXY_SOCKET = "proxy"
"""In an agent's socket folder: where the box's ways out begin."""
PROXY_LOG = "proxy.log"
MODEL_SOCKET = "model"
"""In an agent's socket folder: where the daemon asks the model on a session's behalf."""
PROXY_PORT = 3128
_FIRST_PORT = 1024
_LOOPBACK = "127.0.0.1"
_NEVER_PROXIED = "localhost,127.0.0.1,::1"
_ARGUMENTS_FD = "8"
_ANY = 1 << 30
_LONGEST_SOCKET = 98
"""The system allows 107; while it is made, it has a longer name."""

_OPEN = f'a=$1 f=$2; shift 2; exec "$@" {_ARGUMENTS_FD}<"$a" {bwrap.FILTER_FD}<"$f"'
_DEAF = "trap '' INT QUIT TSTP TERM\n"
"""In a session these are for the program: bubblewrap would die of them, and the box with it. Not so
HUP: when the terminal is gone, its holder alone is told, and the box has to end."""


def wrap(launch: Launch, boxing: BoxSpec, *, folder: Path, sockets: Path) -> Launch:
    """Puts a session into a box; its files go to `folder`, its way out to the folder `sockets`.

    The environment moves into one of these files: outside, bubblewrap runs with none, so that
    nothing in it (a library to load first) works on the wrong side. Secrets still come from the
    holder, and pass through.
    """
    proxy = None
    if boxing.network != "host":
        proxy = ProxySpec(
            program=str(PROXY_PROGRAM),
            socket=str(_socket(sockets)),
            domains=boxing.domains if boxing.network == "proxy" else (),
            addresses=boxing.addresses,
            log=str(folder / PROXY_LOG),
        )
    doors = _doors(boxing, receiver=launch.receiver is not None)
    spec = {
        "env": {**launch.env, **_variables(doors)},
        "terminal": launch.mode == "live",
        "limits": _limits(boxing.quota),
        "ports": doors,
        "socket": proxy and proxy.socket,
        "model": [str(_socket(sockets, MODEL_SOCKET)), MODEL_PORT] if launch.relayed else None,
    }
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    spec_file = folder / "box.json"
    whole_file.replace(spec_file, json.dumps(spec).encode())
    shown = (*boxing.readable, str(sockets))
    argv = _line(
        msgspec.structs.replace(boxing, readable=shown),
        folder=folder,
        name="box",
        spec_file=spec_file,
        cwd=launch.cwd,
        deaf=_DEAF,
    )
    receiver = launch.receiver
    if receiver is not None and proxy is not None:
        receiver = msgspec.structs.replace(receiver, files=(*receiver.files, str(spec_file)))
    return msgspec.structs.replace(
        launch, argv=(*argv, *launch.argv), env={}, receiver=receiver, proxy=proxy
    )


def prefix(
    boxing: BoxSpec,
    *,
    folder: Path,
    sockets: Path | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
    terminal: bool = False,
) -> list[str]:
    """Returns what to put before a command so that it runs in a box; its files go to `folder`.

    The command has the environment of whoever runs the line; with `env` it has exactly that, and
    the line should be run with none. Without `terminal` it has no controlling terminal; with it,
    whoever runs the line has to take the terminal back afterwards. With `sockets` a way out is
    used that somebody keeps open there: a session's holder, or `proxy.Proxy`.
    """
    doors = [] if sockets is None else _doors(boxing, receiver=False)
    more = _variables(doors)
    spec = {
        "env": {**(env or {}), **more},
        "terminal": terminal,
        "limits": _limits(boxing.quota),
        "ports": doors,
        "socket": None if sockets is None else str(_socket(sockets)),
        "model": None,
    }
    data = json.dumps(spec).encode()
    # Named for what they say, because calls may be made at the same time and differ.
    name = f"box-{hashlib.sha256(data + repr((boxing, cwd)).encode()).hexdigest()[:12]}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    spec_file = folder / f"{name}.json"
    whole_file.replace(spec_file, data)
    if sockets is not None:
        boxing = msgspec.structs.replace(boxing, readable=(*boxing.readable, str(sockets)))
    deaf = _DEAF if terminal else ""
    return _line(boxing, folder=folder, name=name, spec_file=spec_file, cwd=cwd, deaf=deaf)


def interpreter() -> tuple[str, tuple[str, ...]]:
    """Our own Python, without its virtual environment, and the folders that it needs."""
    program = os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
    return program, (sys.base_prefix, sys.base_exec_prefix, program)


def _line(
    boxing: BoxSpec, *, folder: Path, name: str, spec_file: Path, cwd: str | None, deaf: str
) -> list[str]:
    python, needed = interpreter()
    boxing = msgspec.structs.replace(boxing, readable=(*boxing.readable, *needed))
    program = bwrap.find()
    if program is None:
        raise ConfigError("bubblewrap is not installed", "install the package bubblewrap")
    arguments, allowed = folder / f"{name}.args", folder / f"{name}.bpf"
    options = bwrap.arguments(boxing, shown=(str(spec_file), *map(str, _PROGRAMS)), cwd=cwd)
    whole_file.replace(arguments, b"".join(os.fsencode(option) + b"\0" for option in options))
    whole_file.replace(allowed, seccomp.program())
    enter = groups.enter(folder, boxing.quota)
    return [
        *("/bin/sh", "-c", f"{deaf}{enter}{_OPEN}", "windlass-box", str(arguments), str(allowed)),
        *(program, "--args", _ARGUMENTS_FD, "--"),
        *(python, "-I", "-S", "-X", "utf8", "-c", _INSIDE, str(_PROGRAMS[0]), str(spec_file), "--"),
    ]


def _doors(boxing: BoxSpec, *, receiver: bool) -> list[tuple[str, int | str, str]]:
    """Where the box's loopback is listened on, and what the proxy is told first by each.

    The first is the proxy itself, which is told nothing.
    """
    if boxing.network == "host":
        return []
    taken: dict[tuple[str, int | str], str] = {}
    for address in boxing.addresses:
        host, _, number = address.rpartition(":")
        for here in _HERE.get(host.strip("[]"), ()):
            if int(number) < _FIRST_PORT:
                raise ConfigError(
                    f"a box cannot share the port {number} of {host}: those are for root alone",
                    f"serve it on a port from {_FIRST_PORT} on, or set network to host",
                )
            taken[(here, int(number))] = f"RELAY {address}\n"
    if receiver:
        # The port is known to the holder alone, which writes it in the place of this text.
        taken[(_LOOPBACK, HOOK_PORT)] = f"RELAY {_LOOPBACK}:{HOOK_PORT}\n"
    port = PROXY_PORT
    while (_LOOPBACK, port) in taken:
        port += 1
    return [(_LOOPBACK, port, ""), *((*address, word) for address, word in taken.items())]


_HERE = {"127.0.0.1": (_LOOPBACK,), "localhost": (_LOOPBACK,), "::1": ("::1",)}


def _variables(doors: list[tuple[str, int | str, str]]) -> dict[str, str]:
    """What tells programs of the proxy; requests to the box's own loopback stay in it."""
    if not doors:
        return {}
    way = f"http://{_LOOPBACK}:{doors[0][1]}"
    variables = {"HTTP_PROXY": way, "HTTPS_PROXY": way, "NO_PROXY": _NEVER_PROXIED}
    both = {**variables, **{name.lower(): value for name, value in variables.items()}}
    return {**both, "NODE_USE_ENV_PROXY": "1"}


def _limits(quota: Quota) -> dict[str, int]:
    wanted = {
        "RLIMIT_CORE": 0,
        # Also where it is not limited: not all that the system allows, which `inside` knows.
        "RLIMIT_NOFILE": quota.open_files or _ANY,
        "RLIMIT_FSIZE": quota.file_size,
        "RLIMIT_NPROC": quota.processes,
    }
    return {name: most for name, most in wanted.items() if most or name == "RLIMIT_CORE"}


def _socket(sockets: Path, name: str = PROXY_SOCKET) -> Path:
    path = sockets / name
    if len(os.fsencode(path)) > _LONGEST_SOCKET:
        raise ConfigError(
            f"the socket path {path} is too long", "set XDG_RUNTIME_DIR to a shorter folder"
        )
    return path
