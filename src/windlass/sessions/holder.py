"""The program every session runs under: `python -I -S -X utf8 holder.py SPEC.json`.

Owns one child process: starts it with exactly the environment of the spec, passes signals on,
reaps what it leaves behind, and writes down how it ended. It decides nothing. Standard library
only, and of that the light part (`signal`, `json` and `socket` would double its start: measured),
because a hundred of these run at once. It imports nothing of ours: it is run by its path.

Files in the session's folder: `holder.json` who holds, `exit` how it ended, and for headless
sessions `stdin` (a FIFO), `output`, `stderr`. While `stopping` exists the holder outlives its
child until everything below it has ended, so that nothing escapes from under it meanwhile.

Where the spec asks for one it also runs a receiver of hooks, a watch over the daemon and, for a
box, a proxy, all found by their paths: the holder is what lives exactly as long as the session.
What hooks say, what a daemon needs and what a box may reach is none of its business.
"""

from __future__ import annotations

import _json
import _socket
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signals
    from typing import Any, NoReturn
else:
    import _signal as signals

NOT_STARTED = 127
ALREADY_HELD = 75
STDIN_ROOM = 1 << 20
LAST_EVENTS = 0.5
"""Seconds that the last hooks of an ended program get at most, to be written down."""

_PR_SET_CHILD_SUBREAPER = 36
_F_SETPIPE_SZ = 1031

_PASSED_ON = (signals.SIGTERM, signals.SIGHUP)
# Blocked, so that keys pressed before the child has the terminal cannot end the holder.
_BLOCKED = {
    signals.SIGCHLD,
    signals.SIGINT,
    signals.SIGQUIT,
    signals.SIGTSTP,
    signals.SIGTTOU,
    signals.SIGTTIN,
    *_PASSED_ON,
}


class _Scan:
    """What the C scanner behind `json` asks of its context."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = float
    memo: dict[str, str] = {}  # noqa: RUF012 typing's ClassVar is too heavy an import here


def main(path: str) -> int:
    """Holds one session from start to end; returns the exit code of its program."""
    signals.pthread_sigmask(signals.SIG_BLOCK, _BLOCKED)
    # An ignored SIGCHLD is never reported by sigwait on every system; one with a handler is.
    signals.signal(signals.SIGCHLD, lambda *_: None)
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 pathlib is too heavy an import
        spec = _json.make_scanner(_Scan)(file.read(), 0)[0]  # type: ignore[arg-type]
    folder = spec["folder"]
    if not _claim(folder):
        return ALREADY_HELD
    _become_subreaper()
    try:
        receiver = _listen(spec)
        proxy = _let_out(spec, receiver)
        watch = _watch(spec)
        child = _start(spec)
    except (OSError, ImportError) as error:
        reason = f"cannot start {spec['argv'][0]}: {error}"
        sys.stdout.write(f"{reason}\r\n")
        _write_exit(folder, NOT_STARTED, reason)
        _poke(spec.get("wake"))
        return NOT_STARTED
    _replace(folder, "holder.json", _identity(child))
    if receiver is not None:
        receiver.serve()
    if proxy is not None:
        proxy.serve()
    if watch is not None:
        watch.serve()
    code = _hold(folder, child)
    if receiver is not None:
        receiver.settle(LAST_EVENTS)
    _write_exit(folder, code, "")
    _poke(spec.get("wake"))
    if os.path.exists(f"{folder}/stopping"):  # noqa: PTH110 pathlib is too heavy an import
        _outlive_everything()
    return code


def _claim(folder: str) -> bool:
    """Writes holder.json if nobody has; so one folder never has two holders, nor one twice."""
    try:
        descriptor = os.open(f"{folder}/holder.json", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    os.write(descriptor, _identity(None).encode())
    os.close(descriptor)
    return True


def _become_subreaper() -> None:
    """Has orphans below given to us instead of to init; Linux only."""
    if sys.platform != "linux":
        return
    try:
        import ctypes  # noqa: PLC0415 not everywhere there, and not needed elsewhere

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return  # the marker in the environment still finds them


def _listen(spec: dict[str, Any]) -> Any:
    """Has a receiver listen, if one is wanted, before there is anybody to talk to it."""
    wanted = spec.get("receiver")
    if wanted is None:
        return None
    return _load(wanted["program"]).Receiver(wanted, spec.get("wake"))


def _let_out(spec: dict[str, Any], receiver: Any) -> Any:
    """Has a proxy listen for the session's box, if it has no network; it reaches the receiver."""
    wanted = spec.get("proxy")
    if wanted is None:
        return None
    also = () if receiver is None else (f"127.0.0.1:{receiver.port}",)
    return _load(wanted["program"]).Proxy(wanted, also)


