# ruff: noqa: PTH112
# Reason: names that agents make are bytes, which pathlib cannot hold.
"""The only place that starts git: a built environment, fixed switches, bytes in and out.

Owns how git is called, never what for. Agents write work trees, `.git` pointers, attributes and
(in a clone) whole configurations, so plain git over their files runs their programs; everything
that git could be talked into running is switched off here, once, for every call.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from typing import IO, TYPE_CHECKING, NoReturn, Protocol

import msgspec

from windlass import disk_room
from windlass.core.errors import ConfigError, GitError, program_failed
from windlass.core.printable import printable, printable_line
from windlass.git import inheritance, pipes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from _typeshed import StrOrBytesPath

OLDEST = (2, 38)
INSTALL = "install git 2.38 or newer (apt install git, brew install git) and put it on PATH"
QUICK = 60.0
LONG = 1800.0
LOOK = 30.0
"""Seconds for questions about what an agent wrote, who can have git take for ever with each."""
MOST = 128 << 20
"""Bytes of an answer about what an agent wrote, which it can make as long as it likes."""
_MOST_OF_REMOTES = 8 << 20
_MEMORY = 2 << 30
_SECONDS = 600
_LIMITED = 'ulimit -v $1; ulimit -t $2; ulimit -c 0; shift 2; exec "$@"'
_LIMITS = ("/bin/sh", "-c", _LIMITED, "windlass-git", str(_MEMORY >> 10), str(_SECONDS))

_WITH_LITTLE_MEMORY: dict[str, str] = {
    # Where the address space is limited: git would map whole packs.
    "core.packedGitWindowSize": "16m",
    "core.packedGitLimit": "256m",
    "core.bigFileThreshold": "16m",
    "pack.threads": "1",
}

# Command scope beats every configuration file, and survives into git's own children.
_SWITCHES: dict[str, str] = {
    "safe.directory": "*",
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.pager": "cat",
    "core.editor": "false",
    "core.askPass": "false",
    "core.sshCommand": "false",
    "core.alternateRefsCommand": "true",
    "core.untrackedCache": "false",
    "core.splitIndex": "false",
    "core.quotePath": "false",
    "core.protectNTFS": "false",
    "core.protectHFS": "false",
    "credential.helper": "",
    "diff.ignoreSubmodules": "all",
    "diff.external": "",
    "submodule.recurse": "false",
    "protocol.allow": "never",
    "protocol.ext.allow": "never",
    "commit.gpgSign": "false",
    "log.showSignature": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "index.sparse": "false",
}


class Dirs(msgspec.Struct, frozen=True, kw_only=True):
    """The folders that git is told outright, so that it discovers none of them from agent files."""

    git_dir: str
    common_dir: str | None = None
    work_tree: str | None = None
    index: str | None = None
    objects: str | None = None
    """Extra object folders to read from, separated as git wants them."""
    new_objects: str | None = None
    """Where objects are written, if not beside the others; those are then read from `objects`."""
    config: dict[str, str] = {}
    """Settings for every call, as `armed` finds them."""
    until: float | None = None
    """When every call has to be over, on the machine's own clock: for what an agent can stretch."""
    box: tuple[str, ...] = ()
    """The words that start git in a box, for what is safe only inside one."""
    replaces: str = ""
    """Below which refs lies what is read in the place of commits; nothing is replaced without."""
    limited: bool = False
    """Whether git has only so much memory and time outside of a box, as `limited` says."""


class ReadBox(Protocol):
    """Gives the words that start a program in a box: it reads one workspace, and little else."""

    def __call__(self, *writable: str) -> Sequence[str]:
        """Gives them for a box that can write to these folders, and to no other."""


class Patience:
    """The time for several questions together about what one agent wrote."""

    def __init__(self) -> None:
        self._end = time.monotonic() + LOOK

    @property
    def left(self) -> float:
        """The seconds that are left for the next question."""
        return max(0.0, self._end - time.monotonic())


class TooMuchSaid(GitError):
    """Git answers with more than is read."""


class TookTooLong(GitError):
    """Git did not finish in its time."""


class GitResult(msgspec.Struct, frozen=True):
    """How one git call ended."""

    code: int
    out: bytes
    err: bytes


