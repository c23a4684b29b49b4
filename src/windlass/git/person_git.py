"""Git as the person would run it: with their settings, hooks, keys and signature.

Never for what an agent wrote. Nobody can be asked anything.
"""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from windlass.git import pipes
from windlass.git.bounds import QUICK
from windlass.git.environment import Dirs, environment, of_the_user
from windlass.git.runner import (
    GitResult,
    TookTooLong,
    TooMuchSaid,
    end,
    missing,
    spell,
    started,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_OF_REMOTES = 8 << 20


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


def wants_signatures(*, cwd: str) -> bool:
    """Whether the user's own git signs each commit that they make there."""
    said = user_settings(cwd=cwd).get("commit.gpgsign", "false").lower()
    return said not in ("false", "no", "off", "0", "")


def run_as_the_user(args: Sequence[str], *, cwd: str, timeout: float = QUICK) -> GitResult:
    """Runs git as the user would in their own checkout: with their settings, hooks and signature.

    Nobody can be asked anything. Never for what an agent wrote.
    """
    env = of_the_user()
    process = started(
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


def run_towards_remote(args: Sequence[str], *, dirs: Dirs, timeout: float) -> GitResult:
    """Runs git towards a remote as the user would: with their addresses, keys and credentials.

    None of the repository's hooks run, and nobody can be asked anything. How it ended is the
    caller's to read, whatever its code is.
    """
    env = of_the_user(connects=True) | {"GIT_DIR": dirs.git_dir}
    env["GIT_CONFIG_COUNT"] = str(len(_TOWARDS_REMOTES))
    for number, (key, value) in enumerate(_TOWARDS_REMOTES.items()):
        env |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    process = started(
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
        missing(error, cwd=cwd)
    return done.stdout.decode(errors="surrogateescape")