def _watch(spec: dict[str, Any]) -> Any:
    """Makes ready to watch over the daemon, if the session has one."""
    wanted = spec.get("daemon")
    if wanted is None:
        return None
    return _load(wanted["program"]).Watch(wanted, _json.make_scanner(_Scan))  # type: ignore[arg-type]


def _load(program: str) -> Any:
    folder, _, name = program.rpartition("/")
    sys.path.insert(0, folder)
    return __import__(name.removesuffix(".py"))


def _start(spec: dict[str, Any]) -> int:
    live = spec["mode"] == "live"
    if not live:
        _announce(spec)
    streams = () if live else _open_streams(spec["folder"], spec.get("stdin", ""))
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        _become(spec, streams, said)
    os.close(said)
    for descriptor in streams:
        os.close(descriptor)
    failure = os.read(heard, 4096)
    os.close(heard)
    if failure:
        os.waitpid(child, 0)
        raise OSError(failure.decode(errors="replace"))
    return child


def _open_streams(folder: str, said: str) -> tuple[int, int, int]:
    fifo = f"{folder}/stdin"
    fresh = f"{fifo}.new"
    os.mkfifo(fresh, 0o600)
    # Read and write, and never closed: writers always find a reader, the child never an end.
    kept = os.open(fresh, os.O_RDWR | os.O_CLOEXEC)
    if sys.platform == "linux":
        _widen(kept)
    if said:
        _say(kept, said.encode())
    # Others find it only now: nobody speaks before the first words.
    os.rename(fresh, fifo)  # noqa: PTH104 - a holder imports no pathlib
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    return (
        os.open(fifo, os.O_RDONLY),
        os.open(f"{folder}/output", append, 0o600),
        os.open(f"{folder}/stderr", append, 0o600),
    )


def _say(pipe: int, said: bytes) -> None:
    """Puts the first words where the program will read them; nobody does yet, so they must fit."""
    os.set_blocking(pipe, False)
    try:
        written = os.write(pipe, said)
    except BlockingIOError:
        written = 0
    if written < len(said):
        raise OSError(f"its first message of {len(said)} bytes is too long for a pipe")
    os.set_blocking(pipe, True)


def _widen(pipe: int) -> None:
    import fcntl  # noqa: PLC0415 only headless sessions need it

    try:
        fcntl.fcntl(pipe, _F_SETPIPE_SZ, STDIN_ROOM)
    except OSError:
        return  # the user's pipe quota is used up: 64 KiB then


def _announce(spec: dict[str, Any]) -> None:
    sys.stdout.write(
        f"headless session of {spec['name']}\r\n"
        f"output in {spec['folder']}/output\r\n"
        f"errors in {spec['folder']}/stderr\r\n"
    )
    sys.stdout.flush()


def _become(spec: dict[str, Any], streams: tuple[int, ...], said: int) -> NoReturn:
    """Turns the forked process into the program; reports a failure through `said`."""
    try:
        if streams:
            # No controlling terminal: what asks for a password there fails instead of hanging.
            os.setsid()
            for wanted, descriptor in enumerate(streams):
                os.dup2(descriptor, wanted)
        else:
            os.setpgid(0, 0)
            os.tcsetpgrp(0, os.getpid())
        os.chdir(spec["cwd"])
        _reset_signals()
        signals.pthread_sigmask(signals.SIG_SETMASK, ())
        env = {**spec["env"], **_secrets(spec)}
        os.execvpe(spec["argv"][0], spec["argv"], env)  # noqa: S606 no shell wanted
    except (OSError, ValueError) as error:
        os.write(said, str(error).encode(errors="replace") or b"unknown")
    os._exit(NOT_STARTED)


