# ruff: noqa: PTH123
# (pathlib is too heavy an import)
"""The first process of a box: `python -I -S -X utf8 -c '… inside.start()' … SPEC -- program …`.

Starts the program in a process group of its own, in the foreground if there is a terminal, with the
limits and the environment of the spec; reaps what it leaves behind; brings it back when a key
suspends it; ends as it ends, and the box with it. Where the box has no network of its own, or asks
its model through the daemon, it also listens on loopback and carries that to unix sockets. Being in
the box it is trusted with nothing. Built-in modules only, and imported rather than run, so that it
need not be compiled: every box starts with it.
"""

from __future__ import annotations

import _json
import _socket
import posix
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
    from typing import Any, NoReturn
else:
    import _signal as signals

NOT_STARTED = 127
_NAME = "bwrap"
_USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
_SHELL_MADE = ("PWD", "OLDPWD", "SHLVL", "_", "A__z")
"""What the shell and bubblewrap on the way here put into the environment by themselves."""
_MOST_CLIENTS = 250
"""Connections that are carried at once. One more lets go the oldest that has said nothing: with the
host's network others on this machine may come, and must not keep out whoever speaks at once."""
_FOR_OTHERS = 4096
"""Open files of the system's own limit that no box has. The kernel counts the files that are on
their way through sockets for all processes of a user together, and refuses to send one to whoever
has a lower limit than that is by now: every tmux client sends its terminal."""
_BY_KEY = (signals.SIGTSTP, signals.SIGTTIN, signals.SIGTTOU)


class _Scan:
    """What the C scanner behind `json` asks of its context."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 typing's ClassVar is too heavy an import here


def main(path: str, argv: list[str]) -> int:
    """Runs the program to its end; returns its exit code."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        spec = _json.make_scanner(_Scan)(file.read(), 0)[0]  # type: ignore[arg-type]
    _take_name()
    _close_all()
    doors = [
        (_listen(host, int(port)), word.encode(), spec["socket"])
        for host, port, word in spec["ports"]
    ]
    if spec["model"]:
        doors.append(_open_model(spec))
    child = posix.fork()
    if child == 0:
        _become(spec, argv)
    if doors:
        import _thread  # noqa: PLC0415 not every box needs it

        _thread.start_new_thread(_relay, (doors,))
    return _reap(child)


def _take_name() -> None:
    """Is called what the box is called outside, where the agent is looked for behind it."""
    with open("/proc/self/comm", "w", encoding="ascii") as file:
        file.write(_NAME)


def _reap(child: int) -> int:
    while True:
        ended, status = posix.waitpid(-1, posix.WUNTRACED)
        if posix.WIFSTOPPED(status):
            # No shell is here to bring a suspended program back.
            if ended == child and posix.WSTOPSIG(status) in _BY_KEY:
                posix.killpg(child, signals.SIGCONT)
        elif ended == child:
            return (
                128 + posix.WTERMSIG(status)
                if posix.WIFSIGNALED(status)
                else posix.WEXITSTATUS(status)
            )


def _become(spec: dict[str, Any], argv: list[str]) -> NoReturn:
    """Turns the forked process into the program."""
    try:
        _leave_group(terminal=spec["terminal"])
        for number in range(1, signals.NSIG):
            try:
                signals.signal(number, signals.SIG_DFL)
            except (OSError, ValueError):
                continue  # KILL and STOP, and those that the C library keeps to itself
        signals.pthread_sigmask(signals.SIG_SETMASK, ())
        _limit(spec["limits"])
        _execute(argv, _environment(spec["env"]))
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        posix.write(2, f"windlass: cannot start {argv[0]} in the box: {reason}\r\n".encode())
    posix._exit(NOT_STARTED)  # noqa: SLF001 that is its name


def _execute(argv: list[str], env: dict[str, str]) -> None:
    """Becomes the program, found on the PATH of its own environment; returns with an error."""
    if "/" in argv[0]:
        posix.execve(argv[0], argv, env)
    problem: OSError | None = None
    for folder in env.get("PATH", _USUAL_PATH).split(":"):
        try:
            posix.execve(f"{folder or '.'}/{argv[0]}", argv, env)
        except (FileNotFoundError, NotADirectoryError) as error:
            problem = problem or error
        except OSError as error:
            problem = error  # it is there: this says more than that another folder has none
    raise problem or FileNotFoundError