def environment(
    dirs: Dirs | None, *, config: Mapping[str, str], extra: Mapping[str, str]
) -> dict[str, str]:
    """Builds git's whole environment from nothing but PATH."""
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_GRAFT_FILE": "/nonexistent",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_AUTHOR_NAME": "Windlass",
        "GIT_AUTHOR_EMAIL": "windlass@localhost",
        "GIT_COMMITTER_NAME": "Windlass",
        "GIT_COMMITTER_EMAIL": "windlass@localhost",
    }
    settings = {**_SWITCHES, **(dirs.config if dirs else {}), **config}
    if _is_confined(dirs):
        settings = {**_WITH_LITTLE_MEMORY, **settings}
    env["GIT_CONFIG_COUNT"] = str(len(settings))
    for number, (key, value) in enumerate(settings.items()):
        env[f"GIT_CONFIG_KEY_{number}"] = key
        env[f"GIT_CONFIG_VALUE_{number}"] = value
    if dirs is not None and dirs.replaces:
        del env["GIT_NO_REPLACE_OBJECTS"]
        env["GIT_REPLACE_REF_BASE"] = dirs.replaces
    if dirs is not None:
        env["GIT_DIR"] = dirs.git_dir
        env["GIT_COMMON_DIR"] = dirs.common_dir or dirs.git_dir
        if dirs.work_tree is not None:
            env["GIT_WORK_TREE"] = dirs.work_tree
        if dirs.index is not None:
            env["GIT_INDEX_FILE"] = dirs.index
        if dirs.new_objects is not None:
            env["GIT_OBJECT_DIRECTORY"] = dirs.new_objects
        if dirs.objects is not None:
            env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = dirs.objects
    env.update(extra)
    return env


def limited(dirs: Dirs) -> Dirs:
    """Has git take only so much memory and time, for what an agent wrote and we have to read.

    In a box it has no more than that either; this is for what has to be done outside.
    """
    return msgspec.structs.replace(dirs, limited=True)


def _is_confined(dirs: Dirs | None) -> bool:
    return dirs is not None and (bool(dirs.box) or dirs.limited)