def _secrets(spec: dict[str, Any]) -> dict[str, str]:
    """Reads them where only the program will have them: the holder itself never does."""
    values = {}
    for name, path in spec.get("secrets", {}).items():
        try:
            with open(path, "rb") as file:  # noqa: PTH123 as above
                value = file.read()
        except OSError as error:
            raise OSError(f"the value of {name} cannot be read: {error}") from None
        values[name] = os.fsdecode(value.removesuffix(b"\n"))
    return values


def _reset_signals() -> None:
    """Gives every signal its default: what a caller long ago ignored is inherited down to here."""
    for number in range(1, signals.NSIG):
        try:
            signals.signal(number, signals.SIG_DFL)
        except (OSError, ValueError):
            continue  # KILL and STOP, and those that the C library keeps to itself


def _hold(folder: str, child: int) -> int:
    """Waits for the child's end; returns its exit code, 128 + n for a death by signal n."""
    while True:
        number = signals.sigwait(_BLOCKED)
        if number in _PASSED_ON:
            os.kill(_program(child) if number == signals.SIGTERM else child, number)
        if number != signals.SIGCHLD:
            continue
        while True:
            try:
                ended, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
            except ChildProcessError:
                return NOT_STARTED
            if ended == 0:
                break
            if os.WIFSTOPPED(status):
                # No shell is here to bring a suspended program back (tmux does so for its own).
                stopping = os.path.exists(f"{folder}/stopping")  # noqa: PTH110 as above
                if ended == child and not stopping:
                    os.killpg(child, signals.SIGCONT)
                continue
            if ended == child:
                return _code(status)


def _program(child: int) -> int:
    """The program behind the two processes of its box, which are deaf to TERM; else the child."""
    program = child
    try:
        for _ in range(2):
            if _read(f"/proc/{program}/comm").strip() == "bwrap":
                program = int(_read(f"/proc/{program}/task/{program}/children").split()[0])
    except (OSError, IndexError):
        return child  # it ends or has not begun, or this system has no such files
    return program


def _code(status: int) -> int:
    return 128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)


def _outlive_everything() -> None:
    try:
        while True:
            os.waitpid(-1, 0)
    except ChildProcessError:
        return


def _identity(child: int | None) -> str:
    """Describes this process so that a later one with the same number is not taken for it."""
    start, boot = "null", ""
    if sys.platform == "linux":
        # The command name may hold spaces and brackets: count from its last bracket.
        start = _read("/proc/self/stat").rpartition(")")[2].split()[19]
        boot = _read("/proc/sys/kernel/random/boot_id").strip()
    number = "null" if child is None else child
    return (
        f'{{"pid": {os.getpid()}, "start": {start}, "boot": "{boot}",'
        f' "at": {time.time()}, "child": {number}}}\n'
    )


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 as above
        return file.read()


def _write_exit(folder: str, code: int, reason: str) -> None:
    said = _json.encode_basestring_ascii(reason)
    _replace(folder, "exit", f'{{"code": {code}, "at": {time.time()}, "reason": {said}}}\n')


def _replace(folder: str, name: str, text: str) -> None:
    new = f"{folder}/{name}.new"
    try:
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, text.encode())
        os.close(descriptor)
        os.replace(new, f"{folder}/{name}")  # noqa: PTH105 as above
    except OSError as error:
        # A full disk or a removed folder must not end the agent; the pane is all that is left.
        sys.stderr.write(f"windlass: cannot write {name}: {error}\r\n")


def _poke(wake: str | None) -> None:
    if not wake:
        return
    try:
        poker = _socket.socket(_socket.AF_UNIX, _socket.SOCK_DGRAM)
        poker.setblocking(False)  # noqa: FBT003 its only parameter
        poker.sendto(b"session", wake)
        poker.close()
    except OSError:
        pass  # nobody listens: the exit file is the record


if __name__ == "__main__":
    ended = main(sys.argv[1])
    sys.stdout.flush()
    # Not by unwinding the interpreter, which threads of a receiver may still be using.
    os._exit(ended)
