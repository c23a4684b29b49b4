# ruff: noqa: PTH112
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""Starts git: bytes in and out, to its end or as it goes, and what is said where it fails.

Owns how git is called, never what for. What it sees is `environment`'s, what bounds it `bounds`'.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import signal
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING, NoReturn

import msgspec

from windlass import disk_room
from windlass.core.errors import ConfigError, GitError, program_failed
from windlass.core.printable import printable, printable_line
from windlass.git import inheritance, pipes
from windlass.git.bounds import LIMITS, MOST, QUICK
from windlass.git.environment import Dirs, boxed, environment, is_confined
from windlass.git.versions import INSTALL

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from _typeshed import StrOrBytesPath


class TooMuchSaid(GitError):
    """Git answers with more than is read."""


class TookTooLong(GitError):
    """Git did not finish in its time."""


class Crashed(GitError):
    """Git itself is at fault: it died of what it was given, and would each time."""


_CRASHES = frozenset(
    -number
    for number in (
        signal.SIGABRT,
        signal.SIGBUS,
        signal.SIGFPE,
        signal.SIGILL,
        signal.SIGSEGV,
        signal.SIGTRAP,
    )
)
"""How a program ends that dies of itself; every other signal is somebody's."""


class GitResult(msgspec.Struct, frozen=True):
    """How one git call ended."""

    code: int
    out: bytes
    err: bytes


def _argv(args: Sequence[StrOrBytesPath], dirs: Dirs | None, env: Mapping[str, str]) -> list[bytes]:
    words = ["git"]
    if dirs is not None and dirs.box:
        words = boxed(dirs.box, env)
    elif dirs is not None and dirs.limited:
        words = [*LIMITS, "git"]
    return [os.fsencode(word) for word in (*words, *args)]


def _where(dirs: Dirs | None, cwd: str | None) -> str | None:
    if cwd is not None or dirs is None:
        return cwd
    return dirs.work_tree or dirs.git_dir