def boxed(box: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Gives the words that start git inside a box, with the whole of its environment."""
    return [*box, "/usr/bin/env", "-i", *(f"{key}={value}" for key, value in env.items()), "git"]


def _argv(args: Sequence[StrOrBytesPath], dirs: Dirs | None, env: Mapping[str, str]) -> list[bytes]:
    words = ["git"]
    if dirs is not None and dirs.box:
        words = boxed(dirs.box, env)
    elif dirs is not None and dirs.limited:
        words = [*_LIMITS, "git"]
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
    process = _started(
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
        most = MOST if _is_confined(dirs) else sys.maxsize
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
    return _started(
        args,
        dirs=dirs,
        env=environment(dirs, config=config or {}, extra={}),
        cwd=_where(dirs, None),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
    )


def _started(
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
        _missing(error, cwd=cwd)
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
    full = disk_room.full(cwd, *((dirs.work_tree, dirs.git_dir) if dirs else ()))
    if full:
        return GitError(
            said, f"no room left on the disk of {printable_line(full)}: {disk_room.HINT}"
        )
    if os.strerror(errno.ENOSPC) in output:
        return GitError(said, disk_room.HINT)
    above = "see what git said above" if output.strip() else "git did not say why"
    return GitError(said, f"{above}; `git fsck` checks the repository")


def _missing(error: FileNotFoundError, *, cwd: str | None) -> NoReturn:
    if cwd is not None and not os.path.isdir(cwd):
        raise GitError(
            f"{printable_line(cwd)} is not a folder", "check the path; was the folder deleted?"
        ) from error
    raise ConfigError("git is not on PATH", INSTALL) from error


@functools.cache
def _version_of(program: str) -> tuple[int, int]:
    said = subprocess.run([program, "--version"], capture_output=True, check=False, timeout=QUICK)
    numbers = re.search(rb"(\d+)\.(\d+)", said.stdout)
    if numbers is None:
        raise ConfigError(f"{program} does not say its version", INSTALL)
    return int(numbers[1]), int(numbers[2])


def version() -> tuple[int, int]:
    """Gives git's major and minor version."""
    program = shutil.which("git")
    if program is None:
        raise ConfigError("git is not on PATH", INSTALL)
    return _version_of(program)


def require_version() -> None:
    """Refuses a git that is too old."""
    installed = version()
    if installed < OLDEST:
        raise ConfigError(f"git {installed[0]}.{installed[1]} is too old", INSTALL)


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


def user_path(key: str, *, cwd: str) -> str | None:
    """Reads a setting that names a path the way the user's own git would, `~` and all."""
    return _as_the_user(["--type=path", "-z", "--get", key], cwd=cwd).rstrip("\0") or None


def user_settings(*, cwd: str) -> dict[str, str]:
    """Reads all settings the way the user's own git would; sections and names in lower case."""
    settings = {}
    for entry in filter(None, _as_the_user(["-z", "--list"], cwd=cwd).split("\0")):
        key, equals, value = entry.partition("\n")
        settings[key] = value if equals else "true"
    return settings


_OF_THE_USER = (
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"),
    *(f"GIT_{role}_{what}" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")),
)


def run_as_the_user(args: Sequence[str], *, cwd: str, timeout: float = QUICK) -> GitResult:
    """Runs git as the user would in their own checkout: with their settings, hooks and signature.

    Nobody can be asked anything. Never for what an agent wrote.
    """
    env = _environment_of_the_user(_OF_THE_USER)
    process = _started(
        args,
        dirs=None,
        env=env,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        try:
            said, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired as error:
            raise TookTooLong(
                f"`{spell(args)}` did not finish within {timeout:.0f} s",
                "a hook of the repository's may be waiting; run it yourself to see",
            ) from error
        finally:
            end(process)
    return GitResult(process.returncode, said, b"")


_TOWARDS_REMOTES: dict[str, str] = {
    # A remote is asked for commits and refs: nothing of the repository's is run for that.
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
    "protocol.ext.allow": "never",
    "gc.auto": "0",
    "maintenance.auto": "false",
    # A connection that says nothing any more is given up.
    "http.lowSpeedLimit": "1",
    "http.lowSpeedTime": "60",
}
_HOW_THE_USER_CONNECTS = ("GIT_SSH", "GIT_SSH_COMMAND")


def run_towards_remote(args: Sequence[str], *, dirs: Dirs, timeout: float) -> GitResult:
    """Runs git towards a remote as the user would: with their addresses, keys and credentials.

    None of the repository's hooks run, and nobody can be asked anything. How it ended is the
    caller's to read, whatever its code is.
    """
    env = _environment_of_the_user((*_OF_THE_USER, *_HOW_THE_USER_CONNECTS))
    env.pop("SSH_ASKPASS", None)
    env |= {"GIT_DIR": dirs.git_dir, "SSH_ASKPASS_REQUIRE": "never"}
    env["GIT_CONFIG_COUNT"] = str(len(_TOWARDS_REMOTES))
    for number, (key, value) in enumerate(_TOWARDS_REMOTES.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    process = _started(
        args,
        dirs=None,
        env=env,
        cwd=dirs.git_dir,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with process:
        try:
            out, err = pipes.converse(process, b"", timeout=timeout, most=_MOST_OF_REMOTES)
        except pipes.TooMuch:
            raise TooMuchSaid(
                f"`{spell(args)}`: the remote says more than {_MOST_OF_REMOTES >> 20} MiB",
                "look at what its hooks print",
            ) from None
        except subprocess.TimeoutExpired as error:
            raise TookTooLong(
                f"`{spell(args)}` did not finish within {timeout:.0f} s",
                "run it yourself to see what it waits for",
            ) from error
        finally:
            end(process)
    return GitResult(process.returncode, out, err)


def _environment_of_the_user(kept: Iterable[str]) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in kept}
    return env | {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "false", "LC_ALL": "C"}


def _as_the_user(args: Sequence[str], *, cwd: str) -> str:
    home = {k: os.environ[k] for k in ("HOME", "XDG_CONFIG_HOME") if k in os.environ}
    overrides = {"GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_COUNT", "HOME"}
    env = {k: v for k, v in environment(None, config={}, extra={}).items() if k not in overrides}
    env = {k: v for k, v in env.items() if not k.startswith("GIT_CONFIG_")} | home
    if "GIT_CONFIG_GLOBAL" in os.environ:
        env["GIT_CONFIG_GLOBAL"] = os.environ["GIT_CONFIG_GLOBAL"]
    try:
        done = subprocess.run(
            ["git", "config", *args],
            capture_output=True,
            env=env,
            cwd=cwd,
            timeout=QUICK,
            check=False,
        )
    except FileNotFoundError as error:
        _missing(error, cwd=cwd)
    return done.stdout.decode(errors="surrogateescape")