def _leave_group(*, terminal: bool) -> None:
    """Has a group that signals of the box reach alone: its old one goes on outside."""
    if not terminal or not posix.isatty(0):
        posix.setsid()
        return
    posix.setpgid(0, 0)
    signals.pthread_sigmask(signals.SIG_BLOCK, (signals.SIGTTOU,))
    try:
        posix.tcsetpgrp(0, posix.getpid())
    except OSError:
        return  # it is not our controlling terminal: there is nothing to be in front of


def _limit(limits: dict[str, int]) -> None:
    import resource  # noqa: PLC0415 an extension module, wanted here alone

    for name, most in limits.items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        if name == "RLIMIT_NOFILE" and hard != resource.RLIM_INFINITY:
            hard = max(hard // 2, hard - _FOR_OTHERS)
        fits = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (fits, fits))


def _environment(declared: dict[str, str]) -> dict[str, str]:
    """The environment given, under what was added outside, the person's secrets among it."""
    with open("/proc/self/environ", "rb") as file:
        # As it was: where no language is set, Python itself sets one in `posix.environ`.
        pairs = [
            pair.decode("utf-8", "surrogateescape").partition("=")
            for pair in file.read().split(b"\0")
        ]
    added = {name: value for name, _, value in pairs if name and name not in _SHELL_MADE}
    return {**declared, **added}


def _close_all() -> None:
    """Closes what leaked in from outside, here as well: an agent can open what this process has."""
    for number in [int(name) for name in posix.listdir("/proc/self/fd")]:
        try:
            if number > 2:
                posix.close(number)
        except OSError:
            continue  # the one that the list itself was read by


def _listen(host: str, port: int) -> _socket.socket:
    family = _socket.AF_INET6 if ":" in host else _socket.AF_INET
    door = _socket.socket(family, _socket.SOCK_STREAM)
    door.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
    door.bind((host, port))
    door.listen(64)
    door.setblocking(False)  # noqa: FBT003 its only parameter
    return door


def _open_model(spec: dict[str, Any]) -> tuple[_socket.socket, bytes, str]:
    """Listens where the program asks its model, and tells it in its environment which port that is.

    Any that is free: a box with the host's network has all ports in common with this machine.
    """
    socket, placeholder = spec["model"]
    door = _listen("127.0.0.1", 0)
    port = str(door.getsockname()[1])
    spec["env"] = {name: value.replace(placeholder, port) for name, value in spec["env"].items()}
    return door, b"", socket


def _relay(doors: list[tuple[_socket.socket, bytes, str]]) -> None:
    """Carries what arrives on the doors to the socket of each, all in this one thread.

    A thread for each connection would be refused when an agent has used up its processes, and the
    agent could not be told so any more.
    """
    carrier = __import__("relay").Carrier()  # not every box needs it

    def admit(door: _socket.socket, word: bytes, socket: str) -> None:
        try:
            # `accept` itself belongs to the heavier module `socket`.
            number, _ = door._accept()  # type: ignore[attr-defined] # noqa: SLF001
        except OSError:
            return
        client = _socket.socket(fileno=number)
        out = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            if len(carrier) >= _MOST_CLIENTS:
                carrier.let_go()
            if len(carrier) >= _MOST_CLIENTS:
                raise OSError
            out.connect(socket)
        except OSError:
            client.close()
            out.close()
        else:
            carrier.join(client, out, word)

    for door, word, socket in doors:
        carrier.open(door, lambda door=door, word=word, socket=socket: admit(door, word, socket))
    while True:
        carrier.turn()


def start() -> NoReturn:
    """Does it all, with the arguments of this process."""
    cut = sys.argv.index("--")
    try:
        ended = main(sys.argv[cut - 1], sys.argv[cut + 1 :])
    except (OSError, ValueError) as problem:
        sys.stderr.write(f"windlass: the box cannot be set up inside: {problem}\r\n")
        ended = NOT_STARTED
    # Not by unwinding the interpreter, which the relay's thread may still be using.
    posix._exit(ended)  # noqa: SLF001 as above