def run(
    args: Sequence[StrOrBytesPath],
    *,
    dirs: Dirs | None = None,
    cwd: str | None = None,
    stdin: bytes = b"",
    ok: Iterable[int] = (0,),
    config: Mapping[str, str] | None = None,
    extra: Mapping[str, str] | None = None,
    timeout: float = QUICK,
    most: int | None = None,
    keep: tuple[int, ...] = (),
    source: IO[bytes] | None = None,
    sink: IO[bytes] | None = None,
) -> GitResult:
    """Runs git to its end; raises `GitError` when it ends with a code that is not in `ok`.

    The descriptors in `keep` stay open in git, so that a lock on them outlives a killed daemon.
    What is too large for memory comes from `source` and goes to `sink`, both real files. Of an
    answer no more than `most` bytes are read: `MOST` where git runs in a box or with limits.
    """
    process = started(
        args,
        dirs=dirs,
        env=environment(dirs, config=config or {}, extra=extra or {}),
        cwd=_where(dirs, cwd),
        keep=keep,
        stdin=source or subprocess.PIPE,
        stdout=sink or subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    timeout = _time_left(dirs, timeout)
    if most is None:
        most = MOST if is_confined(dirs) else sys.maxsize
    with process:
        try:
            out, err = pipes.converse(process, stdin, timeout=timeout, most=most)
        except pipes.TooMuch:
            raise TooMuchSaid(
                f"`{spell(args)}` answers with more than {most >> 20} MiB",
                "what is in the workspace is too large to be looked at like this",
            ) from None
        except subprocess.TimeoutExpired as error:
            raise TookTooLong(
                f"`{spell(args)}` did not finish within {timeout:.0f} s",
                "look at the disk and at other git processes on this repository, then try again",
            ) from error
        finally:
            end(process)
    result = GitResult(process.returncode, out, err)
    if result.code not in ok:
        raise failed(args, result, dirs=dirs, cwd=cwd)
    return result


def run_both(
    first: Sequence[str], args: Sequence[StrOrBytesPath], *, dirs: Dirs, timeout: float = QUICK
) -> GitResult:
    """Runs git twice and gives what the second says, which is not asked where the first fails.

    The first says nothing. In a box both are run in the same one, because each takes long to make;
    each call has so much time, or in a box both together twice as much.
    """
    if not dirs.box:
        run(first, dirs=dirs, timeout=timeout)
        return run(args, dirs=dirs, timeout=timeout)
    before = shlex.join([*boxed((), environment(dirs, config={}, extra={})), *first])
    # What `run` adds to the box is the second call as a whole: its program, and its words.
    words = ("/bin/sh", "-c", f'{before} && exec "$0" "$@"')
    together = msgspec.structs.replace(dirs, box=(*dirs.box, *words))
    try:
        return run(args, dirs=together, timeout=2 * timeout)
    except TooMuchSaid:
        raise
    except GitError as error:
        kind = TookTooLong if isinstance(error, TookTooLong) else GitError
        raise kind(f"after `{spell(first)}`: {error.message}", error.hint) from error


def _time_left(dirs: Dirs | None, timeout: float) -> float:
    if dirs is None or dirs.until is None:
        return timeout
    return max(0.0, min(timeout, dirs.until - time.monotonic()))


def end(process: subprocess.Popen[bytes]) -> None:
    """Ends a git that nobody waited for to the end, with all that it started: a box, a program.

    Git itself may have ended, and a child of it hold its pipe: then that is ended. Nobody has taken
    note of git's end before, so that its number is still its own.
    """
    if process.returncode is None:
        # PermissionError: macOS, where nobody but the ended git is left.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def start(
    args: Sequence[StrOrBytesPath],
    *,
    dirs: Dirs,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    config: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Starts a git that is fed and read as it goes; the caller waits for it."""
    return started(
        args,
        dirs=dirs,
        env=environment(dirs, config=config or {}, extra={}),
        cwd=_where(dirs, None),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def started(
    args: Sequence[StrOrBytesPath],
    *,
    dirs: Dirs | None,
    env: Mapping[str, str],
    cwd: str | None,
    stdin: IO[bytes] | int,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    keep: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Starts git, which inherits what the next daemon knows it by."""
    inherited = inheritance.of_child(boxed=dirs is not None and bool(dirs.box))
    try:
        return subprocess.Popen(
            _argv(args, dirs, env),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env={**env, **inherited.variables},
            cwd=cwd,
            pass_fds=(*keep, *inherited.files),
            process_group=0,
        )
    except FileNotFoundError as error:
        missing(error, cwd=cwd)
    except (PermissionError, NotADirectoryError) as error:
        raise GitError(
            f"git cannot be started: {printable_line(os.fsdecode(error.filename))}:"
            f" {error.strerror}",
            "the user that runs Windlass must be able to enter that; mend it, then try again",
        ) from error
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        raise GitError(
            f"git {printable_line(os.fsdecode(args[0]))} cannot be called with {len(args):,} words",
            "there is too much of something in the workspace to be looked at like this",
        ) from error


def spell(args: Sequence[StrOrBytesPath]) -> str:
    """Writes a git call the way a person would type it, safe to print."""
    return " ".join(["git", *(printable_line(os.fsdecode(arg)) for arg in args)])


def failed(
    args: Sequence[StrOrBytesPath],
    result: GitResult,
    *,
    dirs: Dirs | None = None,
    cwd: str | None = None,
) -> GitError:
    """Describes a failed git call, and what to do: about the disk, if there is no room."""
    argv = ["git", *(printable_line(os.fsdecode(arg)) for arg in args)]
    # What git repeats may be an agent's words.
    output = printable((result.err or result.out).decode(errors="backslashreplace"))
    said = program_failed(argv, result.code, output)
    if result.code in _CRASHES:
        return Crashed(said, "git itself crashes on it; `git fsck` shows what is odd there")
    full = disk_room.full(cwd, *((dirs.work_tree, dirs.git_dir) if dirs else ()))
    if full:
        return GitError(
            said, f"no room left on the disk of {printable_line(full)}: {disk_room.HINT}"
        )
    if os.strerror(errno.ENOSPC) in output:
        return GitError(said, disk_room.HINT)
    above = "see what git said above" if output.strip() else "git did not say why"
    if dirs is not None and dirs.box:
        return GitError(said, f"{above}; `wl exec AGENT -- git fsck` checks an agent's clone")
    return GitError(said, f"{above}; `git fsck` checks the repository")


def missing(error: FileNotFoundError, *, cwd: str | None) -> NoReturn:
    """Says what is not there: the folder to start in, or git itself."""
    if cwd is not None and not os.path.isdir(cwd):
        raise GitError(
            f"{printable_line(cwd)} is not a folder", "check the path; was the folder deleted?"
        ) from error
    raise ConfigError("git is not on PATH", INSTALL) from error


def armed(dirs: Dirs) -> Dirs:
    """Makes every filter and merge driver that the configuration there names harmless.

    A filter becomes "none", a custom merge driver becomes git's own text merge. Which of them runs
    on which file is decided by attributes that agents write. Needed for whatever reads or writes
    a work tree, and for merges.
    """
    listed = run(
        ["config", "--includes", "--name-only", "-z", "--get-regexp", r"^(filter|merge)\..*\."],
        dirs=dirs,
        ok=(0, 1),
    )
    settings = dict(dirs.config)
    for name in listed.out.decode(errors="surrogateescape").split("\0"):
        section, _, rest = name.partition(".")
        driver = rest.rpartition(".")[0]
        if section == "filter" and driver:
            for key in ("clean", "smudge", "process"):
                settings[f"filter.{driver}.{key}"] = ""
            settings[f"filter.{driver}.required"] = "false"
        elif section == "merge" and driver:
            settings[f"merge.{driver}.driver"] = "git merge-file -q %A %O %B"
    return msgspec.structs.replace(dirs, config=settings)
